/** The base's suite is run once for one commit, set-up and command, whoever asks; anything else, or a torn file, has it run again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ok } from "#src/base/result.ts";
import type { RunContext } from "#src/fix/run-context.ts";
import { baseline } from "#src/fix/steps/baseline.ts";
import type { Prepared } from "#src/fix/steps/prepare.ts";
import type { SuiteResult } from "#src/verify/verify.ts";
import { ran, suiteResult } from "#test/verify/facts.ts";

const PREPARED = {
  baseSha: "1".repeat(40),
  settings: { networkAllow: ["registry.npmjs.org"] },
  detected: {
    setup: { command: "npm ci", directory: ".", because: "package-lock.json" },
    test: { command: "npm test", directory: ".", runner: "node-test", because: "scripts.test" },
    notes: [],
  },
  image: { asked: null, devcontainer: null, stack: "javascript" },
} as unknown as Prepared;
const SET_UP = { directory: "/data/base", failure: null, noise: ["node_modules"], cache: null };
const RED = ran(
  { "test/a.test.js > a": "fail: 1 !== 2", "test/a.test.js > b": "pass" },
  { label: "baseline" },
);

interface World {
  /** What is kept between runs, by key. */
  readonly kept: Map<string, string>;
  result: SuiteResult;
  repositoryId: number;
  sandbox: string;
  memoryBytes: number;
  setUpFailure: string | null;
}

const fresh = (): World => ({
  kept: new Map(),
  result: RED,
  repositoryId: 7,
  sandbox: "bubblewrap",
  memoryBytes: 2,
  setUpFailure: null,
});

/** One run's step: whether the suite ran for it, what the run has as its baseline, and what was told. */
async function stepIn(world: World, prepared: Prepared = PREPARED) {
  let runs = 0;
  const blobs = new Map<string, string>();
  const traced: unknown[] = [];
  const warnings: string[] = [];
  const session = { close: async () => undefined };
  const context = {
    runId: "run1",
    request: { repository: { id: world.repositoryId } },
    ports: {
      operator: { limits: { memoryBytes: world.memoryBytes }, suiteTimeoutMs: 1_000 },
      sandbox: { name: world.sandbox, open: async () => ok(session) },
      workspaces: {
        copy: async () => ok("/data/baseline"),
        scratch: async () => "/data/reports",
        dirtyPaths: async () => ok(["coverage"]),
      },
      runSuite: async () => {
        runs += 1;
        return world.result;
      },
      baselines: {
        read: async (key: string) => world.kept.get(key) ?? null,
        write: async (key: string, text: string) => void world.kept.set(key, text),
      },
      log: { warn: (_: unknown, text: string) => void warnings.push(text) },
    },
    putBlob: async (name: string, text: string) => void blobs.set(name, text),
    trace: { emit: (type: string, data: unknown) => void traced.push([type, data]) },
  } as unknown as RunContext;
  const setup = { ...SET_UP, failure: world.setUpFailure };
  const outcome = await baseline(context, {
    inputs: { prepare: prepared, setup },
    signal: new AbortController().signal,
  } as never);
  assert.equal(outcome.kind, "done");
  const output =
    outcome.kind === "done" ? (outcome.output as { blob: string | null; noise: string[] }) : null;
  return { runs, output, blob: blobs.get(output?.blob ?? "") ?? null, traced, warnings };
}

test("a second run on the same commit, set-up and command takes the baseline over, with its noise and its line in the trace", async () => {
  const world = fresh();
  const first = await stepIn(world);
  const second = await stepIn(world);
  assert.deepEqual([first.runs, second.runs], [1, 0]);
  assert.deepEqual(JSON.parse(second.blob ?? ""), RED);
  assert.deepEqual(second.output, first.output);
  assert.deepEqual(second.output?.noise, ["node_modules", "coverage"]);
  assert.deepEqual(second.traced, first.traced);
});

test("anything that a baseline depends on, when it differs, has the suite run again", async () => {
  const { detected } = PREPARED;
  const suite = detected.test as NonNullable<typeof detected.test>;
  const others: readonly (readonly [string, Partial<Prepared>, Partial<World>])[] = [
    ["commit", { baseSha: "2".repeat(40) }, {}],
    ["set-up", { detected: { ...detected, setup: { command: "npm i", directory: ".", because: "" } } }, {}],
    ["no set-up", { detected: { ...detected, setup: null } }, {}],
    ["hosts of the set-up", { settings: { networkAllow: [] } as unknown as Prepared["settings"] }, {}],
    ["command", { detected: { ...detected, test: { ...suite, command: "npm run test:all" } } }, {}],
    ["directory", { detected: { ...detected, test: { ...suite, directory: "packages/a" } } }, {}],
    ["runner", { detected: { ...detected, test: { ...suite, runner: "mocha" } } }, {}],
    ["image", { image: { asked: "node:22", devcontainer: null, stack: "javascript" } }, {}],
    ["repository", {}, { repositoryId: 8 }],
    ["sandbox", {}, { sandbox: "podman" }],
    ["limits", {}, { memoryBytes: 3 }],
  ];
  for (const [what, prepared, change] of others) {
    const world = fresh();
    await stepIn(world);
    Object.assign(world, change);
    assert.equal((await stepIn(world, { ...PREPARED, ...prepared })).runs, 1, what);
    assert.equal((await stepIn(world, { ...PREPARED, ...prepared })).runs, 0, `${what}, once more`);
  }
});

test("a torn or foreign file is said in the log, made anew, and whole for the next run", async () => {
  const world = fresh();
  await stepIn(world);
  const [key] = [...world.kept.keys()];
  const whole = world.kept.get(key ?? "") ?? "";
  for (const text of [whole.slice(0, -9), "", "null", "{}", '{"result":{"cases":[]},"noise":[]}', "[1]"]) {
    world.kept.set(key ?? "", text);
    const torn = await stepIn(world);
    assert.equal(torn.runs, 1, text);
    assert.match(torn.warnings.join(), /kept baseline is .*made anew/, text);
    assert.equal(world.kept.get(key ?? ""), whole);
    assert.equal((await stepIn(world)).runs, 0);
  }
});

test("what says nothing that another run can rely on is not kept", async () => {
  const results = [
    suiteResult({ stopped: "timeout", label: "baseline" }),
    suiteResult({ exitCode: 1, label: "baseline" }),
    ran({ a: "pass" }, { strength: "text", label: "baseline" }),
    ran({ a: "pass" }, { mismatch: "exit code and report disagree", label: "baseline" }),
  ];
  for (const result of results) {
    const world = { ...fresh(), result };
    await stepIn(world);
    assert.equal(world.kept.size, 0);
    assert.equal((await stepIn(world)).runs, 1);
  }
});

test("without a suite or a set-up that stands nothing is run and nothing kept", async () => {
  const broken = { ...fresh(), setUpFailure: "npm ci failed" };
  const failed = await stepIn(broken);
  const none = await stepIn(broken, { ...PREPARED, detected: { ...PREPARED.detected, test: null } });
  for (const { runs, output } of [failed, none]) assert.deepEqual([runs, output?.blob], [0, null]);
  assert.equal(broken.kept.size, 0);
});
