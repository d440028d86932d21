/** The one rule over the harness, by random sequences: whatever happens to a transcript, it stays valid after every operation. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ask } from "#src/harness/ask.ts";
import { compacted, planCompaction } from "#src/harness/compact.ts";
import { dispatch } from "#src/harness/dispatch.ts";
import { carriedOver, handOverText } from "#src/harness/hand-over.ts";
import { wrapUpNotice } from "#src/harness/notices.ts";
import { entryFor, NOTHING_STORED, parseEntry, resume, type Stored, withEntry } from "#src/harness/resume.ts";
import { stubResults } from "#src/harness/stub.ts";
import { createMeter } from "#src/harness/tokens.ts";
import type { Tool } from "#src/harness/tool.ts";
import { parseCalls } from "#src/harness/tool-calls.ts";
import {
  appendReply,
  appendResults,
  appendUser,
  checkTranscript,
  openCalls,
  requestFaults,
  seal,
} from "#src/harness/transcript.ts";
import { newestTurns } from "#src/harness/turns.ts";
import type { Message, ModelEvent, Reply } from "#src/model/model.ts";
import { call, cannedModel, NO_USAGE } from "#test/support/canned-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { FULL } from "#test/support/tier.ts";
import { countingIds, recordingTools } from "./fixture.ts";

const anyCall = fc
  .tuple(
    fc.constantFrom("read", "write", "fail", "crash", "unknown", "read<|x|>", "", "re ad"),
    fc.constantFrom({ value: "a" }, { value: "b".repeat(900) }, {}, "", '{"value":', "[]", '"{}"', "\ud800"),
    fc.constantFrom("", "same", "one", "two"),
  )
  .map(([name, args, id]) => call(name, args, id));

const anyReply: fc.Arbitrary<Reply> = fc
  .record({
    content: fc.constantFrom("", " ", "text", "\ud800\0", "long ".repeat(300)),
    calls: fc.array(anyCall, { maxLength: 4 }),
    finish: fc.constantFrom(
      "complete" as const,
      "complete" as const,
      "truncated" as const,
      "refused" as const,
    ),
    extra: fc.option(fc.constant({ reasoning_content: "hm" }), { nil: undefined }),
  })
  .map(({ extra, ...rest }) => ({ ...rest, usage: NO_USAGE, ...(extra === undefined ? {} : { extra }) }));

/** How a request goes: whole, after a void first try, or not at all. */
const anyStream = fc.record({
  reply: anyReply,
  retries: fc.nat(2),
  end: fc.constantFrom("done" as const, "done" as const, "done" as const, "failed" as const, "cut" as const),
});

type Operation =
  | {
      readonly op: "turn";
      readonly stream: { reply: Reply; retries: number; end: "done" | "failed" | "cut" };
      readonly cancelAt: number;
    }
  | { readonly op: "reply_then_crash"; readonly reply: Reply; readonly answered: number }
  | { readonly op: "user"; readonly text: string }
  | { readonly op: "stub"; readonly keep: number }
  | { readonly op: "compact"; readonly budget: number; readonly keep: number; readonly note: string }
  | { readonly op: "cancel" }
  | { readonly op: "reload" };

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constant("turn" as const), stream: anyStream, cancelAt: fc.nat(12) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant("reply_then_crash" as const),
      reply: anyReply,
      answered: fc.nat(3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant("user" as const),
      text: fc.constantFrom("The tests fail.", wrapUpNotice("40 of 50 turns"), ""),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("stub" as const), keep: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant("compact" as const),
      budget: fc.integer({ min: 50, max: 2_000 }),
      keep: fc.integer({ min: 1, max: 4 }),
      note: fc.constantFrom("a note", "", "What was done so far:\n> x"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("cancel" as const) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("reload" as const) }) },
);

const START: readonly Message[] = [
  { role: "system", content: "s" },
  { role: "user", content: "u" },
];
const TOOLS: readonly Tool[] = recordingTools({ lines: [] });
const meter = createMeter([]);

/** One model call through the loop's own stream reader, its calls run, their results appended. */
async function oneTurn(
  messages: readonly Message[],
  { stream, cancelAt }: Extract<Operation, { op: "turn" }>,
  ids: ReturnType<typeof countingIds>,
): Promise<readonly Message[]> {
  const controller = new AbortController();
  let seen = 0;
  const tick = () => {
    if (++seen === cancelAt) controller.abort("cancelled by octocat");
  };
  const model = cannedModel([
    async function* (): AsyncIterable<ModelEvent> {
      for (let attempt = 1; attempt <= stream.retries; attempt++) {
        yield { type: "text", text: "half of a repl" };
        yield { type: "retry", attempt, of: 3, waitMs: 0, reason: "cut" };
      }
      yield { type: "text", text: "text" };
      if (stream.end === "done") yield { type: "done", reply: stream.reply };
      if (stream.end === "failed")
        yield { type: "failed", failure: { code: "server_error", message: "500", status: 500 } };
    },
  ]);
  const request = { messages, tools: [], maxOutputTokens: 100, signal: controller.signal };
  if (requestFaults(messages).length > 0) return messages;
  const answer = await ask(model, request, tick);
  if (answer.kind === "failed") return messages;
  const { messages: asked, calls } = appendReply(messages, answer.reply, {
    ids,
    toolNames: TOOLS.map(({ name }) => name),
  });
  assert.deepEqual(
    checkTranscript(asked).filter(({ code }) => code !== "unanswered_call"),
    [],
  );
  const answers = await dispatch(parseCalls(answer.reply.finish, calls, TOOLS), {
    signal: controller.signal,
    clock: createManualClock(),
    resultChars: 2_000,
    onCall: tick,
    onResult: tick,
  });
  return appendResults(
    asked,
    answers.map(({ call: { id }, result }) => ({
      callId: id,
      text: result.text,
      failed: result.status === "error",
    })),
  );
}

function compact(
  messages: readonly Message[],
  { budget, keep, note }: Extract<Operation, { op: "compact" }>,
) {
  const plan = planCompaction(messages, { budget, keepTurns: keep, noteShare: 0.1 }, meter.sizeOf);
  if (plan === null) return messages;
  if (plan.to === plan.from) return compacted(messages, plan, null);
  const gone = messages.slice(plan.from, plan.to);
  // What is summarised is sent as a request of its own.
  assert.deepEqual(requestFaults(appendUser(messages.slice(0, plan.to), "note?")), []);
  return compacted(messages, plan, handOverText({ ...carriedOver(gone, plan.kept, plan.noteTokens), note }));
}

/** Stores what changed, reads it back as another process would, and goes on from it. */
function reload(store: { last: Stored; copy: Stored }, messages: readonly Message[]): readonly Message[] {
  const next: Stored = { ...store.last, messages };
  const entry = parseEntry(JSON.stringify(entryFor(store.last, next)));
  assert.ok(entry.ok, entry.ok ? "" : entry.error);
  store.copy = withEntry(store.copy, entry.value);
  assert.deepEqual(store.copy.messages, JSON.parse(JSON.stringify(messages)));
  const resumed = resume(store.copy);
  assert.ok(resumed.ok, resumed.ok ? "" : resumed.error);
  store.last = store.copy;
  return resumed.value.prior;
}

test("stream, retry, dispatch, stub, compact, cancel, resume, crash and reload, in any order, leave a valid transcript", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 14 }), async (operations) => {
      const ids = countingIds();
      const store = { last: NOTHING_STORED, copy: NOTHING_STORED };
      let messages = START;
      for (const step of operations) {
        switch (step.op) {
          case "turn":
            messages = await oneTurn(messages, step, ids);
            break;
          case "reply_then_crash": {
            // The process dies between a call and its result: what is stored has open calls.
            const asked = appendReply(messages, step.reply, { ids, toolNames: ["read"] }).messages;
            const some = openCalls(asked).slice(0, step.answered);
            messages = reload(
              store,
              appendResults(
                asked,
                some.map(({ id }) => ({ callId: id, text: "r" })),
              ),
            );
            break;
          }
          case "user":
            messages = appendUser(messages, step.text);
            break;
          case "stub":
            messages = stubResults(messages, newestTurns(messages, step.keep));
            break;
          case "compact":
            messages = compact(messages, step);
            break;
          case "cancel":
            messages = seal(messages, "cancelled by octocat");
            break;
          case "reload":
            messages = reload(store, messages);
            break;
        }
        assert.deepEqual(checkTranscript(messages), [], `after ${step.op}`);
        assert.ok(JSON.stringify(messages).isWellFormed());
        assert.deepEqual(messages.slice(0, 2), START, "system prompt and task never change");
      }
    }),
    { numRuns: FULL ? 10_000 : 1_000 },
  );
});
