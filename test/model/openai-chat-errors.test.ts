import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { createRedactor } from "#src/base/redact.ts";
import type { Message } from "#src/model/model.ts";
import { ask, askFailure, askReply, failureIn, replyIn, retriesIn } from "#test/support/ask-model.ts";
import { delta, startWireServer, type WireExchange } from "#test/support/wire-server.ts";
import { chatAdapter, impatientClock } from "./chat-adapter.ts";

async function sayOk(exchange: WireExchange): Promise<void> {
  exchange.open();
  await exchange.events(delta({ content: "ok" }), delta({}, "stop"));
  exchange.end("data: [DONE]\n\n");
}

const refuse =
  (status: number, body: object | string, headers: Readonly<Record<string, string>> = {}) =>
  (exchange: WireExchange) =>
    exchange.answer(status, body, headers);

const error = (message: string, fields: object = {}) => ({ error: { message, ...fields } });

test("B05: one layer owns the retries: each wait is at least the Retry-After, and six tries are six requests", async () => {
  const clock = impatientClock();
  const throttled = refuse(429, error("slow down"), { "Retry-After": "3" });
  await using server = await startWireServer(throttled, throttled, sayOk);
  const events = await ask(chatAdapter(server.url, { clock }));
  assert.equal(replyIn(events).content, "ok");
  assert.equal(server.exchanges.length, 3);
  assert.ok(clock.waits.length === 2 && clock.waits.every((wait) => wait >= 3_000), String(clock.waits));

  const spent = impatientClock();
  await using never = await startWireServer(refuse(503, "busy"));
  assert.equal((await askFailure(chatAdapter(never.url, { clock: spent }))).code, "server_error");
  assert.equal(never.exchanges.length, 6);
  assert.deepEqual(spent.waits, [1_000, 2_000, 4_000, 8_000, 16_000]);
});

test("B05: HTTP dates, retry-after-ms and the wording of the body are waits too", async () => {
  const inNineSeconds = new Date(impatientClock().now() + 9_000).toUTCString();
  const forms: readonly (readonly [number, WireHandlerOf])[] = [
    [9_000, refuse(429, "", { "Retry-After": inNineSeconds })],
    [7_500, refuse(503, "", { "retry-after-ms": "7500" })],
    [3_200, refuse(429, error("Please try again in 3.2s."))],
  ];
  for (const [least, handler] of forms) {
    const clock = impatientClock();
    await using server = await startWireServer(handler, sayOk);
    await askReply(chatAdapter(server.url, { clock }));
    assert.ok((clock.waits[0] ?? 0) >= least, String(clock.waits));
  }
});
type WireHandlerOf = ReturnType<typeof refuse>;

test("408, 409, 429, 5xx and 529 are tried again", async () => {
  for (const status of [408, 409, 429, 500, 502, 503, 504, 529]) {
    await using server = await startWireServer(refuse(status, "no"), sayOk);
    assert.equal(retriesIn(await ask(chatAdapter(server.url))).length, 1, String(status));
  }
});

test("B06: an exhausted quota and a wait of an hour stop at once", async () => {
  for (const handler of [
    refuse(429, error("You exceeded your current quota", { code: "insufficient_quota" })),
    refuse(429, error("slow down"), { "Retry-After": "3600" }),
  ]) {
    await using server = await startWireServer(handler);
    assert.equal((await askFailure(chatAdapter(server.url))).code, "quota_exhausted");
    assert.equal(server.exchanges.length, 1);
  }
});

test("B01, B09: refused requests, wrong keys and too long prompts are sent once", async () => {
  const cases = [
    [400, error("nope", { type: "invalid_request_error" }), "bad_request"],
    [401, error("Incorrect API key provided"), "unauthorized"],
    [403, error("not allowed"), "unauthorized"],
    [404, "not found", "bad_request"],
    [400, error("Prompt has 49231 tokens, but ...", { code: "context_length_exceeded" }), "context_overflow"],
  ] as const;
  for (const [status, body, code] of cases) {
    await using server = await startWireServer(refuse(status, body));
    const failure = await askFailure(chatAdapter(server.url));
    assert.deepEqual([failure.code, failure.status, server.exchanges.length], [code, status, 1]);
  }
});

test("A23: a refused stream_options is left out, once, and remembered; usage is then unknown", async () => {
  const strict = async (exchange: WireExchange) => {
    if ("stream_options" in exchange.body) {
      const detail = [
        { type: "extra_forbidden", loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" },
      ];
      exchange.answer(422, { detail });
    } else await sayOk(exchange);
  };
  await using server = await startWireServer(strict);
  const clock = impatientClock();
  const adapter = chatAdapter(server.url, { clock });
  const events = await ask(adapter);
  assert.match(retriesIn(events)[0]?.reason ?? "", /stream_options/);
  assert.deepEqual(replyIn(events).usage, { inputTokens: null, cachedTokens: null, outputTokens: null });
  assert.equal(server.exchanges.length, 2);
  await askReply(adapter);
  assert.equal(server.exchanges.length, 3);
  assert.deepEqual(clock.waits, []);
});

test("A23: the output cap is renamed when its name is refused, and dropped when its value is", async () => {
  const renamed = async (exchange: WireExchange) => {
    if ("max_tokens" in exchange.body) {
      const message =
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
      exchange.answer(400, error(message, { code: "unsupported_parameter", param: "max_tokens" }));
    } else await sayOk(exchange);
  };
  await using first = await startWireServer(renamed);
  await askReply(chatAdapter(first.url));
  assert.equal(first.bodies().at(-1)?.max_completion_tokens, 1_000);

  const tooLarge = refuse(
    400,
    error("max_tokens is too large: 1000. This model supports at most 512 completion tokens", {
      param: "max_tokens",
    }),
  );
  await using second = await startWireServer(tooLarge, sayOk);
  await askReply(chatAdapter(second.url));
  assert.deepEqual(
    ["max_tokens" in (second.bodies()[1] ?? {}), "max_completion_tokens" in (second.bodies()[1] ?? {})],
    [false, false],
  );
});

test("A23: parameters that the operator added are dropped when refused, several one after another", async () => {
  const strict = async (exchange: WireExchange) => {
    const bad = ["temperature", "parallel_tool_calls"].find((name) => name in exchange.body);
    if (bad === undefined) await sayOk(exchange);
    else exchange.answer(400, error(`Unsupported value: '${bad}' does not support this`, { param: bad }));
  };
  await using server = await startWireServer(strict);
  await askReply(chatAdapter(server.url, { parameters: { temperature: 0.7, parallel_tool_calls: true } }));
  assert.equal(server.exchanges.length, 3);
});

test("A23, A13: a refusal inside a 200 stream is repaired as well", async () => {
  await using server = await startWireServer(async (exchange) => {
    exchange.open();
    await exchange.events(error("stream_options is not supported", { code: 400 }));
    exchange.end();
  }, sayOk);
  assert.equal((await askReply(chatAdapter(server.url))).content, "ok");
  assert.equal("stream_options" in (server.bodies()[1] ?? {}), false);
});

const TOOL_ONLY: readonly Message[] = [
  { role: "user", content: "x" },
  {
    role: "assistant",
    content: "",
    calls: [{ id: "c1", name: "read_file", arguments: "{}", extra: { extra_content: { signature: "s" } } }],
    extra: { reasoning_content: "hm" },
  },
  { role: "tool", callId: "c1", name: "read_file", content: "" },
];

test("A24: the content of a tool-only turn is null, or an empty string where null is refused; remembered", async () => {
  const refusesNull = async (exchange: WireExchange) => {
    const messages = exchange.body.messages as readonly { readonly content: unknown }[];
    if (messages.some((message) => message.content === null)) {
      exchange.answer(400, error("invalid message content type: <nil>", { type: "invalid_request_error" }));
    } else await sayOk(exchange);
  };
  await using server = await startWireServer(refusesNull);
  const adapter = chatAdapter(server.url);
  await askReply(adapter, { messages: TOOL_ONLY });
  await askReply(adapter, { messages: TOOL_ONLY });
  assert.equal(server.exchanges.length, 3);

  await using both = await startWireServer(refuse(400, error("content must be a non-empty string")));
  assert.equal((await askFailure(chatAdapter(both.url), { messages: TOOL_ONLY })).code, "bad_request");
  assert.equal(both.exchanges.length, 2);
});

test("A20: fields of the provider go back unchanged, and are left out where they are refused", async () => {
  await using server = await startWireServer(sayOk);
  await askReply(chatAdapter(server.url), { messages: TOOL_ONLY });
  assert.deepEqual(server.messages(1)[1], {
    role: "assistant",
    content: null,
    reasoning_content: "hm",
    tool_calls: [
      {
        id: "c1",
        type: "function",
        function: { name: "read_file", arguments: "{}" },
        extra_content: { signature: "s" },
      },
    ],
  });

  const refusal = refuse(400, error("'messages.1': property 'reasoning_content' is unsupported"));
  await using groq = await startWireServer(refusal, sayOk);
  await askReply(chatAdapter(groq.url), { messages: TOOL_ONLY });
  assert.equal("reasoning_content" in (groq.messages(2)[1] ?? {}), false);
});

test("A22: minted ids pass a server that wants nine letters or digits, on the way out and back", async () => {
  const call = { index: 0, function: { name: "read_file", arguments: "{}" } };
  await using server = await startWireServer(async (exchange) => {
    exchange.open();
    await exchange.events(delta({ tool_calls: [call] }), delta({}, "tool_calls"));
    exchange.end("data: [DONE]\n\n");
  });
  const reply = await askReply(chatAdapter(server.url));
  assert.match(reply.calls[0]?.id ?? "", /^[a-zA-Z0-9]{9}$/);
});

test("two requests that learn the same at the same time both succeed", async () => {
  const strict = async (exchange: WireExchange) => {
    if ("stream_options" in exchange.body) exchange.answer(400, error("unknown field stream_options"));
    else await sayOk(exchange);
  };
  await using server = await startWireServer(strict);
  const adapter = chatAdapter(server.url);
  const replies = await Promise.all([askReply(adapter), askReply(adapter)]);
  assert.deepEqual(
    replies.map((reply) => reply.content),
    ["ok", "ok"],
  );
});

test("a provider that can't be reached is tried again, and named in the failure", async () => {
  const closed = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => closed.once("listening", resolve));
  const { port } = closed.address() as { port: number };
  await new Promise((resolve) => closed.close(resolve));
  const events = await ask(chatAdapter(`http://127.0.0.1:${port}/v1`));
  assert.equal(failureIn(events).code, "unreachable");
  assert.match(failureIn(events).message, new RegExp(`127.0.0.1:${port}.*ECONNREFUSED`));
  assert.equal(retriesIn(events).length, 5);
});

test("a connection that is dropped before the headers is tried again; a wrong address is not", async () => {
  await using server = await startWireServer((exchange) => exchange.drop(), sayOk);
  assert.equal((await askReply(chatAdapter(server.url))).content, "ok");
  const events = await ask(chatAdapter("ftp://127.0.0.1/v1"));
  assert.deepEqual([failureIn(events).code, retriesIn(events).length], ["unreachable", 0]);
});

test("the key goes into the Authorization header and nowhere else; without a key there is no such header", async () => {
  const key = "key-that-must-not-leak";
  const redactor = createRedactor();
  await using server = await startWireServer(refuse(401, error(`Incorrect API key provided: ${key}`)), sayOk);
  const failure = await askFailure(chatAdapter(server.url, { apiKey: key, redactor }));
  assert.equal(server.exchanges[0]?.headers.authorization, `Bearer ${key}`);
  assert.equal(failure.message.includes(key), false);
  assert.equal(JSON.stringify(server.bodies()).includes(key), false);
  await askReply(chatAdapter(server.url, { apiKey: null }));
  assert.equal(server.exchanges[1]?.headers.authorization, undefined);
});
