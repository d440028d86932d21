import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkTranscript, requestFaults } from "#src/harness/transcript.ts";
import { call, failure, NO_USAGE, reply, type Step } from "#test/support/canned-model.ts";
import { FULL } from "#test/support/tier.ts";
import { playAgent } from "./fixture.ts";

const anyCall = fc
  .tuple(
    fc.constantFrom("read", "write", "fail", "crash", "unknown", "read<|x|>"),
    fc.constantFrom({ value: "a" }, { value: "b" }, {}, "", '{"value":', "[]"),
    fc.constantFrom("", "same", "one", "two"),
  )
  .map(([name, args, id]) => call(name, args, id));

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
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
  {
    weight: 1,
    arbitrary: fc.constant(async function* () {
      yield { type: "text" as const, text: "half a reply" };
    }),
  },
);

test("whatever a model streams and whenever a person cancels, requests, checkpoints and the end are valid transcripts", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: 1, maxLength: 8 }),
      fc.nat(30),
      async (steps, cancelAt) => {
        const controller = new AbortController();
        let seen = 0;
        const { end, model, checkpoints } = await playAgent(steps, {
          signal: controller.signal,
          limits: { turns: 12 },
          observe: (event) => {
            // Cancelled after the loop has decided how it ends, a run is what it is.
            if (event.type !== "stop" && ++seen === cancelAt) controller.abort("cancelled by octocat");
          },
        });
        assert.notEqual(end.status, "internal", end.message);
        for (const request of model.requests) assert.deepEqual(requestFaults(request.messages), []);
        for (const state of checkpoints) assert.deepEqual(checkTranscript(state.messages), []);
        assert.deepEqual(checkTranscript(end.messages), []);
        assert.ok(end.spent.turns <= 12);
        if (controller.signal.aborted && end.status === "done") assert.fail("a cancelled run says done");
      },
    ),
    { numRuns: FULL ? 5_000 : 500 },
  );
});
