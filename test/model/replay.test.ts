import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message, Reply } from "#src/model/model.ts";
import { createReplay, replyFromTrace } from "#src/model/replay.ts";
import { askFailure, askReply } from "#test/support/ask-model.ts";

const usage = { inputTokens: 1, cachedTokens: null, outputTokens: 2 };
const FIRST: Reply = {
  content: "look",
  calls: [{ id: "c1", name: "read_file", arguments: '{"path":"a"}' }],
  finish: "complete",
  usage,
  extra: { reasoning_content: "hm" },
};
const SECOND: Reply = { content: "done", calls: [], finish: "complete", usage };
const PROMPT: readonly Message[] = [
  { role: "system", content: "s" },
  { role: "user", content: "fix" },
];
const result = (content: string, callId = "c1"): Message => ({
  role: "tool",
  callId,
  name: "read_file",
  content,
});
const after = (content: string, callId?: string): readonly Message[] => [
  ...PROMPT,
  { role: "assistant", content: FIRST.content, calls: FIRST.calls },
  result(content, callId),
];
const RECORDING = [
  { reply: FIRST, asked: { tools: ["read_file"], news: PROMPT } },
  { reply: SECOND, asked: { tools: ["read_file"], news: [result("1: x")] } },
];

test("a run that asks the same gets the same replies, and no difference is found", async () => {
  const model = createReplay(RECORDING);
  assert.deepEqual(await askReply(model, { messages: PROMPT }), FIRST);
  assert.equal(model.left, 1);
  assert.deepEqual(await askReply(model, { messages: after("1: x") }), SECOND);
  assert.deepEqual([model.difference, model.left], [null, 0]);
});

test("the first difference is kept: which turn, what, and both sides", async () => {
  const model = createReplay(RECORDING);
  await askReply(model, { messages: PROMPT });
  await askReply(model, { messages: after("1: y") });
  const difference = { turn: 2, what: "the result of read_file differs", recorded: "1: x", now: "1: y" };
  assert.deepEqual(model.difference, difference);
  await askFailure(model, { messages: after("1: z") });
  assert.deepEqual(model.difference, difference);
});

test("other tools, other prompts, more, fewer and wrongly answered calls are differences", async () => {
  const what = async (turn: 0 | 1, messages: readonly Message[], tools?: readonly []) => {
    const model = createReplay(RECORDING.slice(turn));
    await askReply(model, { messages, ...(tools === undefined ? {} : { tools }) });
    return model.difference?.what;
  };
  assert.match((await what(0, PROMPT, [])) ?? "", /other tools/);
  assert.match(
    (await what(0, [{ role: "system", content: "other" }, PROMPT[1] as Message])) ?? "",
    /system message differs/,
  );
  assert.match((await what(1, [...after("1: x"), { role: "user", content: "go on" }])) ?? "", /was added/);
  assert.match((await what(1, after("1: x").slice(0, 3))) ?? "", /is missing/);
  assert.match((await what(1, after("1: x", "c2"))) ?? "", /another call/);
});

test("a run that goes on longer than the recording fails and says so", async () => {
  const model = createReplay([]);
  assert.match((await askFailure(model)).message, /0 replies/);
  assert.match(model.difference?.what ?? "", /ended before/);
});

test("a model_reply event of a trace is a reply again; a broken one is named", () => {
  const read = replyFromTrace(JSON.parse(JSON.stringify({ ...FIRST, added: "later" })));
  assert.deepEqual(read.ok && read.value, FIRST);
  const broken = replyFromTrace({ ...FIRST, finish: "tired" });
  assert.match(broken.ok ? "" : broken.error, /finish/);
});
