/** What only chat completions do: optional `[DONE]`, stream_options, two names of the output cap, and strict templates. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "#src/model/model.ts";
import { ask, askFailure, askReply, modelRequest, replyIn, retriesIn } from "#test/support/ask-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { delta, startWireServer, type WireExchange } from "#test/support/wire-server.ts";
import { chatAdapter, impatientClock } from "./chat-adapter.ts";
import { collect, ONE_TRY, saying } from "./wires/play.ts";

/** A good stream. */
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

test("A16: data that is no JSON is a provider error that shows it, tried again, with nothing printed", async () => {
  const printed: unknown[] = [];
  const { write } = process.stderr;
  process.stderr.write = (chunk: unknown) => printed.push(chunk) > 0;
  await using server = await startWireServer(saying("data: upstream went away\n\n"), sayOk);
  const events = await ask(chatAdapter(server.url)).finally(() => {
    process.stderr.write = write;
  });
  assert.match(retriesIn(events)[0]?.reason ?? "", /not JSON: upstream went away/);
  assert.equal(replyIn(events).content, "ok");
  assert.deepEqual(printed, []);
});

test("A14: a reply that has its finish reason is accepted without [DONE], also when the socket is then dropped", async () => {
  for (const close of [
    (exchange: WireExchange) => exchange.end(),
    (exchange: WireExchange) => exchange.drop(),
  ]) {
    await using server = await startWireServer(async (exchange) => {
      exchange.open();
      await exchange.events(delta({ content: "ok" }), delta({}, "stop"));
      close(exchange);
    });
    assert.equal((await askReply(chatAdapter(server.url, ONE_TRY))).content, "ok");
  }
});

test("a stream that stays open after its finish reason is accepted when the time is up", async () => {
  const clock = createManualClock();
  await using server = await startWireServer(async (exchange) => {
    exchange.open();
    await exchange.events(delta({ content: "ok" }, "stop"));
  });
  const { events, finished, first } = collect(
    chatAdapter(server.url, { clock, idleTimeoutMs: 5_000 }),
    modelRequest(),
  );
  await first("text");
  await clock.waitForTimers(1);
  await clock.advance(5_000);
  await finished;
  assert.equal(replyIn(events).content, "ok");
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

const NOTICES: readonly Message[] = [
  { role: "system", content: "s" },
  { role: "user", content: "Fix it." },
  { role: "user", content: "Please." },
  { role: "assistant", content: "", calls: [{ id: "c1", name: "read_file", arguments: "{}" }] },
  { role: "tool", callId: "c1", name: "read_file", content: "1: x" },
  { role: "user", content: "Time to wrap up." },
  { role: "assistant", content: "Done?", calls: [] },
  { role: "user", content: "Go on." },
];
const roles = (messages: readonly Readonly<Record<string, unknown>>[]) =>
  messages.map(({ role, content }) => [role, content]);

test("user messages are folded for a server that wants roles to alternate, and for no other", async () => {
  for (const [status, body] of [
    [400, error("Conversation roles must alternate user/assistant/user/assistant/...")],
    [400, { object: "error", message: "Unexpected role 'user' after role 'tool'", code: "3230" }],
    [
      400,
      error('messages: roles must alternate between "user" and "assistant", but found multiple "user" roles'),
    ],
    [
      500,
      error("Jinja Exception: After the optional system message, roles must alternate user and assistant"),
    ],
  ] as const) {
    const strict = async (exchange: WireExchange) => {
      if (exchange.n === 1) exchange.answer(status, body);
      else await sayOk(exchange);
    };
    await using server = await startWireServer(strict);
    const adapter = chatAdapter(server.url);
    assert.match(retriesIn(await ask(adapter, { messages: NOTICES }))[0]?.reason ?? "", /alternate/);
    await askReply(adapter, { messages: NOTICES });
    assert.equal(server.exchanges.length, 3);
    assert.equal(server.messages(1).length, NOTICES.length);
    for (const n of [2, 3]) {
      assert.deepEqual(roles(server.messages(n)), [
        ["system", "s"],
        ["user", "Fix it.\n\nPlease."],
        ["assistant", null],
        ["tool", "1: x\n\nTime to wrap up."],
        ["assistant", "Done?"],
        ["user", "Go on."],
      ]);
    }
  }
});

test("B09: a server that refuses the order of messages which need no folding is asked once", async () => {
  await using server = await startWireServer(refuse(400, error("roles must alternate")));
  assert.equal((await askFailure(chatAdapter(server.url))).code, "bad_request");
  assert.equal(server.exchanges.length, 1);
});
