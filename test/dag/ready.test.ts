/** What the step records allow: a table of records and what is ready by them. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Json } from "#src/base/canonical-json.ts";
import type { Step, StepRecord } from "#src/dag/dag.ts";
import { inOrder } from "#src/dag/order.ts";
import { inputHash, ready } from "#src/dag/ready.ts";
import { step } from "./graph.ts";

/** a (2 attempts) → b (needs a) → d (needs b, c); c stands alone. */
const a = step("a", { attempts: 2 });
const b = step("b", { needs: ["a"] });
const c = step("c");
const d = step("d", { needs: ["b", "c"], attempts: 3 });
const GRAPH = [d, c, b, a];

const hashA = inputHash(a, {});
const started = (attempt = 1): StepRecord => ({ kind: "started", step: "a", inputHash: hashA, attempt });
const failure = (retry: boolean, attempt = 1): StepRecord => ({
  kind: "failed",
  step: "a",
  inputHash: hashA,
  attempt,
  code: "budget",
  message: "no money",
  retry,
});
const paused = (why: "waiting" | "aborted", attempt = 1): StepRecord => ({
  kind: "paused",
  step: "a",
  inputHash: hashA,
  attempt,
  why,
});
const doneRecord = (of: Step, output: Json, inputs: Record<string, Json> = {}): StepRecord => ({
  kind: "done",
  step: of.name,
  inputHash: inputHash(of, inputs),
  output,
});
const doneA = doneRecord(a, 1);

const TABLE: readonly {
  readonly name: string;
  readonly records: readonly StepRecord[];
  readonly gone?: readonly string[];
  readonly held?: readonly string[];
  readonly standing?: readonly string[];
  /** `name#attempt`. */
  readonly runnable?: readonly string[];
  readonly failed?: readonly string[];
}[] = [
  { name: "nothing on record: the steps without needs", records: [], runnable: ["c#1", "a#1"] },
  { name: "a held step is not ready again", records: [], held: ["a"], runnable: ["c#1"] },
  {
    name: "done: its dependents are ready",
    records: [started(), doneA],
    standing: ["a"],
    runnable: ["c#1", "b#1"],
  },
  {
    name: "every need must stand",
    records: [doneA, doneRecord(b, 2, { a: 1 })],
    standing: ["a", "b"],
    runnable: ["c#1"],
  },
  {
    name: "all done",
    records: [doneA, doneRecord(b, 2, { a: 1 }), doneRecord(c, 3), doneRecord(d, 4, { b: 2, c: 3 })],
    standing: ["c", "a", "b", "d"],
  },
  {
    name: "done for another input does not stand",
    records: [doneA, doneRecord(b, 2, { a: "other" })],
    standing: ["a"],
    runnable: ["c#1", "b#1"],
  },
  { name: "a crash in the middle counts as a start", records: [started()], runnable: ["c#1", "a#2"] },
  {
    name: "crashes use up the attempts",
    records: [started(), started(2)],
    runnable: ["c#1"],
    failed: ["a:interrupted"],
  },
  { name: "a failure may be tried again", records: [started(), failure(true)], runnable: ["c#1", "a#2"] },
  {
    name: "failures use up the attempts, the last one is told",
    records: [started(), started(2), failure(true, 2)],
    runnable: ["c#1"],
    failed: ["a:budget"],
  },
  {
    name: "no retry: failed at once",
    records: [started(), failure(false)],
    runnable: ["c#1"],
    failed: ["a:budget"],
  },
  {
    name: "waiting costs no attempt, but is numbered",
    records: [
      started(),
      paused("waiting"),
      started(2),
      paused("waiting", 2),
      started(3),
      paused("aborted", 3),
    ],
    runnable: ["c#1", "a#4"],
  },
  {
    name: "a pause gives back only its own attempt",
    records: [started(), failure(true), started(2), paused("aborted", 2), started(3), failure(true, 3)],
    runnable: ["c#1"],
    failed: ["a:budget"],
  },
  {
    name: "gone: runs again, numbered on",
    records: [started(), doneA],
    gone: ["a"],
    runnable: ["c#1", "a#2"],
  },
  {
    name: "gone: with its attempts back",
    records: [started(), failure(true), started(2), doneA, started(3), failure(true, 3)],
    gone: ["a"],
    runnable: ["c#1", "a#4"],
  },
  {
    name: "a start after a result means that the result no longer stands",
    records: [started(), doneA, started(2)],
    runnable: ["c#1", "a#3"],
  },
];

suite("ready", () => {
  for (const row of TABLE) {
    test(row.name, () => {
      const readiness = ready(GRAPH, row.records, { gone: new Set(row.gone), held: new Set(row.held) });
      assert.deepEqual(
        {
          standing: readiness.standing.map((entry) => entry.step.name),
          runnable: readiness.runnable.map((entry) => `${entry.step.name}#${entry.attempt}`),
          failed: readiness.failed.map((entry) => `${entry.step.name}:${entry.code}`),
        },
        { standing: row.standing ?? [], runnable: row.runnable ?? [], failed: row.failed ?? [] },
      );
    });
  }

  test("a runnable step is given the outputs of its needs", () => {
    const [, runnable] = ready(GRAPH, [doneA]).runnable;
    assert.deepEqual(runnable?.inputs, { a: 1 });
    assert.equal(runnable?.inputHash, inputHash(b, { a: 1 }));
  });
});

suite("inputHash", () => {
  test("depends on name, input and outputs of needs, and not on the order of keys", () => {
    const base = step("s", { input: () => ({ x: 1, y: 2 }) });
    const hash = inputHash(base, { a: 1, b: [2] });
    assert.match(hash, /^[0-9a-f]{64}$/);
    assert.equal(inputHash(step("s", { input: () => ({ y: 2, x: 1 }) }), { b: [2], a: 1 }), hash);
    assert.notEqual(inputHash(step("t", { input: base.input }), { a: 1, b: [2] }), hash);
    assert.notEqual(inputHash(base, { a: 1, b: [3] }), hash);
    assert.notEqual(inputHash(step("s"), { a: 1, b: [2] }), hash);
  });
});

suite("a graph that is not one", () => {
  const wrong: readonly (readonly [string, readonly Step[], RegExp])[] = [
    ["two steps of one name", [step("a"), step("a")], /two steps are named "a"/],
    ["an unknown need", [step("a", { needs: ["x"] })], /"a" needs "x"/],
    ["a step that needs itself", [step("a", { needs: ["a"] })], /cycle: a/],
    [
      "a cycle",
      [
        step("ok"),
        step("a", { needs: ["b"] }),
        step("b", { needs: ["c"] }),
        step("c", { needs: ["a", "ok"] }),
      ],
      /cycle: a, b, c/,
    ],
    ["no attempts", [step("a", { attempts: 0 })], /at least 1 attempt/],
    ["half an attempt", [step("a", { attempts: 1.5 })], /at least 1 attempt/],
    ["no time", [step("a", { timeLimitMs: 0 })], /time limit/],
    ["a time limit that is no number", [step("a", { timeLimitMs: Number.NaN })], /time limit/],
  ];
  for (const [name, steps, message] of wrong) {
    test(name, () => assert.throws(() => inOrder(steps), { name: "TypeError", message }));
  }

  test("an empty graph is in order", () => assert.deepEqual(inOrder([]), []));
});
