/** The lock on a data directory: one holder, also across processes, and none left behind by a killed one. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { lockDataDir } from "#src/store/data-lock.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const HOLD = `
  const { lockDataDir } = await import("#src/store/data-lock.ts");
  const { systemClock } = await import("#src/base/clock.ts");
  await lockDataDir(process.argv[1], systemClock, 0);
  console.log("held");
  setInterval(() => undefined, 1e6);
`;

test("a second holder is refused in words, and let in after the release", async () => {
  await using dir = await tempDir();
  const lock = await lockDataDir(dir.path, systemClock, 0);
  await assert.rejects(lockDataDir(dir.path, systemClock, 0), /Another agent-fix uses .*Stop it first/);
  lock.release();
  (await lockDataDir(dir.path, systemClock, 0)).release();
});

test("who waits gets it as soon as a stopping predecessor lets go", async () => {
  await using dir = await tempDir();
  const clock = createManualClock();
  const lock = await lockDataDir(dir.path, clock, 0);
  const waiting = lockDataDir(dir.path, clock, 10_000);
  await clock.waitForTimers(1);
  lock.release();
  await clock.advance(250);
  (await waiting).release();
});

test("a holder killed by SIGKILL leaves no lock", async () => {
  await using dir = await tempDir();
  const child = spawn(process.execPath, ["--input-type=module", "-e", HOLD, dir.path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  await assert.rejects(lockDataDir(dir.path, systemClock, 0), /Another agent-fix/);
  child.kill("SIGKILL");
  await once(child, "exit");
  (await lockDataDir(dir.path, systemClock, 0)).release();
});
