/** The planners that make a transcript smaller: stubs in place, and cuts between turns. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { compacted, planCompaction } from "#src/harness/compact.ts";
import type { ContextPolicy } from "#src/harness/context-policy.ts";
import { carriedOver, handOverText } from "#src/harness/hand-over.ts";
import { isStub, planStub, stubResults, stubText } from "#src/harness/stub.ts";
import { checkTranscript } from "#src/harness/transcript.ts";
import { newestTurns, pinnedCount } from "#src/harness/turns.ts";
import type { Message } from "#src/model/model.ts";
import { call } from "#test/support/canned-model.ts";
import { FULL } from "#test/support/tier.ts";

const sizeOf = (message: Message) =>
  Math.ceil(
    (message.content.length + (message.role === "assistant" ? JSON.stringify(message.calls).length : 0)) / 3,
  ) + 4;
const total = (messages: readonly Message[]) =>
  messages.reduce((sum, message) => sum + (message.role === "system" ? 0 : sizeOf(message)), 0);

interface TurnShape {
  readonly text: number;
  readonly results: readonly number[];
  readonly after: string;
}

/** A valid transcript of turns of the given shape. */
function transcriptOf(turns: readonly TurnShape[], task = "Fix it."): readonly Message[] {
  const messages: Message[] = [
    { role: "system", content: "s".repeat(300) },
    { role: "user", content: task },
  ];
  for (const { text, results, after } of turns) {
    const calls = results.map((_, at) => call("read", { path: `src/${at}.ts` }));
    messages.push({ role: "assistant", content: "t".repeat(text + 1), calls });
    for (const [at, size] of results.entries())
      messages.push({
        role: "tool",
        callId: calls[at]?.id ?? "",
        name: "read",
        content: `${"r\n".repeat(size / 2)}r`,
      });
    if (after !== "") messages.push({ role: "user", content: after });
  }
  return messages;
}

const shape: fc.Arbitrary<TurnShape> = fc.record({
  text: fc.nat(300),
  results: fc.array(fc.oneof(fc.nat(200), fc.nat(6_000)), { maxLength: 4 }),
  after: fc.constantFrom("", "", "The tests still fail.", "[harness] Your reply was empty."),
});
const anyTranscript = fc.array(shape, { minLength: 1, maxLength: 14 }).map((turns) => transcriptOf(turns));
const anyPolicy: fc.Arbitrary<Omit<ContextPolicy, "trigger" | "stub">> = fc.record({
  budget: fc.integer({ min: 100, max: 12_000 }),
  keepTurns: fc.integer({ min: 1, max: 12 }),
  noteShare: fc.constantFrom(0, 0.05, 0.2),
});
const RUNS = { numRuns: FULL ? 10_000 : 1_000 };

/** What the executor does with a plan, with a note of just the size it was given. */
function carryOut(messages: readonly Message[], plan: NonNullable<ReturnType<typeof planCompaction>>) {
  if (plan.to === plan.from) return compacted(messages, plan, null);
  const gone = messages.slice(plan.from, plan.to);
  const frame = handOverText({ ...carriedOver(gone, plan.kept, plan.noteTokens), note: "" });
  return compacted(messages, plan, frame.slice(0, Math.max(30, 3 * (plan.noteTokens - 5))));
}

suite("compaction planner", () => {
  test("I01: whatever it cuts, calls and results stay together, and system prompt and task stay first", () => {
    fc.assert(
      fc.property(anyTranscript, anyPolicy, (messages, policy) => {
        const plan = planCompaction(messages, policy, sizeOf);
        if (plan === null) return;
        const after = carryOut(messages, plan);
        assert.deepEqual(checkTranscript(after), []);
        assert.deepEqual(after.slice(0, 2), messages.slice(0, 2));
        assert.deepEqual(after.at(-1)?.role, messages.at(-1)?.role);
      }),
      RUNS,
    );
  });

  test("the newest turns are kept as they are where the budget allows, else fewer, and always the newest one", () => {
    fc.assert(
      fc.property(anyTranscript, anyPolicy, (messages, policy) => {
        const plan = planCompaction(messages, policy, sizeOf);
        if (plan === null) return;
        assert.ok(plan.keptTurns >= 1 && plan.keptTurns <= policy.keepTurns);
        const newest = messages.slice(newestTurns(messages, plan.keptTurns));
        const kept = plan.kept.slice(plan.kept.length - newest.length);
        for (const [at, message] of newest.entries()) {
          const now = kept[at];
          assert.equal(now?.role, message.role);
          if (message.role !== "tool") assert.equal(now, message, "only results are ever cut");
        }
        const fits =
          total(newest) + total(messages.slice(0, 2)) + policy.noteShare * policy.budget <= policy.budget;
        if (plan.to > plan.from) assert.ok(plan.noteTokens >= Math.floor(policy.noteShare * policy.budget));
        if (fits && plan.to > plan.from) assert.deepEqual(kept, newest);
      }),
      RUNS,
    );
  });

  test("what a plan leaves is within the budget whenever the newest turn can be cut to it, and never larger than before", () => {
    fc.assert(
      fc.property(anyTranscript, anyPolicy, (messages, policy) => {
        const plan = planCompaction(messages, policy, sizeOf);
        if (plan === null) return;
        const kept = total(plan.kept);
        const rest = total(messages.slice(plan.from));
        if (plan.to === plan.from) assert.ok(kept < rest);
        // A clipped result keeps 400 characters and its marker; the last message is never cut below that.
        const newest = messages.slice(newestTurns(messages, 1));
        const floor = newest.reduce(
          (sum, message) => sum + (message.role === "tool" ? 160 : sizeOf(message)),
          0,
        );
        const pinned = total(messages.slice(0, 2));
        if (pinned + floor + policy.noteShare * policy.budget <= policy.budget)
          assert.ok(pinned + kept + Math.max(0, plan.noteTokens) <= policy.budget + 4 * newest.length);
      }),
      RUNS,
    );
  });

  test("a transcript within the budget, as a compacted one is, is left alone", () => {
    fc.assert(
      fc.property(anyTranscript, anyPolicy, (messages, policy) => {
        const plan = planCompaction(messages, policy, sizeOf);
        assert.equal(total(messages) <= policy.budget && plan !== null, false);
        if (plan === null) return;
        const after = carryOut(messages, plan);
        if (total(after) <= policy.budget) assert.equal(planCompaction(after, policy, sizeOf), null);
      }),
      RUNS,
    );
  });

  test("results of older kept turns are cleared before turns are given up", () => {
    const turn = { text: 10, results: [3_000], after: "" };
    const messages = transcriptOf([turn, turn, turn, turn]);
    const plan = planCompaction(messages, { budget: 1_500, keepTurns: 3, noteShare: 0.1 }, sizeOf);
    assert.equal(plan?.keptTurns, 3);
    const results = plan?.kept.filter((message) => message.role === "tool") ?? [];
    assert.deepEqual(
      results.map(({ content }) => isStub(content)),
      [true, true, false],
    );
  });

  test("an earlier note alone is not replaced by another one", () => {
    const turns = [1, 2].map(() => ({ text: 10, results: [3_000], after: "" }));
    const text = handOverText({ told: [], todos: null, asked: [], note: "n".repeat(600) });
    const messages = transcriptOf(turns).toSpliced(2, 0, { role: "user", content: text });
    const plan = planCompaction(messages, { budget: 1_700, keepTurns: 5, noteShare: 0.1 }, sizeOf);
    assert.ok(plan !== null && plan.to === plan.from);
    assert.equal(plan.kept[0]?.content, text);
  });

  test("I06: when the newest turn alone is too large, its results are clipped and say so", () => {
    const messages = transcriptOf([{ text: 10, results: [6_000, 6_000], after: "" }]);
    const plan = planCompaction(messages, { budget: 1_000, keepTurns: 5, noteShare: 0.1 }, sizeOf);
    const after = compacted(messages, plan!, null);
    assert.ok(total(after) <= 1_000);
    assert.equal(after.filter(({ content }) => content.includes("characters left out")).length, 2);
    assert.deepEqual(checkTranscript(after), []);
  });

  test("a transcript without turns, or with one small turn, leaves nothing to plan", () => {
    const policy = { budget: 50, keepTurns: 2, noteShare: 0 };
    assert.equal(planCompaction(transcriptOf([]), policy, sizeOf), null);
    assert.equal(
      planCompaction(transcriptOf([{ text: 900, results: [20], after: "" }]), policy, sizeOf),
      null,
    );
    assert.equal(pinnedCount(transcriptOf([])), 2);
  });
});

suite("stubs", () => {
  test("a cleared result says what it was", () => {
    const lines = (count: number) => "line\n".repeat(count - 1);
    assert.equal(
      stubText(call("read_file", { path: "src/a.ts" }), lines(190)),
      "[cleared: read_file src/a.ts, 190 lines]",
    );
    assert.equal(
      stubText(call("run_command", { command: "npm\n test" }), "x"),
      "[cleared: run_command npm test, 1 line]",
    );
    assert.equal(stubText(call("run_tests", {}), lines(3)), "[cleared: run_tests, 3 lines]");
    assert.equal(stubText(call("odd", "[1"), lines(3)), "[cleared: odd, 3 lines]");
  });

  test("only older results become stubs, under the same ids; small ones and the to-do list stay; twice is once", () => {
    fc.assert(
      fc.property(anyTranscript, fc.nat(14), (messages, keep) => {
        const end = newestTurns(messages, keep);
        const stubbed = stubResults(messages, keep === 0 ? messages.length : end);
        assert.deepEqual(checkTranscript(stubbed), []);
        assert.equal(stubbed.length, messages.length);
        for (const [at, message] of messages.entries()) {
          const now = stubbed[at];
          if (now === message) continue;
          assert.ok(message.role === "tool" && now?.role === "tool" && now.callId === message.callId);
          assert.ok(isStub(now.content) && now.content.length < message.content.length);
          assert.ok(keep === 0 || at < end);
        }
        assert.deepEqual(stubResults(stubbed, messages.length), stubResults(messages, messages.length));
        assert.deepEqual(stubResults(stubbed, end), stubbed);
      }),
      RUNS,
    );
    const todos = transcriptOf([{ text: 1, results: [500], after: "" }]).map((message) =>
      message.role === "tool" ? { ...message, name: "update_todos" } : message,
    );
    assert.deepEqual(stubResults(todos, todos.length), todos);
  });

  test("a step of clearing is taken only when it frees enough", () => {
    const messages = transcriptOf(
      Array.from({ length: 6 }, () => ({ text: 1, results: [3_000], after: "" })),
    );
    const policy = { trigger: 0, keepTurns: 2, leastFreed: 3_900 };
    assert.equal(planStub(messages, policy, sizeOf)?.results, 4);
    assert.equal(planStub(messages, { ...policy, leastFreed: 4_100 }, sizeOf), null);
    const once = planStub(messages, policy, sizeOf);
    assert.equal(
      planStub(once!.messages, { ...policy, leastFreed: 0 }, sizeOf),
      null,
      "nothing is left to clear",
    );
  });
});
