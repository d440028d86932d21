/** After SIGKILL of the app nothing of it runs on, and the next start removes what is left on disk and in control groups. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, watch } from "node:fs";
import { chown, mkdir, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { sha256 } from "#src/base/canonical-json.ts";
import { systemClock } from "#src/base/clock.ts";
import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import { findCgroups } from "#src/sandbox/command/limits.ts";
import { waitForDeath, withArgument } from "#src/sandbox/command/processes.ts";
import { listSessionFiles } from "#src/sandbox/command/session-files.ts";
import { createRig, options, type Rig } from "#test/sandbox/rig.ts";
import { FULL } from "#test/support/tier.ts";

const make = (dataDir: string) => createBubblewrap(options(dataDir));
const DEATH_MS = 10_000;

async function allDead(argument: string): Promise<boolean> {
  const pids = await withArgument(argument);
  const dead = await Promise.all(pids.map((pid) => waitForDeath(pid, DEATH_MS, systemClock)));
  return !dead.includes(false) && (await withArgument(argument)).length === 0;
}

async function startApp(rig: Rig, seconds: string): Promise<ChildProcess> {
  const workspace = join(rig.dataDir, "crash-workspace");
  await mkdir(workspace);
  const { owner } = rig.sandbox;
  if (owner !== null) await chown(workspace, owner.uid, owner.gid);
  const ready = new Promise<void>((resolve) => {
    const watcher = watch(workspace, (_, name) => {
      if (name !== "ready") return;
      watcher.close();
      resolve();
    });
  });
  const program = join(import.meta.dirname, "crash-app.ts");
  const child = spawn(
    process.execPath,
    [program, rig.dataDir, workspace, `seconds=${seconds}`, "bubblewrap"],
    {
      stdio: "ignore",
      cwd: join(import.meta.dirname, "../.."),
    },
  );
  const ended = new Promise<never>((_, reject) => {
    child.once("exit", (code) => reject(new Error(`the app ended with ${code} before it was killed`)));
  });
  await Promise.race([ready, ended]);
  child.removeAllListeners("exit");
  return child;
}

/** Kills the stand-in and waits for its end; also after a failed assertion. */
async function killApp(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exited;
}

async function groupsOf(prefix: string): Promise<readonly string[]> {
  const home = await findCgroups();
  if (home?.kind !== "v1") return [];
  const names = await Promise.all([readdir(home.memory), readdir(home.pids)]);
  return names.flat().filter((name) => name.startsWith(prefix));
}

test("kill -9 of the app ends every process of its sandboxes, and a sweep removes the rest", async () => {
  const rig = await createRig(make);
  let child: ChildProcess | undefined;
  try {
    const seconds = String(600_000 + randomInt(100_000));
    const own = await rig.open();
    child = await startApp(rig, seconds);
    await killApp(child);
    assert.ok(await allDead(seconds), "a sandboxed process outlived the app");
    assert.equal((await listSessionFiles(rig.dataDir)).length, 2);
    // By the same rule as the sandbox: other runs of the tests have groups of their own.
    const family = `agent-fix-${sha256(resolve(rig.dataDir)).slice(0, 12)}.`;
    const before = await groupsOf(family);

    await rig.sandbox.sweep();
    assert.equal((await listSessionFiles(rig.dataDir)).length, 1);
    assert.ok(!existsSync(join(rig.dataDir, "runs/crashed/sandbox")));
    const after = await groupsOf(family);
    if (before.length > 0) assert.ok(after.length < before.length, "its control groups are still there");
    assert.equal((await own.sh("echo works")).text, "works\n", "the sweep hit a session that is in use");
  } finally {
    await killApp(child);
    await rig.close();
  }
});

test("a sweep kills what a predecessor left running even where it did not die by itself", async () => {
  const rig = await createRig(make);
  let child: ChildProcess | undefined;
  try {
    const seconds = String(700_000 + randomInt(100_000));
    child = await startApp(rig, seconds);
    // A stopped app cannot pass anything on: only the marker on the command lines helps.
    child.kill("SIGSTOP");
    const found = await withArgument(seconds);
    assert.ok(found.length > 0);
    await rig.sandbox.sweep();
    assert.ok(await allDead(seconds), "a process survived the sweep");
    await killApp(child);
    await rig.sandbox.sweep();
  } finally {
    await killApp(child);
    await rig.close();
  }
});

test("a cancel at any moment of the start leaves nothing behind", async () => {
  const rig = await createRig(make);
  try {
    const { sh } = await rig.open();
    const seconds = String(800_000 + randomInt(100_000));
    for (let round = 0; round < (FULL ? 200 : 25); round++) {
      const cancel = new AbortController();
      const timer = systemClock.timer(randomInt(60), () => cancel.abort());
      const result = await sh(`sleep ${seconds} & sleep ${seconds}`, { signal: cancel.signal });
      timer();
      assert.deepEqual(result.end, { kind: "killed", reason: "cancelled" });
      assert.deepEqual(await withArgument(seconds), [], `round ${round}`);
    }
  } finally {
    await rig.close();
  }
});
