import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelEvent } from "#src/model/model.ts";
import {
  ask,
  askFailure,
  askReply,
  failureIn,
  modelRequest,
  replyIn,
  retriesIn,
  textIn,
} from "#test/support/ask-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { callDelta, delta, startWireServer, type WireExchange } from "#test/support/wire-server.ts";
import { chatAdapter, impatientClock } from "./chat-adapter.ts";

const ONE_TRY = { tries: 1, firstDelayMs: 1, maxDelayMs: 1 };

/** A good stream. */
async function sayOk(exchange: WireExchange): Promise<void> {
  exchange.open();
  await exchange.events(delta({ content: "ok" }), delta({}, "stop"));
  exchange.end("data: [DONE]\n\n");
}

/** A stream of exactly these bytes, one HTTP chunk per piece. */
function stream(...pieces: readonly (string | Uint8Array)[]) {
  return async (exchange: WireExchange) => {
    exchange.open();
    for (const piece of pieces) await exchange.write(piece);
    exchange.end();
  };
}

const CALL = callDelta({
  index: 0,
  id: "call_1",
  type: "function",
  function: { name: "read_file", arguments: '{"path":"那🌍"}' },
});
const WHOLE = [delta({ content: "let me look" }), CALL, delta({}, "tool_calls"), "[DONE]"]
  .map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`)
  .join("");

test("A29, A30: byte by byte, with every kind of line end, the reply is the same", async () => {
  for (const form of [
    WHOLE,
    WHOLE.replaceAll("\n", "\r\n"),
    WHOLE.replaceAll("\n", "\r"),
    WHOLE.replaceAll("\n\n", "\n\r\n"),
  ]) {
    const bytes = [...Buffer.from(form)].map((byte) => Uint8Array.of(byte));
    await using server = await startWireServer(stream(...bytes));
    const reply = await askReply(chatAdapter(server.url));
    assert.equal(reply.content, "let me look");
    assert.deepEqual(reply.calls, [{ id: "call_1", name: "read_file", arguments: '{"path":"那🌍"}' }]);
  }
});

test("A16: keep-alive comments, bare and wrapped as data, are ignored", async () => {
  const noise = ": OPENROUTER PROCESSING\n\n:\n\ndata: : PROCESSING\n\n";
  await using server = await startWireServer(stream(noise, WHOLE.replaceAll("\n\n", `\n\n${noise}`)));
  assert.equal((await askReply(chatAdapter(server.url))).calls.length, 1);
});

test("A16: data that is no JSON is a provider error that shows it, tried again, with nothing printed", async () => {
  const printed: unknown[] = [];
  const { write } = process.stderr;
  process.stderr.write = (chunk: unknown) => printed.push(chunk) > 0;
  await using server = await startWireServer(stream("data: upstream went away\n\n"), sayOk);
  const events = await ask(chatAdapter(server.url)).finally(() => {
    process.stderr.write = write;
  });
  assert.match(retriesIn(events)[0]?.reason ?? "", /not JSON: upstream went away/);
  assert.equal(replyIn(events).content, "ok");
  assert.deepEqual(printed, []);
});

test("A13: an error inside the stream ends the try; its partial call is dropped and its words are in the trace", async () => {
  const half = callDelta({ index: 0, id: "c", function: { name: "read_file", arguments: '{"pa' } });
  for (const error of [
    { code: 502, message: "provider unavailable" },
    { code: null, message: "provider unavailable" },
  ]) {
    const broken = async (exchange: WireExchange) => {
      exchange.open();
      await exchange.events(delta({ content: "hm" }), half, { choices: [], error });
      exchange.end("data: [DONE]\n\n");
    };
    await using server = await startWireServer(broken, sayOk);
    const events = await ask(chatAdapter(server.url));
    assert.match(retriesIn(events)[0]?.reason ?? "", /provider unavailable/);
    assert.deepEqual([replyIn(events).content, replyIn(events).calls, textIn(events)], ["ok", [], "ok"]);
  }
});

test("A13: an error event whose data is no object is shown as it is", async () => {
  await using server = await startWireServer(stream("event: error\ndata: out of memory\n\n"));
  const failure = await askFailure(chatAdapter(server.url, { retry: ONE_TRY }));
  assert.equal(failure.code, "server_error");
  assert.match(failure.message, /out of memory/);
});

test("A14: a stream that closes without a finish reason is tried again, and in the end a failure", async () => {
  const cut = async (exchange: WireExchange) => {
    exchange.open();
    await exchange.events(
      delta({ content: "par" }),
      delta({ content: "tial" }),
      callDelta({ index: 0, id: "c", function: { name: "read_file", arguments: '{"p' } }),
    );
    if (exchange.n % 2 === 0) exchange.drop();
    else exchange.end();
  };
  await using server = await startWireServer(cut);
  const events = await ask(chatAdapter(server.url));
  assert.equal(failureIn(events).code, "broken_stream");
  assert.equal(retriesIn(events).length, 5);
  assert.equal(server.exchanges.length, 6);
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
    assert.equal((await askReply(chatAdapter(server.url, { retry: ONE_TRY }))).content, "ok");
  }
});

test("A14: an event that is cut off in the middle of its JSON is a broken stream", async () => {
  await using server = await startWireServer(
    stream('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"choi'),
  );
  assert.equal((await askFailure(chatAdapter(server.url, { retry: ONE_TRY }))).code, "broken_stream");
});

/** Collects while the test moves the clock. */
function collect(iterable: AsyncIterable<ModelEvent>) {
  const events: ModelEvent[] = [];
  const seen = new Map<string, () => void>();
  const finished = (async () => {
    for await (const event of iterable) {
      events.push(event);
      seen.get(event.type)?.();
    }
  })();
  const first = (type: ModelEvent["type"]) =>
    new Promise<void>((resolve) => {
      if (events.some((event) => event.type === type)) resolve();
      else seen.set(type, resolve);
    });
  return { events, finished, first };
}

test("A17: a stream kept open by comments is given up when nothing that counts has arrived in time", async () => {
  const clock = createManualClock();
  let stalled: WireExchange | undefined;
  await using server = await startWireServer(async (exchange) => {
    stalled = exchange;
    exchange.open();
    await exchange.events(delta({ content: "one" }));
  }, sayOk);
  const { events, finished, first } = collect(
    chatAdapter(server.url, { clock, idleTimeoutMs: 10_000 }).stream(modelRequest()),
  );
  await first("text");
  for (let second = 0; second < 9; second++) {
    await stalled?.write(": ping\n\n");
    await stalled?.events({ choices: [] });
    await clock.advance(1_000);
  }
  assert.equal(retriesIn(events).length, 0);
  await clock.advance(1_000);
  await first("retry");
  assert.match(retriesIn(events)[0]?.reason ?? "", /nothing for 10 s/);
  await stalled?.closed;
  await clock.advance(1_000);
  await finished;
  assert.equal(replyIn(events).content, "ok");
});

test("A17: a server that never answers is given up too, before any header", async () => {
  const clock = createManualClock();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  await using server = await startWireServer(() => resolve());
  const { events, finished } = collect(
    chatAdapter(server.url, { clock, idleTimeoutMs: 10_000, retry: ONE_TRY }).stream(modelRequest()),
  );
  await asked;
  await clock.advance(10_000);
  await finished;
  assert.equal(failureIn(events).code, "stalled");
  await server.exchanges[0]?.closed;
});

test("A17: a consumer that takes its time is not the provider's stall", async () => {
  const clock = createManualClock();
  await using server = await startWireServer(sayOk);
  const types: string[] = [];
  for await (const event of chatAdapter(server.url, { clock, idleTimeoutMs: 10_000 }).stream(
    modelRequest(),
  )) {
    types.push(event.type);
    await clock.advance(60_000);
  }
  assert.deepEqual(types, ["text", "done"]);
});

test("a stream that stays open after its finish reason is accepted when the time is up", async () => {
  const clock = createManualClock();
  await using server = await startWireServer(async (exchange) => {
    exchange.open();
    await exchange.events(delta({ content: "ok" }, "stop"));
  });
  const { events, finished, first } = collect(
    chatAdapter(server.url, { clock, idleTimeoutMs: 5_000 }).stream(modelRequest()),
  );
  await first("text");
  await clock.waitForTimers(1);
  await clock.advance(5_000);
  await finished;
  assert.equal(replyIn(events).content, "ok");
});

test("a cancel in the middle of a stream ends it at once, frees the connection and is not tried again", async () => {
  const controller = new AbortController();
  await using server = await startWireServer(async (exchange) => {
    exchange.open();
    await exchange.events(delta({ content: "one" }));
  });
  const { events, finished, first } = collect(
    chatAdapter(server.url).stream(modelRequest({ signal: controller.signal })),
  );
  await first("text");
  controller.abort(new Error("cancelled by octocat"));
  await finished;
  assert.deepEqual(
    [failureIn(events).code, failureIn(events).message],
    ["cancelled", "Cancelled: cancelled by octocat"],
  );
  await server.exchanges[0]?.closed;
  assert.equal(server.exchanges.length, 1);
});

test("a cancel before the first header ends the request; one before the start sends none", async () => {
  const controller = new AbortController();
  await using server = await startWireServer(() => controller.abort());
  const adapter = chatAdapter(server.url);
  assert.equal((await askFailure(adapter, { signal: controller.signal })).code, "cancelled");
  assert.equal((await askFailure(adapter, { signal: controller.signal })).code, "cancelled");
  assert.equal(server.exchanges.length, 1);
});

test("a consumer that stops reading frees the connection", async () => {
  await using server = await startWireServer(async (exchange) => {
    exchange.open();
    await exchange.events(delta({ content: "one" }), delta({ content: "two" }));
  });
  for await (const event of chatAdapter(server.url).stream(modelRequest())) {
    assert.equal(event.type, "text");
    break;
  }
  await server.exchanges[0]?.closed;
});

test("A10, A18, A20: calls with finish reason stop run, a cut reply is truncated, reasoning is streamed and kept", async () => {
  const handlers = ["stop", "length"].map((finish) => async (exchange: WireExchange) => {
    exchange.open();
    await exchange.events(delta({ reasoning_content: "hm" }), CALL, delta({}, finish));
    exchange.end("data: [DONE]\n\n");
  });
  await using server = await startWireServer(...handlers);
  const adapter = chatAdapter(server.url);
  const events = await ask(adapter);
  assert.deepEqual(events[0], { type: "reasoning", text: "hm" });
  assert.deepEqual([replyIn(events).finish, replyIn(events).calls.length], ["complete", 1]);
  assert.deepEqual(replyIn(events).extra, { reasoning_content: "hm" });
  assert.equal((await askReply(adapter)).finish, "truncated");
});

test("A04: an id that the transcript has already is replaced", async () => {
  await using server = await startWireServer(stream(WHOLE));
  const messages = [
    { role: "user", content: "x" },
    { role: "assistant", content: "", calls: [{ id: "call_1", name: "read_file", arguments: "{}" }] },
    { role: "tool", callId: "call_1", name: "read_file", content: "x" },
  ] as const;
  assert.match((await askReply(chatAdapter(server.url), { messages })).calls[0]?.id ?? "", /^minted\d{3}$/);
});

test("a server that answers with one document instead of a stream is understood", async () => {
  const message = { role: "assistant", content: "hello", reasoning_content: "hm" };
  await using server = await startWireServer((exchange) =>
    exchange.answer(200, {
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: { prompt_tokens: 3 },
    }),
  );
  const events = await ask(chatAdapter(server.url));
  assert.equal(textIn(events), "hello");
  assert.equal(replyIn(events).usage.inputTokens, 3);
});

test("an answer that is no chat completion at all is a failure that says so", async () => {
  for (const body of ["<html>Please sign in</html>", "", "{", "hello"]) {
    await using server = await startWireServer((exchange) => exchange.answer(200, body));
    const failure = await askFailure(chatAdapter(server.url, { retry: ONE_TRY }));
    assert.equal(failure.code, "server_error", body);
    assert.match(failure.message, /base URL/);
  }
});

test("connections are used again after a reply", async () => {
  const ports = new Set<string>();
  const note = async (exchange: WireExchange) => {
    ports.add(exchange.connection);
    await sayOk(exchange);
  };
  await using server = await startWireServer(note);
  const adapter = chatAdapter(server.url, { clock: impatientClock() });
  for (let turn = 0; turn < 6; turn++) await askReply(adapter);
  // A turn that begins before the last one's end was read takes a second connection.
  assert.ok(ports.size < 6, `${ports.size} connections for 6 turns`);
});
