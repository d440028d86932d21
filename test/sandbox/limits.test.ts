/** Which mechanism bounds a session: on made-up trees of control groups of both versions, delegated or not, and without any. */

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { createLimiter, findCgroups } from "#src/sandbox/command/limits.ts";
import { PRESSURE_INTERVAL_MS, watchPressure } from "#src/sandbox/command/pressure.ts";
import { LIMITS } from "#test/sandbox/rig.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { tempDir } from "#test/support/temp-dir.ts";

/** A directory with these files; the answer is its path. */
async function tree(root: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

const settings = { openFilesCeiling: 1_000, clock: systemClock };

test("version 2, delegated by systemd: the app moves into a group of its own and hands memory and pids down", async () => {
  await using dir = await tempDir();
  const own = "system.slice/agent-fix.service";
  const root = await tree(dir.path, {
    "cgroup.controllers": "cpu memory pids\n",
    self: `0::/${own}\n`,
    [`${own}/cgroup.controllers`]: "cpu memory pids\n",
    [`${own}/cgroup.subtree_control`]: "",
    [`${own}/cgroup.procs`]: "4242\n",
  });
  const home = await findCgroups(root, join(root, "self"));
  assert.deepEqual(home, { kind: "v2", root: join(root, own) });
  assert.equal(await readFile(join(root, own, "agent-fix-app/cgroup.procs"), "utf8"), "4242");
  assert.equal(await readFile(join(root, own, "cgroup.subtree_control"), "utf8"), "+memory +pids");

  const limiter = await createLimiter(home, "agent-fix-x.y.z", LIMITS, settings);
  assert.equal(limiter.enforcement.memory, "cgroup v2");
  const group = join(root, own, "agent-fix-x.y.z");
  assert.equal(await readFile(join(group, "memory.max"), "utf8"), String(LIMITS.memoryBytes));
});

test("version 2, delegated before: nothing is moved again", async () => {
  await using dir = await tempDir();
  const root = await tree(dir.path, {
    self: "0::/app\n",
    "app/cgroup.controllers": "memory pids\n",
    "app/cgroup.subtree_control": "memory pids\n",
    "app/cgroup.procs": "",
  });
  assert.deepEqual(await findCgroups(root, join(root, "self")), { kind: "v2", root: join(root, "app") });
  await assert.rejects(readFile(join(root, "app/agent-fix-app/cgroup.procs")));
});

test("version 2 without delegation, and without the controllers: limits per process, named as such", async () => {
  await using dir = await tempDir();
  const root = await tree(dir.path, {
    self: "0::/app\n",
    "app/cgroup.controllers": "cpu io\n",
    "app/cgroup.subtree_control": "cpu io\n",
    "app/cgroup.procs": "",
    readonly: "0::/elsewhere\n",
  });
  assert.equal(await findCgroups(root, join(root, "self")), null);
  assert.equal(await findCgroups(root, join(root, "readonly")), null);
  const limits = { ...LIMITS, cpuSeconds: 60 };
  const limiter = await createLimiter(null, "agent-fix-x.y.z", limits, settings);
  assert.equal(limiter.memoryIsBounded, false);
  assert.deepEqual(limiter.enforcement, {
    ...{ memory: "rlimit per process, and watcher", processes: "rlimit", openFiles: "rlimit" },
    ...{ disk: "watcher, and rlimit per file", output: "bounded while read" },
    cpuTime: "watcher, and rlimit per process",
  });
  for (const option of ["--nofile=1000", "--core=0", "--cpu=65", `--data=${LIMITS.memoryBytes}`])
    assert.ok(limiter.rlimits.includes(option), option);
});

test("a control group that is there already is never taken over", async () => {
  await using dir = await tempDir();
  const root = await tree(dir.path, { "g/memory.oom.group": "0" });
  await assert.rejects(createLimiter({ kind: "v2", root }, "g", LIMITS, settings), /EEXIST/);
});

interface Counted {
  kills: number;
  cpu: number | null;
}

async function watched(counted: Counted, cpuSeconds: number | null) {
  const clock = createManualClock();
  const breaches: string[] = [];
  const stop = await watchPressure({
    clock,
    counters: { memoryKills: async () => counted.kills, cpuSeconds: async () => counted.cpu },
    cpuSeconds,
    onBreach: (reason) => breaches.push(reason),
    onProblem: (error) => assert.fail(String(error)),
  });
  const tick = async () => {
    await clock.advance(PRESSURE_INTERVAL_MS);
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { tick, breaches, stop };
}

test("a child that the kernel kills for its memory ends its command at once, and kills before it do not count", async () => {
  const counted = { kills: 3, cpu: null };
  const { tick, breaches, stop } = await watched(counted, null);
  await tick();
  assert.deepEqual(breaches, []);
  counted.kills = 4;
  await tick();
  await tick();
  assert.deepEqual(breaches, ["memory"]);
  assert.equal(await stop(), true);
});

test("processor time is counted from the command's start, and running out of it is running out of time", async () => {
  const counted = { kills: 0, cpu: 100 };
  const { tick, breaches, stop } = await watched(counted, 2);
  counted.cpu = 101.9;
  await tick();
  assert.deepEqual(breaches, []);
  counted.cpu = 102.1;
  await tick();
  assert.deepEqual(breaches, ["timeout"]);
  assert.equal(await stop(), false);
});

test("a look that fails is told of, and the next one is made all the same", async () => {
  const clock = createManualClock();
  const problems: unknown[] = [];
  const breaches: string[] = [];
  let cpu: () => number = () => 0;
  const stop = await watchPressure({
    clock,
    counters: { memoryKills: async () => 0, cpuSeconds: async () => cpu() },
    cpuSeconds: 1,
    onBreach: (reason) => breaches.push(reason),
    onProblem: (error) => void problems.push(error),
  });
  cpu = () => {
    throw new Error("too many open files");
  };
  const tick = async () => {
    await clock.advance(PRESSURE_INTERVAL_MS);
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  await tick();
  assert.equal(problems.length, 1);
  cpu = () => 9;
  await tick();
  assert.deepEqual(breaches, ["timeout"]);
  await stop();
});

test("nothing is watched after the end", async () => {
  const counted = { kills: 0, cpu: 0 };
  const { tick, breaches, stop } = await watched(counted, 1);
  await stop();
  counted.kills = 9;
  await tick();
  assert.deepEqual(breaches, []);
});
