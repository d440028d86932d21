/** Conformance: a command that wants everything gets its share, and the session works on afterwards. */

import assert from "node:assert/strict";
import { NICENESS } from "#src/sandbox/command/priority.ts";
import { assertExit, caseOf, LIMITS, MIB, type Rig, type Subject } from "#test/sandbox/rig.ts";

export function limitCases(subject: Subject, rig: () => Rig): void {
  const it = caseOf(subject, rig);

  it("kernel memory", "a memory bomb is killed for its memory", async (rig) => {
    const { exec, sh } = await rig.open({ limits: { ...LIMITS, memoryBytes: 128 * MIB } });
    const bomb = "x = []\nwhile True: x.append(bytearray(4 * 1024 * 1024))";
    const result = await exec(["python3", "-c", bomb], { timeoutMs: 30_000 });
    assert.deepEqual(result.end, { kind: "killed", reason: "memory" });
    assertExit(await sh("true"), 0);
  });

  it("any", "a memory bomb ends long before the machine's memory does", async (rig) => {
    const { exec, sh } = await rig.open({ limits: { ...LIMITS, memoryBytes: 128 * MIB } });
    const bomb = "x = []\nwhile True: x.append(bytearray(4 * 1024 * 1024))";
    const result = await exec(["python3", "-c", bomb], { timeoutMs: 30_000 });
    if (result.end.kind === "exited") assert.match(result.stderr.head, /MemoryError/);
    else assert.deepEqual(result.end, { kind: "killed", reason: "memory" });
    assertExit(await sh("true"), 0);
  });

  it("any", "many processes that share a bomb are bounded together", async (rig) => {
    const { exec } = await rig.open({ limits: { ...LIMITS, memoryBytes: 160 * MIB } });
    const share = `
import os, time
size = 40
for _ in range(8):
    if os.fork() == 0: break
else:
    # The kernel takes the largest first: the command itself, which ends all of it.
    size = 100
x = bytearray(size * 1024 * 1024)
for i in range(0, len(x), 4096): x[i] = 1
time.sleep(20)`;
    const result = await exec(["python3", "-c", share], { timeoutMs: 15_000 });
    assert.deepEqual(result.end, { kind: "killed", reason: "memory" });
  });

  it("any", "commands side by side are bounded together", async (rig) => {
    const { exec } = await rig.open({ limits: { ...LIMITS, memoryBytes: 160 * MIB } });
    // Zeroed memory that is touched: a text made first would be as large again, and too much for each by itself.
    const share = "import time; x = bytearray(90 << 20); x[::4096] = b'1' * len(x[::4096]); time.sleep(80)";
    const results = await Promise.all(
      [1, 2, 3].map(() => exec(["python3", "-c", share], { timeoutMs: 90_000 })),
    );
    const ends = results.map(({ end }) => end);
    assert.ok(
      ends.some((end) => end.kind === "killed" && end.reason === "memory"),
      JSON.stringify(ends),
    );
  });

  it("any", "it gives way to whatever else the machine does, and cannot help itself to more", async (rig) => {
    const { sh } = await rig.shared();
    assert.equal((await sh("nice; nice -n -20 nice 2>/dev/null")).text, `${NICENESS}\n${NICENESS}\n`);
  });

  it("isolation", "files in shared memory count too", async (rig) => {
    const { sh } = await rig.shared();
    assertExit(await sh("head -c 400M /dev/zero > /dev/shm/big"), 1);
  });

  it("processes", "a fork bomb is bounded, dies, and leaves room for the next command", async (rig) => {
    const { sh } = await rig.open({ limits: { ...LIMITS, processes: 60 } });
    const result = await sh("bomb() { bomb | bomb & }; bomb; sleep 600", { timeoutMs: 1_500 });
    assert.deepEqual(result.end, { kind: "killed", reason: "timeout" });
    assert.ok(result.durationMs < 10_000, `${result.durationMs} ms`);
    const after = await sh("ls -d /proc/[0-9]* | wc -l");
    assertExit(after, 0);
  });

  it("any", "a disk that is filled ends the command", async (rig) => {
    const { sh } = await rig.open({ limits: { ...LIMITS, diskBytes: 48 * MIB } });
    const script =
      "i=0; while :; do head -c 4M /dev/zero > part-$i; i=$((i+1)); sleep 0.05; [ $i -gt 100 ] && sleep 60; done";
    const result = await sh(script, { timeoutMs: 30_000 });
    assert.deepEqual(result.end, { kind: "killed", reason: "disk" });
    assertExit(await sh("rm part-*"), 0);
    assertExit(await sh("echo fits > file"), 0);
  });

  it("any", "files that are deleted while they are written count as disk", async (rig) => {
    const { sh } = await rig.open({ limits: { ...LIMITS, diskBytes: 48 * MIB } });
    const script =
      "for i in $(seq 20); do exec {fd}>part; rm part; head -c 8M /dev/zero >&$fd; sleep 0.05; done; sleep 60";
    assert.deepEqual((await sh(script, { timeoutMs: 30_000 })).end, { kind: "killed", reason: "disk" });
  });

  it("isolation", "what lies in a directory that its owner closed counts as disk", async (rig) => {
    const { sh } = await rig.open({ limits: { ...LIMITS, diskBytes: 48 * MIB } });
    const script =
      "mkdir -p outer/inner; cd outer/inner; chmod 0 ..; for i in $(seq 10); do head -c 8M /dev/zero > part-$i; sleep 0.05; done; sleep 60";
    assert.deepEqual((await sh(script, { timeoutMs: 30_000 })).end, { kind: "killed", reason: "disk" });
    assertExit(await sh("chmod 700 outer"), 0);
  });

  it("any", "home and tmp count as disk", async (rig) => {
    const { sh } = await rig.open({ limits: { ...LIMITS, diskBytes: 48 * MIB } });
    const script =
      'for i in 1 2 3 4 5; do head -c 12M /dev/zero > ~/h$i; head -c 12M /dev/zero > "$TMPDIR/t$i"; done; sleep 60';
    const result = await sh(script, { timeoutMs: 30_000 });
    assert.deepEqual(result.end, { kind: "killed", reason: "disk" });
  });

  it("any", "one huge file ends the command that writes it", async (rig) => {
    const { exec } = await rig.open({ limits: { ...LIMITS, diskBytes: 16 * MIB } });
    const result = await exec(["dd", "if=/dev/zero", "of=huge", "bs=1M", "count=64"], { timeoutMs: 30_000 });
    assert.deepEqual(result.end, { kind: "killed", reason: "disk" });
  });

  it("any", "open files and core dumps are limited", async (rig) => {
    const { sh } = await rig.open({ limits: { ...LIMITS, openFiles: 99 } });
    const result = await sh("ulimit -n; ulimit -c");
    assert.equal(result.text, "99\n0\n");
  });

  it("any", "Node runs under the default limits", async (rig) => {
    const { exec } = await rig.shared();
    const script = "new WebAssembly.Memory({initial:16}); console.log(Buffer.alloc(100e6, 1).length)";
    const result = await exec(["node", "-e", script]);
    assertExit(result, 0);
    assert.equal(result.stdout.head, "100000000\n");
  });
}
