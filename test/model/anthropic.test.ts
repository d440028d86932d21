/** What only Anthropic's Messages API does: strict turns, signed thinking, cache marks, and its own reasons to stop. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnthropicAssembler } from "#src/model/anthropic-stream.ts";
import type { Message, ModelRequest } from "#src/model/model.ts";
import { ask, askReply, READ_FILE, replyIn, retriesIn } from "#test/support/ask-model.ts";
import { startWireServer, type WireExchange } from "#test/support/wire-server.ts";
import { countingIds } from "./chat-adapter.ts";
import { ANTHROPIC_WIRE as WIRE } from "./wires/anthropic-wire.ts";
import { OK, replying } from "./wires/play.ts";

const call = (id: string) => ({ id, name: "read_file", arguments: '{"path":"a"}' });
const result = (callId: string): Message => ({ role: "tool", callId, name: "read_file", content: callId });
const MARK = { cache_control: { type: "ephemeral" } };

const TRANSCRIPT: readonly Message[] = [
  { role: "system", content: "You fix bugs." },
  { role: "user", content: "Fix it." },
  { role: "assistant", content: " ", calls: [call("c1"), call("c2")] },
  result("c1"),
  result("c2"),
  { role: "user", content: "Wrap up." },
  { role: "user", content: "And hurry." },
];

async function bodyOf(fields: Partial<ModelRequest>) {
  await using server = await startWireServer(replying(WIRE, OK));
  await askReply(WIRE.adapter(server.url), fields);
  return server.bodies()[0] ?? {};
}

function fold(...events: readonly object[]) {
  const assembler = createAnthropicAssembler({
    ids: countingIds(),
    usedCallIds: new Set(),
    toolNames: new Set(["read_file"]),
    modelId: "test-model",
  });
  const said = events.map((event) => assembler.add(event).text).join("");
  const end = assembler.end(true);
  assert.ok(end.ok, end.ok ? "" : end.error);
  return { reply: end.value, said };
}

const stop = (stop_reason: string, fields: object = {}) => ({
  type: "message_delta",
  delta: { stop_reason, ...fields },
});
const start = (index: number | undefined, content_block: object) => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number | undefined, fields: object) => ({
  type: "content_block_delta",
  index,
  delta: fields,
});

test("the results of a reply and the user's texts after them are one user turn, results first", async () => {
  const use = (id: string) => ({ type: "tool_use", id, name: "read_file", input: { path: "a" } });
  const { messages } = await bodyOf({ messages: TRANSCRIPT });
  assert.deepEqual(messages, [
    { role: "user", content: [{ type: "text", text: "Fix it.", ...MARK }] },
    { role: "assistant", content: [use("c1"), use("c2")] },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "c1", content: "c1" },
        { type: "tool_result", tool_use_id: "c2", content: "c2" },
        { type: "text", text: "Wrap up." },
        { type: "text", text: "And hurry.", ...MARK },
      ],
    },
  ]);
});

test("tools, system and the last two user turns are marked for the cache, four marks at most", async () => {
  const longer: readonly Message[] = [
    ...TRANSCRIPT,
    { role: "assistant", content: "", calls: [call("c3")] },
    result("c3"),
  ];
  const body = await bodyOf({ messages: longer, tools: [READ_FILE, { ...READ_FILE, name: "search" }] });
  assert.equal(JSON.stringify(body).split("cache_control").length - 1, 4);
  const { parameters, ...described } = READ_FILE;
  assert.deepEqual(body.tools, [
    { ...described, input_schema: parameters },
    { ...described, name: "search", input_schema: parameters, ...MARK },
  ]);
  assert.deepEqual(body.system, [{ type: "text", text: "You fix bugs.", ...MARK }]);
});

test("but for the marks, what was sent is the beginning of what is sent next", async () => {
  const sent = async (count: number) => {
    const { messages, tools, system } = await bodyOf({ messages: TRANSCRIPT.slice(0, count) });
    const text = JSON.stringify([tools, system, messages]).replaceAll(
      `,${JSON.stringify(MARK).slice(1, -1)}`,
      "",
    );
    return text.slice(0, text.lastIndexOf("]}"));
  };
  const texts = await Promise.all([2, 5, 6, 7].map(sent));
  for (const [at, text] of texts.entries()) assert.ok(at === 0 || text.startsWith(texts[at - 1] ?? "?"));
});

test("a server that does not know the marks is sent none, once it said so", async () => {
  const strict = (exchange: WireExchange) => {
    if (!JSON.stringify(exchange.body).includes("cache_control")) return replying(WIRE, OK)(exchange);
    const message = "system.0.cache_control: Extra inputs are not permitted";
    exchange.answer(400, { type: "error", error: { type: "invalid_request_error", message } });
    return undefined;
  };
  await using server = await startWireServer(strict);
  const model = WIRE.adapter(server.url);
  assert.match(retriesIn(await ask(model))[0]?.reason ?? "", /cache_control/);
  await askReply(model);
  assert.equal(server.exchanges.length, 3);
});

test("the model's own output limit is learnt from the refusal", async () => {
  const strict = (exchange: WireExchange) => {
    const asked = Number(exchange.body.max_tokens);
    if (asked <= 8_192) return replying(WIRE, OK)(exchange);
    const message = `max_tokens: ${asked} > 8192, which is the maximum allowed number of output tokens for m`;
    exchange.answer(400, { type: "error", error: { type: "invalid_request_error", message } });
    return undefined;
  };
  await using server = await startWireServer(strict);
  const model = WIRE.adapter(server.url);
  await askReply(model, { maxOutputTokens: 32_000 });
  await askReply(model, { maxOutputTokens: 500 });
  assert.deepEqual(
    server.bodies().map((body) => body.max_tokens),
    [32_000, 8_192, 500],
  );
});

test("input and output cap that are too much together are a context overflow, not a smaller cap", async () => {
  const message =
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length";
  await using server = await startWireServer((exchange) =>
    exchange.answer(400, { type: "error", error: { type: "invalid_request_error", message } }),
  );
  const last = (await ask(WIRE.adapter(server.url))).at(-1);
  assert.equal(last?.type === "failed" && last.failure.code, "context_overflow");
  assert.equal(server.exchanges.length, 1);
});

test("A20: thinking and redacted thinking go back untouched, between the texts and calls they stood between", async () => {
  const blocks = [
    { type: "thinking", thinking: "first", signature: "s1" },
    { type: "text", text: "Looking." },
    { type: "redacted_thinking", data: "EmwKAhgB" },
    { type: "thinking", thinking: "", signature: "s2" },
    { type: "tool_use", id: "t1", name: "read_file", input: { path: "a" }, caller: { type: "direct" } },
  ];
  await using server = await startWireServer((exchange) => {
    exchange.answer(200, { type: "message", content: blocks, stop_reason: "tool_use" });
  });
  const model = WIRE.adapter(server.url);
  const { content, calls, extra } = await askReply(model);
  const messages: readonly Message[] = [
    { role: "user", content: "x" },
    { role: "assistant", content, calls, extra: extra ?? {} },
    result("t1"),
  ];
  await askReply(model, { messages });
  assert.deepEqual(server.messages(2)[1], { role: "assistant", content: blocks });
});

test("thinking that the provider no longer accepts is left out, once and for good", async () => {
  const extra = {
    anthropic_parts: {
      model: "test-model",
      length: 3,
      parts: [
        { kind: "raw", item: { type: "thinking", thinking: "hm", signature: "of another account" } },
        { kind: "text", from: 0, to: 3, rest: {} },
      ],
    },
  };
  const messages: readonly Message[] = [
    { role: "user", content: "x" },
    { role: "assistant", content: "abc", calls: [], extra },
    { role: "user", content: "y" },
  ];
  const strict = (exchange: WireExchange) => {
    if (!JSON.stringify(exchange.body).includes("another account")) return replying(WIRE, OK)(exchange);
    const message = "messages.1.content.0: Invalid `signature` in `thinking` block";
    exchange.answer(400, { type: "error", error: { type: "invalid_request_error", message } });
    return undefined;
  };
  await using server = await startWireServer(strict);
  const model = WIRE.adapter(server.url);
  assert.match(retriesIn(await ask(model, { messages }))[0]?.reason ?? "", /thinking/);
  await askReply(model, { messages });
  assert.equal(server.exchanges.length, 3);
  assert.deepEqual(server.messages(3)[1], { role: "assistant", content: [{ type: "text", text: "abc" }] });
});

test("a request without tools over a transcript with calls names the tools and forbids their use", async () => {
  const body = await bodyOf({ messages: TRANSCRIPT, tools: [] });
  assert.deepEqual(body.tools, [{ name: "read_file", input_schema: { type: "object" } }]);
  assert.deepEqual(body.tool_choice, { type: "none" });
});

test("an assistant turn with nothing in it is not sent, and the turns around it are one", async () => {
  const { messages } = await bodyOf({
    messages: [
      { role: "user", content: "x" },
      { role: "assistant", content: " ", calls: [] },
      { role: "user", content: " " },
    ],
  });
  const [turn, ...others] = messages as readonly { readonly content: readonly { readonly text: string }[] }[];
  assert.deepEqual([turn?.content.map((block) => block.text), others], [["x", "(empty)"], []]);
});

test("every reason to stop is told: the end, a call, the cap, the window, a pause and a refusal", () => {
  for (const [reason, finish] of [
    ["end_turn", "complete"],
    ["stop_sequence", "complete"],
    ["tool_use", "complete"],
    ["max_tokens", "truncated"],
    ["model_context_window_exceeded", "truncated"],
    ["pause_turn", "truncated"],
    ["refusal", "refused"],
  ] as const) {
    assert.equal(fold(stop(reason), { type: "message_stop" }).reply.finish, finish, reason);
  }
});

test("a refusal without any text says what the provider says of it", () => {
  const details = { type: "refusal", category: "cyber", explanation: "This looks like an exploit." };
  const { reply } = fold(stop("refusal", { stop_details: details }), { type: "message_stop" });
  assert.deepEqual([reply.finish, reply.content], ["refused", "This looks like an exploit."]);
});

test("input is the sum of its three parts, and a server that ends with zeros does not undo it", () => {
  const usage = {
    input_tokens: 5,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 20,
    output_tokens: 1,
  };
  const { reply } = fold(
    { type: "message_start", message: { usage } },
    { ...stop("end_turn"), usage: { input_tokens: 0, output_tokens: 42 } },
  );
  assert.deepEqual(reply.usage, { inputTokens: 125, cachedTokens: 100, outputTokens: 42 });
});

test("input that comes whole with its block, or as text, is taken as it is", () => {
  for (const input of [{ path: "a" }, '{"path":"a"}']) {
    const block = { type: "tool_use", id: "t", name: "read_file", input };
    const { reply } = fold(start(0, block), stop("tool_use"));
    assert.deepEqual(JSON.parse(reply.calls[0]?.arguments ?? ""), { path: "a" });
  }
});

test("A01, A02: blocks without an index, and an index that is used again, are told apart", () => {
  for (const index of [undefined, 0]) {
    const events = ["a", "b"].flatMap((path) => [
      start(index, { type: "tool_use", id: `t_${path}`, name: "read_file", input: {} }),
      delta(index, { type: "input_json_delta", partial_json: '{"path":' }),
      delta(index, { type: "input_json_delta", partial_json: `"${path}"}` }),
      { type: "content_block_stop", index },
    ]);
    const { reply } = fold(...events, stop("tool_use"));
    assert.deepEqual(
      reply.calls.map((one) => [one.id, one.arguments]),
      [
        ["t_a", '{"path":"a"}'],
        ["t_b", '{"path":"b"}'],
      ],
    );
  }
});

test("two texts of one reply are set off from each other, in the stream as in the reply", () => {
  const { reply, said } = fold(
    start(0, { type: "text", text: "" }),
    delta(0, { type: "text_delta", text: "Looking." }),
    start(1, { type: "text", text: "Found" }),
    delta(1, { type: "text_delta", text: " it." }),
    stop("end_turn"),
  );
  assert.deepEqual([reply.content, said], ["Looking.\n\nFound it.", "Looking.\n\nFound it."]);
});

test("nothing of the environment or of a profile gets into a request", async () => {
  await using server = await startWireServer(replying(WIRE, OK));
  const events = await ask(WIRE.adapter(server.url, { apiKey: null }));
  assert.equal(replyIn(events).content, "ok");
  const names = Object.keys(server.exchanges[0]?.headers ?? {});
  assert.deepEqual(
    names.filter((name) => /auth|key|trace|baggage|cookie/.test(name)),
    [],
  );
});
