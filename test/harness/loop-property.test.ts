/** The loop against random models: retries, failures, overflows, small windows, cancels and restarts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentState } from "#src/harness/agent.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import { checkTranscript, requestFaults } from "#src/harness/transcript.ts";
import { call, failure, NO_USAGE, reply, type Step } from "#test/support/canned-model.ts";
import { FULL } from "#test/support/tier.ts";
import { playAgent } from "./fixture.ts";

const anyCall = fc
  .tuple(
    fc.constantFrom("read", "write", "fail", "crash", "unknown", "read<|x|>"),
    fc.constantFrom({ value: "a" }, { value: "b" }, { value: "c".repeat(3_000) }, {}, "", '{"value":', "[]"),
    fc.constantFrom("", "same", "one", "two"),
  )
  .map(([name, args, id]) => call(name, args, id));

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(fc.constantFrom("", "text"), fc.array(anyCall, { maxLength: 4 }))
      .map(([text, calls]) => reply(text, ...calls)),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.array(anyCall, { maxLength: 3 }), fc.constantFrom("truncated" as const, "refused" as const))
      .map(([calls, finish]) => ({ content: "cut", calls, finish, usage: NO_USAGE })),
  },
  { weight: 1, arbitrary: fc.constant(failure("server_error")) },
  { weight: 2, arbitrary: fc.constant(failure("context_overflow")) },
  {
    weight: 1,
    arbitrary: fc.constant(async function* () {
      yield { type: "text" as const, text: "half a reply" };
    }),
  },
  {
    weight: 2,
    arbitrary: anyCall.map(
      (asked): Step =>
        async function* () {
          yield { type: "text" as const, text: "half a re" };
          yield { type: "retry" as const, attempt: 1, of: 3, waitMs: 0, reason: "cut" };
          yield { type: "done" as const, reply: reply("whole", asked) };
        },
    ),
  },
);

interface Run {
  readonly steps: readonly Step[];
  /** Windows of a few thousand tokens make the loop clear and compact. */
  readonly contextTokens: number;
  readonly cancelAt: number;
}

const anyRun: fc.Arbitrary<Run> = fc.record({
  steps: fc.array(anyStep, { minLength: 1, maxLength: 8 }),
  contextTokens: fc.constantFrom(100_000, 8_000, 4_500),
  cancelAt: fc.nat(40),
});

async function playValidly(run: Run, from: AgentState | null) {
  const controller = new AbortController();
  const events: HarnessEvent[] = [];
  const { end, model, checkpoints } = await playAgent(run.steps, {
    signal: controller.signal,
    limits: { turns: 24, contextTokens: run.contextTokens },
    ...(from === null ? {} : { prior: from.messages, spent: from.spent, task: "" }),
    observe: (event) => {
      events.push(event);
      // Cancelled after the loop has decided how it ends, a run is what it is.
      if (event.type !== "stop" && events.length === run.cancelAt) controller.abort("cancelled by octocat");
    },
  });
  for (const request of model.requests) assert.deepEqual(requestFaults(request.messages), []);
  for (const state of checkpoints) assert.deepEqual(checkTranscript(state.messages), []);
  assert.deepEqual(checkTranscript(end.messages), []);
  assert.ok(end.spent.turns <= 24);
  if (controller.signal.aborted && end.status === "done") assert.fail("a cancelled run says done");
  const overflows = events.filter(
    (event) => event.type === "failed" && event.failure.code === "context_overflow",
  );
  if (overflows.length > 0) {
    const sent = model.requests.map(({ messages }) => JSON.stringify(messages));
    assert.equal(new Set(sent).size, sent.length, "B01: nothing is sent twice");
  }
  return { end, checkpoints };
}

test("whatever a model streams, whenever a person cancels, and after a restart too, requests, checkpoints and the end are valid transcripts", async () => {
  await fc.assert(
    fc.asyncProperty(anyRun, anyRun, fc.nat(8), async (first, second, cut) => {
      const { end, checkpoints } = await playValidly(first, null);
      assert.notEqual(end.status, "internal", end.message);
      const kept = checkpoints[cut % Math.max(1, checkpoints.length)];
      if (kept === undefined) return;
      // A run that had answered has nothing left to answer; its next round brings a message.
      const restored = JSON.parse(JSON.stringify(kept)) as AgentState;
      const messages = [...restored.messages, { role: "user" as const, content: "Not yet." }];
      const again = await playValidly(second, { ...restored, messages });
      assert.notEqual(again.end.status, "internal", again.end.message);
    }),
    { numRuns: FULL ? 5_000 : 300 },
  );
});
