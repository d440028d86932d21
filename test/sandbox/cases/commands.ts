/** Conformance: how a command is started, fed, read and reported. */

import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { assertExit, caseOf, environmentOfTheApp, type Rig, type Subject } from "#test/sandbox/rig.ts";

export function commandCases(subject: Subject, rig: () => Rig): void {
  const it = caseOf(subject, rig);

  it("any", "a command's output and exit code come back, the streams apart", async (rig) => {
    const { sh } = await rig.shared();
    const result = await sh("echo out; echo err >&2; exit 3");
    assertExit(result, 3);
    assert.equal(result.text, "out\n");
    assert.equal(result.stderr.head, "err\n");
    assert.deepEqual([result.stdout.totalBytes, result.stdout.droppedBytes], [4, 0]);
    assert.ok(result.durationMs >= 0);
  });

  it("any", "arguments arrive byte for byte", async (rig) => {
    const { exec } = await rig.shared();
    const odd = ["a b", "", "$HOME `id` $(id)", "line\nbreak", "'\"\\", "ümläut 🌍", "--", "-n"];
    const result = await exec(["printf", "[%s]", ...odd]);
    assertExit(result, 0);
    assert.equal(result.stdout.head, odd.map((text) => `[${text}]`).join(""));
  });

  it(
    "any",
    "commands start in the workspace, write there, and find a directory below by cwd",
    async (rig) => {
      const { exec, sh, workspace } = await rig.shared();
      assertExit(await sh("mkdir -p a/b && echo 1 > a/b/file"), 0);
      assert.equal(await readFile(join(workspace, "a/b/file"), "utf8"), "1\n");
      const below = await exec(["cat", "file"], { cwd: "/workspace/a/b" });
      assertExit(below, 0);
      assert.equal(below.stdout.head, "1\n");
      const { uid } = await stat(join(workspace, "a/b/file"));
      assert.equal(uid, rig.sandbox.owner?.uid ?? process.getuid?.());
      assert.notEqual(uid, 0);
    },
  );

  it(
    "any",
    "a missing program is exit code 127, one that cannot be run 126, a signal 128 + its number",
    async (rig) => {
      const { exec, sh } = await rig.shared();
      assertExit(await exec(["no-such-program"]), 127);
      assertExit(await exec(["/workspace"]), 126);
      assertExit(await sh("kill -SEGV $$"), 139);
      assertExit(await sh("kill -KILL $$"), 137);
    },
  );

  it("any", "no signal is ignored in a command, so that tests of interrupts mean something", async (rig) => {
    const { exec } = await rig.shared();
    const { stdout } = await exec(["grep", "SigIgn", "/proc/self/status"]);
    assert.match(stdout.head, /^SigIgn:\t0+\n$/);
  });

  it("any", "what could not be started is told apart from a command that failed", async (rig) => {
    const { exec } = await rig.shared();
    for (const result of [
      await exec(["true"], { cwd: "/workspace/missing" }),
      await exec([]),
      await exec(["echo", "x".repeat(200_000)]),
      await exec(["echo", "nul\0byte"]),
    ]) {
      assert.equal(result.end.kind, "not_started", JSON.stringify(result.end));
    }
  });

  it("any", "D04: standard input is at its end at once", async (rig) => {
    const { sh } = await rig.shared();
    const result = await sh('read -p "sure? " x; echo "[$x]"; cat; test -t 0 || echo no terminal', {
      timeoutMs: 10_000,
    });
    assertExit(result, 0);
    assert.equal(result.text, "[]\nno terminal\n");
  });

  it("any", "given bytes are read from standard input, by name too", async (rig) => {
    const { exec } = await rig.shared();
    const stdin = Buffer.alloc(300_000, "0123456789");
    const piped = await exec(["sha256sum"], { stdin });
    const named = await exec(["sha256sum", "/dev/stdin"], { stdin });
    assertExit(named, 0);
    assert.equal(piped.stdout.head.slice(0, 64), named.stdout.head.slice(0, 64));
    const ignored = await exec(["true"], { stdin });
    assertExit(ignored, 0);
  });

  it("any", "standard output and error can be opened by name", async (rig) => {
    const { sh } = await rig.shared();
    const result = await sh("echo one > /dev/stdout; echo two | tee /dev/stderr > /dev/null");
    assertExit(result, 0);
    assert.equal(result.text, "one\n");
    assert.equal(result.stderr.head, "two\n");
  });

  it("any", "G05: CI is set, no terminal or pager waits, and the environment is scrubbed", async (rig) => {
    const { exec, sh } = await rig.open({ env: { FROM_SESSION: "1" } });
    const watch = "if(!process.env.CI||process.env.CI==='false')setInterval(()=>{},1e3)";
    assertExit(await exec(["node", "-e", watch], { timeoutMs: 20_000 }), 0);
    const result = await sh("env; cat /proc/self/environ | tr '\\0' '\\n'", { env: { FROM_CALL: "2" } });
    const names = new Set(result.text.split("\n").map((line) => line.split("=")[0]));
    for (const name of ["PATH", "HOME", "LANG", "CI", "PAGER", "FROM_SESSION", "FROM_CALL"]) {
      assert.ok(names.has(name), `${name} is missing`);
    }
    const lines = result.text.split("\n");
    for (const planted of await environmentOfTheApp()) assert.ok(!lines.includes(planted), planted);
    assert.match(result.text, /^GIT_TERMINAL_PROMPT=0$/m);
    assert.match(result.text, /^npm_config_yes=true$/m);
  });

  it("any", "home and tmp last for a session, belong to it alone, and are gone with it", async (rig) => {
    const [first, second] = [await rig.open(), await rig.open()];
    assertExit(await first.sh('echo kept > ~/note; echo kept > "$TMPDIR/note"'), 0);
    assertExit(await first.sh('cat ~/note "$TMPDIR/note"'), 0);
    assertExit(await second.sh('[ -e ~/note ] || [ -e "$TMPDIR/note" ]'), 1);
    await first.session.close();
    const left = await second.sh("true");
    assertExit(left, 0);
  });

  it("any", "a session closed twice stays closed, and a command afterwards does not start", async (rig) => {
    const { session, exec } = await rig.open();
    await Promise.all([session.close(), session.close()]);
    await session.close();
    assert.equal((await exec(["true"])).end.kind, "not_started");
  });

  it("any", "a mount is there at its target, writable only when asked", async (rig) => {
    const { workspace: reports } = await rig.open();
    const { sh } = await rig.open({ mounts: [{ source: reports, target: "/reports", mode: "rw" }] });
    assertExit(await sh("echo r > /reports/result.xml"), 0);
    assert.equal(await readFile(join(reports, "result.xml"), "utf8"), "r\n");
  });

  it("any", "a workspace that does not exist is a failure, not an exception", async (rig) => {
    const opened = await rig.sandbox.open({
      ...{ runId: "run1", phase: "agent", workspace: join(rig.dataDir, "missing"), mounts: [], env: {} },
      ...{
        network: { kind: "none" },
        limits: { memoryBytes: 1e9, processes: 9, diskBytes: 1e9, openFiles: 64 },
      },
    });
    assert.equal(opened.ok ? "opened" : opened.error.code, "setup_failed");
  });

  it("any", "the limits in force are named", async (rig) => {
    const { session } = await rig.shared();
    for (const name of ["memory", "processes", "disk", "openFiles"]) assert.ok(session.enforcement[name]);
  });
}
