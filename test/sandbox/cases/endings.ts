/** Conformance: time-outs, cancels, daemons and floods. When a call returns, nothing it started is alive. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { withArgument } from "#src/sandbox/command/processes.ts";
import { assertExit, caseOf, MIB, type Opened, type Rig, type Subject } from "#test/sandbox/rig.ts";

/** A number of seconds to sleep that no other process on the machine sleeps. */
function uniqueSeconds(): string {
  return `6${randomBytes(3).readUIntBE(0, 3)}`;
}

async function assertNoneLeft(seconds: string): Promise<void> {
  assert.deepEqual(await withArgument(seconds), [], "a process outlived its command");
}

/** Resolves when the command has said `ready`, through a file in the workspace. */
async function whenReady({ workspace }: Opened): Promise<void> {
  while (!(await readdir(workspace)).includes("ready")) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export function endingCases(subject: Subject, rig: () => Rig): void {
  const it = caseOf(subject, rig);

  it("any", "D01: a time-out kills the shell and its children, on time", async (rig) => {
    const { exec } = await rig.shared();
    const seconds = uniqueSeconds();
    const script = `python3 -c "import time,sys;time.sleep(${seconds})" ${seconds}; true`;
    const result = await exec(["bash", "-c", script], { timeoutMs: 700 });
    assert.deepEqual(result.end, { kind: "killed", reason: "timeout" });
    assert.ok(result.durationMs >= 700 && result.durationMs < 5_000, `${result.durationMs} ms`);
    await assertNoneLeft(seconds);
  });

  it(
    "any",
    "D01: daemons that left the process group and closed every stream die with their command",
    async (rig) => {
      const { sh } = await rig.shared();
      const seconds = uniqueSeconds();
      const daemon = `setsid sh -c 'setsid sleep ${seconds} & setsid sleep ${seconds} &' </dev/null >/dev/null 2>&1`;
      const result = await sh(`${daemon} & nohup sleep ${seconds} >/dev/null 2>&1 & echo started`);
      assertExit(result, 0);
      assert.equal(result.text, "started\n");
      await assertNoneLeft(seconds);
    },
  );

  it("any", "D02: a background process that holds the output does not hold the call", async (rig) => {
    const { sh } = await rig.shared();
    const seconds = uniqueSeconds();
    const result = await sh(`(while :; do echo x; sleep 0.2; done) & sleep ${seconds} & echo done`, {
      timeoutMs: 30_000,
    });
    assertExit(result, 0);
    assert.match(result.text, /done\n/);
    assert.ok(result.durationMs < 15_000, `${result.durationMs} ms`);
    await assertNoneLeft(seconds);
  });

  it("any", "D09: a command that ignores every polite signal ends at its limit", async (rig) => {
    const { sh } = await rig.shared();
    const result = await sh("trap '' TERM INT HUP QUIT; while :; do sleep 0.1; done", { timeoutMs: 500 });
    assert.deepEqual(result.end, { kind: "killed", reason: "timeout" });
    assert.ok(result.durationMs < 5_000, `${result.durationMs} ms`);
  });

  it("any", "a cancel ends a running command, and one that came first lets nothing start", async (rig) => {
    const opened = await rig.open();
    const seconds = uniqueSeconds();
    const cancel = new AbortController();
    const running = opened.sh(`touch ready; sleep ${seconds}`, { signal: cancel.signal });
    await whenReady(opened);
    cancel.abort();
    assert.deepEqual((await running).end, { kind: "killed", reason: "cancelled" });
    await assertNoneLeft(seconds);
    const before = await opened.sh("touch second", { signal: AbortSignal.abort() });
    assert.deepEqual(before.end, { kind: "killed", reason: "cancelled" });
    assert.ok(!(await readdir(opened.workspace)).includes("second"));
  });

  it("any", "closing a session ends what runs in it and removes its files", async (rig) => {
    const opened = await rig.open({ runId: "closing" });
    const seconds = uniqueSeconds();
    const running = opened.sh(
      `mkdir -p ~/cache/ro && touch ~/cache/ro/f && chmod 500 ~/cache/ro && touch ready; sleep ${seconds}`,
    );
    await whenReady(opened);
    await opened.session.close();
    assert.deepEqual((await running).end, { kind: "killed", reason: "cancelled" });
    await assertNoneLeft(seconds);
    assert.deepEqual(await readdir(join(rig.dataDir, "runs/closing")), []);
  });

  it("any", "D06: a flood is bounded while it is read, counted, and stopped on time", async (rig) => {
    const { exec } = await rig.shared();
    const before = process.memoryUsage().rss;
    const flood = await exec(["yes"], { timeoutMs: 4_000, outputBytes: 4_000 });
    assert.deepEqual(flood.end, { kind: "killed", reason: "timeout" });
    assert.ok(flood.durationMs < 9_000, `${flood.durationMs} ms`);
    assert.equal(flood.stdout.head.length + flood.stdout.tail.length, 4_000);
    assert.ok(flood.stdout.totalBytes > 4_000);
    assert.equal(flood.stdout.droppedBytes, flood.stdout.totalBytes - 4_000);
    const zeros = await exec(["head", "-c", "100000000", "/dev/zero"], { outputBytes: 1_000 });
    assertExit(zeros, 0);
    assert.equal(zeros.stdout.totalBytes, 100_000_000);
    assert.ok(process.memoryUsage().rss - before < 200 * MIB, "memory grew with the output");
  });

  it("any", "head and tail are the true ends of a long output", async (rig) => {
    const { sh } = await rig.shared();
    const result = await sh("seq 1 100000", { outputBytes: 100 });
    assert.ok(result.stdout.head.startsWith("1\n2\n3\n"));
    assert.ok(result.stdout.tail.endsWith("99999\n100000\n"));
  });

  it("any", "commands of one session run side by side", async (rig) => {
    const { sh } = await rig.open();
    const meet = (own: string, other: string) =>
      sh(`touch ${own}; until [ -e ${other} ]; do sleep 0.02; done; echo met`, { timeoutMs: 20_000 });
    const results = await Promise.all([meet("a", "b"), meet("b", "a")]);
    for (const result of results) assert.equal(result.text, "met\n");
  });

  it("any", "D08: git that is asked for credentials fails at once and offers none", async (rig) => {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(401, { "www-authenticate": 'Basic realm="private"' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const { exec } = await rig.open({
      network: { kind: "allow", hosts: [`127.0.0.1:${port}`], onHost: () => undefined },
    });
    const result = await exec(["git", "clone", `http://127.0.0.1:${port}/private.git`], {
      timeoutMs: 30_000,
    });
    server.close();
    assertExit(result, 128);
    assert.match(result.stderr.head, /terminal prompts disabled|could not read Username/);
    assert.deepEqual([...new Set(asked)], [undefined]);
  });
}
