import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  appendReply,
  appendResults,
  appendUser,
  checkTranscript,
  openCalls,
  requestFaults,
  seal,
} from "#src/harness/transcript.ts";
import type { Message, Reply } from "#src/model/model.ts";
import { call, NO_USAGE } from "#test/support/canned-model.ts";
import { FULL } from "#test/support/tier.ts";
import { countingIds } from "./fixture.ts";

const START: readonly Message[] = [
  { role: "system", content: "s" },
  { role: "user", content: "u" },
];

const tricky = fc.constantFrom(
  "",
  "x",
  "id",
  "{}",
  "[",
  '{"a":1}',
  '"{}"',
  "read",
  "<|x|>",
  "\ud800",
  "null",
  " ",
);
const anyCall = fc.record({
  id: fc.oneof(tricky, fc.string({ maxLength: 3 })),
  name: fc.oneof(tricky, fc.string({ unit: "binary", maxLength: 80 })),
  arguments: fc.oneof(tricky, fc.json({ maxDepth: 2 }), fc.string()),
});
const anyReply: fc.Arbitrary<Reply> = fc.record({
  content: fc.oneof(tricky, fc.string()),
  calls: fc.array(anyCall, { maxLength: 4 }),
  finish: fc.constantFrom("complete", "truncated", "refused"),
  usage: fc.constant(NO_USAGE),
});
const operation = fc.oneof(
  fc.record({ op: fc.constant("reply" as const), reply: anyReply }),
  fc.record({ op: fc.constant("answer" as const), share: fc.nat(4), text: fc.string({ unit: "binary" }) }),
  fc.record({ op: fc.constant("cancel" as const) }),
  fc.record({ op: fc.constant("user" as const), text: fc.string() }),
);

test("replies, results, cancels and messages in any order leave a transcript whose only fault is an open call", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 15 }), (operations) => {
      const ids = countingIds();
      let messages = START;
      for (const step of operations) {
        const open = openCalls(messages);
        if (step.op === "answer") {
          const some = open.slice(0, step.share).map(({ id }) => ({ callId: id, text: step.text }));
          messages = appendResults(messages, some);
        } else {
          // The loop answers all calls before anything else is appended.
          if (step.op === "cancel" || open.length > 0) messages = seal(messages, "cancelled by octocat");
          if (step.op === "reply")
            messages = appendReply(messages, step.reply, { ids, toolNames: ["read"] }).messages;
          if (step.op === "user") messages = appendUser(messages, step.text);
        }
        const faults = checkTranscript(messages).filter((fault) => fault.code !== "unanswered_call");
        assert.deepEqual(faults, []);
        assert.deepEqual(checkTranscript(seal(messages, "stopped")), []);
        assert.ok(JSON.stringify(messages).isWellFormed());
      }
    }),
    { numRuns: FULL ? 10_000 : 1_000 },
  );
});

const answered: Message = { role: "tool", callId: "a", name: "read", content: "r" };
const asked = (...calls: ReturnType<typeof call>[]): Message => ({ role: "assistant", content: "", calls });

const broken: readonly (readonly [string, readonly Message[], string])[] = [
  ["a system message inside", [...START, { role: "system", content: "x" }], "system_not_first"],
  [
    "a reply before any user message",
    [START[0] as Message, asked(call("read", {}, "a")), answered],
    "starts_without_user",
  ],
  ["an empty reply", [...START, asked()], "empty_message"],
  ["an empty id", [...START, asked(call("read", {}, "")), { ...answered, callId: "" }], "bad_id"],
  [
    "an id used twice",
    [...START, asked(call("read", {}, "a")), answered, asked(call("read", {}, "a")), answered],
    "duplicate_id",
  ],
  ["an illegal name", [...START, asked(call("re ad", {}, "a")), { ...answered, name: "re ad" }], "bad_name"],
  ["arguments that are no object", [...START, asked(call("read", "[]", "a")), answered], "bad_arguments"],
  ["an open call at the end", [...START, asked(call("read", {}, "a"))], "unanswered_call"],
  [
    "I01: an open call before a message",
    [...START, asked(call("read", {}, "a")), { role: "user", content: "u" }],
    "unanswered_call",
  ],
  ["I01: a result without its call", [...START, answered], "result_without_call"],
  [
    "a call answered twice",
    [...START, asked(call("read", {}, "a")), answered, answered],
    "result_without_call",
  ],
  [
    "results in another order",
    [...START, asked(call("read", {}, "b"), call("read", {}, "a")), answered, { ...answered, callId: "b" }],
    "result_out_of_order",
  ],
  ["a result under another name", [...START, asked(call("list", {}, "a")), answered], "result_name_differs"],
];
for (const [what, messages, code] of broken)
  test(`${what} is found`, () => {
    assert.ok(checkTranscript(messages).some((fault) => fault.code === code));
  });

test("a request must end with something to answer", () => {
  assert.deepEqual(requestFaults(START), []);
  assert.equal(
    requestFaults([...START, { role: "assistant", content: "a", calls: [] }])[0]?.code,
    "nothing_to_answer",
  );
  assert.equal(requestFaults([])[0]?.code, "nothing_to_answer");
});

test("a result for a call that is not open is refused", () => {
  assert.throws(() => appendResults(START, [{ callId: "x", text: "" }]));
});
