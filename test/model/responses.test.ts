/** What only the Responses API does: items, their ids, encrypted reasoning, and the servers that copy it loosely. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "#src/model/model.ts";
import { createResponsesAssembler } from "#src/model/responses-stream.ts";
import { ask, askFailure, askReply, replyIn, retriesIn } from "#test/support/ask-model.ts";
import { startWireServer, type WireExchange } from "#test/support/wire-server.ts";
import { countingIds } from "./chat-adapter.ts";
import { CALL, OK, ONE_TRY, play, replying } from "./wires/play.ts";
import { RESPONSES_WIRE as WIRE } from "./wires/responses-wire.ts";

function fold(...events: readonly object[]) {
  const assembler = createResponsesAssembler({
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

const completed = (output: readonly object[], fields: object = {}) => ({
  type: "response.completed",
  response: { status: "completed", output, ...fields },
});
const message = (id: string, text: string, fields: object = {}) => ({
  id,
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text }],
  ...fields,
});
const functionCall = (id: string, path: string) => ({
  id: `fc_${id}`,
  type: "function_call",
  call_id: id,
  name: "read_file",
  arguments: JSON.stringify({ path }),
});

/** A transcript with one reply, as it was stored. */
const withExtra = (extra: Readonly<Record<string, unknown>>): readonly Message[] => [
  { role: "user", content: "x" },
  {
    role: "assistant",
    content: "Looking.",
    calls: [{ id: "c1", name: "read_file", arguments: '{"path":"a"}' }],
    extra,
  },
  { role: "tool", callId: "c1", name: "read_file", content: "1" },
];

const parts = (reasoning: object, model = "test-model") => ({
  responses_parts: {
    model,
    length: 8,
    parts: [
      { kind: "raw", item: reasoning },
      { kind: "text", from: 0, to: 8, rest: { id: "msg_1", phase: "commentary" } },
      { kind: "call", rest: { id: "fc_1" } },
    ],
  },
});
const ENCRYPTED = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAA" };

async function sentItems(messages: readonly Message[]): Promise<readonly object[]> {
  await using server = await startWireServer(replying(WIRE, OK));
  await askReply(WIRE.adapter(server.url), { messages });
  return server.bodies()[0]?.input as readonly object[];
}

test("the provider is asked to keep nothing and to hand its reasoning over encrypted", async () => {
  await using server = await startWireServer(replying(WIRE, OK));
  await askReply(WIRE.adapter(server.url));
  const { store, include, stream, tools } = server.bodies()[0] ?? {};
  assert.deepEqual([store, include, stream], [false, ["reasoning.encrypted_content"], true]);
  assert.deepEqual(
    (tools as readonly { readonly strict: unknown }[]).map((tool) => tool.strict),
    [false],
  );
});

test("A20: a reply goes back as the items it came in, ids, phase and order included", async () => {
  assert.deepEqual(await sentItems(withExtra(parts(ENCRYPTED))), [
    { type: "message", role: "user", content: "x" },
    ENCRYPTED,
    {
      id: "msg_1",
      phase: "commentary",
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Looking.", annotations: [] }],
    },
    { id: "fc_1", type: "function_call", call_id: "c1", name: "read_file", arguments: '{"path":"a"}' },
    { type: "function_call_output", call_id: "c1", output: "1" },
  ]);
});

test("reasoning that is only a reference is left out, and with it the ids that depend on it", async () => {
  const items = await sentItems(withExtra(parts({ id: "rs_1", type: "reasoning", summary: [] })));
  assert.equal(JSON.stringify(items).includes("_1"), false);
  assert.equal(items.length, 4);
});

test("open reasoning with its text is sent back although nothing encrypted it", async () => {
  const open = { id: "rs_1", type: "reasoning", content: [{ type: "reasoning_text", text: "hm" }] };
  assert.deepEqual((await sentItems(withExtra(parts(open))))[1], open);
});

test("what another model kept of its reply is not sent to this one", async () => {
  const items = await sentItems(withExtra(parts(ENCRYPTED, "another-model")));
  assert.deepEqual(items[1], { type: "message", role: "assistant", content: "Looking." });
  assert.equal(items.length, 4);
});

test("reasoning that the provider can't decrypt any more is left out, once and for good", async () => {
  for (const [status, message, code] of [
    [400, "The encrypted content gAAA could not be verified.", "invalid_encrypted_content"],
    [404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", null],
  ] as const) {
    const strict = (exchange: WireExchange) => {
      if (!JSON.stringify(exchange.body.input).includes("rs_1")) return replying(WIRE, OK)(exchange);
      exchange.answer(status, { error: { message, code, type: "invalid_request_error" } });
      return undefined;
    };
    await using server = await startWireServer(strict);
    const model = WIRE.adapter(server.url);
    const messages = withExtra(parts(ENCRYPTED));
    assert.match(retriesIn(await ask(model, { messages }))[0]?.reason ?? "", /reasoning/);
    await askReply(model, { messages });
    assert.equal(server.exchanges.length, 3);
  }
});

test("A23: an include that a model without reasoning refuses is left out", async () => {
  const strict = (exchange: WireExchange) => {
    if (!("include" in exchange.body)) return replying(WIRE, OK)(exchange);
    const message = "Encrypted content is not supported with this model.";
    exchange.answer(400, { error: { message, param: "include", type: "invalid_request_error" } });
    return undefined;
  };
  assert.equal(replyIn((await play(WIRE, [strict])).events).content, "ok");
});

test("a failed response is a failure by its code: passing ones are tried again, policies are not", async () => {
  const failing = (code: string) => async (exchange: WireExchange) => {
    exchange.open();
    await exchange.events({
      type: "response.failed",
      response: { status: "failed", error: { code, message: `it was ${code}` } },
    });
    exchange.end();
  };
  for (const code of ["server_error", "rate_limit_exceeded"]) {
    const { events } = await play(WIRE, [failing(code), replying(WIRE, OK)]);
    assert.match(retriesIn(events)[0]?.reason ?? "", new RegExp(code));
  }
  for (const code of ["invalid_prompt", "bio_policy"]) {
    await using server = await startWireServer(failing(code));
    assert.equal((await askFailure(WIRE.adapter(server.url))).code, "bad_request");
    assert.equal(server.exchanges.length, 1);
  }
});

test("an error event with its fields at the top is understood", async () => {
  const erring = async (exchange: WireExchange) => {
    exchange.open();
    await exchange.events({
      type: "error",
      code: "server_error",
      message: "the engine stopped",
      param: null,
    });
    exchange.end();
  };
  await using server = await startWireServer(erring);
  assert.match((await askFailure(WIRE.adapter(server.url, ONE_TRY))).message, /the engine stopped/);
});

test("every reason for an incomplete response is told: cap, filter, and others as cut off", () => {
  for (const [reason, finish] of [
    ["max_output_tokens", "truncated"],
    ["content_filter", "refused"],
    ["max_messages", "truncated"],
  ] as const) {
    const response = { status: "incomplete", incomplete_details: { reason }, output: [message("m", "half")] };
    assert.equal(fold({ type: "response.incomplete", response }).reply.finish, finish);
  }
});

test("two messages of one reply are set off from each other, in the stream as in the reply", () => {
  const { reply, said } = fold(
    { type: "response.output_text.delta", output_index: 0, item_id: "m1", delta: "Look" },
    { type: "response.output_text.delta", output_index: 0, item_id: "m1", delta: "ing." },
    { type: "response.output_text.delta", output_index: 1, item_id: "m2", delta: "Found." },
    completed([message("m1", "Looking."), message("m2", "Found.")]),
  );
  assert.deepEqual([reply.content, said], ["Looking.\n\nFound.", "Looking.\n\nFound."]);
});

test("a server that sends no deltas, or only the final response, is understood", () => {
  const item = message("m1", "Looking.");
  const call = functionCall("c1", "a");
  for (const events of [
    [completed([item, call])],
    [
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.output_item.done", output_index: 1, item: call },
      completed([]),
    ],
    [
      { type: "response.output_item.done", item },
      { type: "response.output_item.done", item: call },
      completed([item, call]),
    ],
  ]) {
    const { reply, said } = fold(...events);
    assert.deepEqual([reply.content, said, reply.calls.length], ["Looking.", "Looking.", 1]);
  }
});

test("A02: calls that all carry output_index 0 are kept apart by their ids", () => {
  const [a, b] = [functionCall("c1", "a"), functionCall("c2", "b")];
  const events = [a, b].flatMap((item) => [
    { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } },
    {
      type: "response.function_call_arguments.delta",
      output_index: 0,
      item_id: item.id,
      delta: item.arguments,
    },
    { type: "response.output_item.done", output_index: 0, item },
  ]);
  const { reply } = fold(...events, completed([a, b]));
  assert.deepEqual(
    reply.calls.map((call) => [call.id, call.arguments]),
    [
      ["c1", a.arguments],
      ["c2", b.arguments],
    ],
  );
});

test("another item id in each event, as some servers send, does not tear a call apart", () => {
  const item = functionCall("c1", "a");
  const { reply } = fold(
    { type: "response.output_item.added", output_index: 0, item: { ...item, id: "x1", arguments: "" } },
    { type: "response.function_call_arguments.delta", output_index: 0, item_id: "x2", delta: '{"path":' },
    { type: "response.function_call_arguments.delta", output_index: 0, item_id: "x3", delta: '"a"}' },
    { type: "response.output_item.done", output_index: 0, item: { ...item, id: "x4" } },
    completed([{ ...item, id: "x5" }]),
  );
  assert.deepEqual(
    reply.calls.map((call) => [call.id, call.arguments]),
    [["c1", '{"path":"a"}']],
  );
});

test("a call without a done event of its own has the arguments that were streamed", () => {
  const { arguments: args, ...item } = functionCall("c1", "a");
  const { reply } = fold(
    { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } },
    { type: "response.function_call_arguments.delta", output_index: 0, item_id: item.id, delta: args },
    completed([]),
  );
  assert.equal(reply.calls[0]?.arguments, args);
});

test("A18: half a reasoning item of a reply that was cut off is not kept", () => {
  const { reply } = fold(
    { type: "response.output_item.added", output_index: 0, item: { ...ENCRYPTED, encrypted_content: "" } },
    { type: "response.reasoning_summary_text.delta", output_index: 0, item_id: "rs_1", delta: "hm" },
    {
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] },
    },
  );
  assert.deepEqual([reply.finish, reply.extra], ["truncated", undefined]);
});

test("a call that was streamed with its reasoning keeps working after its text was changed by the harness", async () => {
  await using server = await startWireServer(
    replying(WIRE, { reasoning: "hm", text: "Looking\0.", calls: [CALL] }),
    replying(WIRE, OK),
  );
  const model = WIRE.adapter(server.url);
  const { calls, extra } = await askReply(model);
  await askReply(model, {
    messages: [
      { role: "user", content: "x" },
      { role: "assistant", content: "Looking, cut.", calls, extra: extra ?? {} },
      { role: "tool", callId: CALL.id, name: "read_file", content: "1" },
    ],
  });
  const sent = WIRE.sent(server.bodies()[1] ?? {});
  assert.equal(sent.turns[1]?.text, "Looking, cut.");
  assert.equal(WIRE.carried(server.bodies()[1] ?? {}).reasoning.length, 1);
});
