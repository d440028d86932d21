/** The lock: one holder at a time, over processes, and none that is dead. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { createLocks } from "#src/workspace/lock.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const never = new AbortController().signal;

/** Another process that takes the lock, says so, and (unless told) keeps it. */
function holder(directory: string, work: string) {
  const script = `
    import { systemClock } from "#src/base/clock.ts";
    import { systemIds } from "#src/base/ids.ts";
    import { createLocks } from "#src/workspace/lock.ts";
    const locks = createLocks(process.argv[1], systemClock, systemIds);
    const say = (text) => process.stdout.write(text + "\\n");
    ${work}`;
  return spawn(process.execPath, ["--input-type=module", "-e", script, directory], {
    cwd: new URL("../..", import.meta.url),
    stdio: ["pipe", "pipe", "inherit"],
  });
}

test("jobs of one name run one after another, of two names at once", async () => {
  await using dir = await tempDir();
  const locks = createLocks(dir.path, systemClock, systemIds);
  const events: string[] = [];
  const { promise: inside, resolve: enter } = Promise.withResolvers<void>();
  const { promise: gate, resolve: leave } = Promise.withResolvers<void>();
  const first = locks.hold("a", never, async () => {
    events.push("first in");
    enter();
    await gate;
    events.push("first out");
  });
  const second = locks.hold("a", never, async () => events.push("second"));
  await inside;
  await locks.hold("b", never, async () => events.push("other"));
  assert.equal(await locks.tryHold("a", async () => true), null);
  leave();
  await Promise.all([first, second]);
  assert.deepEqual(events, ["first in", "other", "first out", "second"]);
  assert.equal(await locks.tryHold("a", async () => true), true);
  assert.deepEqual(readdirSync(dir.path).length, 2);
});

test("a job that throws gives the lock back", async () => {
  await using dir = await tempDir();
  const locks = createLocks(dir.path, systemClock, systemIds);
  await assert.rejects(
    locks.hold("a", never, async () => Promise.reject(new Error("x"))),
    /x/,
  );
  assert.equal(await locks.hold("a", never, async () => 1), 1);
});

test("waiting ends with an abort, and a killed holder's lock and process group are taken over", async () => {
  await using dir = await tempDir();
  const locks = createLocks(dir.path, systemClock, systemIds);
  const other = holder(
    dir.path,
    `import { spawn } from "node:child_process";
     locks.hold("a", new AbortController().signal, async (held) => {
       const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
       await held.working(child.pid);
       say(String(child.pid));
       process.stdin.resume();
       return new Promise(() => undefined);
     });`,
  );
  const [pid] = await once(other.stdout, "data");
  const group = Number(String(pid));
  const abort = new AbortController();
  const waiting = locks.hold("a", abort.signal, async () => 1);
  abort.abort(new Error("given up"));
  await assert.rejects(waiting, /given up/);
  assert.equal(await locks.tryHold("a", async () => 1), null);
  other.kill("SIGKILL");
  await once(other, "exit");
  assert.equal(await locks.hold("a", never, async () => 1), 1);
  // The orphan was reparented: it is gone, or a zombie that whoever adopted it has not reaped.
  const isGone = () => {
    const stat = `/proc/${group}/stat`;
    return !existsSync(stat) || / Z /.test(readFileSync(stat, "utf8"));
  };
  while (!isGone()) await systemClock.sleep(10);
});

test("many processes take turns: never two inside at once", async () => {
  await using dir = await tempDir();
  const work = `
    import { openSync, closeSync, rmSync } from "node:fs";
    for (let turn = 0; turn < 5; turn++)
      await locks.hold("a", new AbortController().signal, async () => {
        const path = process.argv[1] + "/inside";
        closeSync(openSync(path, "wx"));
        await systemClock.sleep(2);
        rmSync(path);
      });
    say("done");`;
  const others = [holder(dir.path, work), holder(dir.path, work), holder(dir.path, work)];
  const codes = await Promise.all(others.map(async (child) => (await once(child, "exit"))[0]));
  assert.deepEqual(codes, [0, 0, 0]);
});

test("F17: what a killed container held is taken over at once by a process that is known to be alone", async () => {
  await using dir = await tempDir();
  const held = { pid: process.pid, started: "1", namespace: "pid:[1]", group: null };
  writeFileSync(join(dir.path, "a.1"), JSON.stringify(held));
  const among = createLocks(dir.path, systemClock, systemIds);
  assert.equal(await among.tryHold("a", async () => "taken"), null, "it may be alive in its own container");
  const alone = createLocks(dir.path, systemClock, systemIds, true);
  assert.equal(await alone.tryHold("a", async () => "taken"), "taken");
});

test("F17: a lock file that a power cut left as rubbish is nobody's", async () => {
  await using dir = await tempDir();
  const locks = createLocks(dir.path, systemClock, systemIds);
  for (const rubbish of ["\0\0\0\0", '{"pid": 1', "null", "[]"]) {
    const name = `a${rubbish.length}`;
    writeFileSync(join(dir.path, `${name}.7`), rubbish);
    assert.equal(await locks.tryHold(name, async () => "taken"), "taken", JSON.stringify(rubbish));
  }
});
