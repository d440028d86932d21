/** Conformance: streams that break, stall, report an error or are cancelled, on every wire. */

import assert from "node:assert/strict";
import type { ModelEvent } from "#src/model/model.ts";
import {
  ask,
  askFailure,
  failureIn,
  modelRequest,
  replyIn,
  retriesIn,
  textIn,
} from "#test/support/ask-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { startWireServer, type WireExchange } from "#test/support/wire-server.ts";
import { CALL, type Cases, collect, cutting, OK, ONE_TRY, play, replying, saying, stalling } from "./play.ts";

const HALF = { text: "partial", calls: [{ ...CALL, args: '{"pa' }] };
const IDLE_MS = 10_000;

/** The try failed with these words, and the next one gave the reply, alone. */
function assertSecondTry(events: readonly ModelEvent[], words: RegExp): void {
  const retries = retriesIn(events);
  assert.equal(retries.length, 1);
  assert.match(retries[0]?.reason ?? "", words);
  assert.deepEqual([replyIn(events).content, replyIn(events).calls, textIn(events)], ["ok", [], "ok"]);
}

export const ENDING_CASES: Cases = {
  "A14: a stream that closes before any text is a failure": async (wire) => {
    const { events } = await play(wire, [cutting(wire, {})], ONE_TRY);
    assert.ok(["broken_stream", "server_error"].includes(failureIn(events).code));
  },
  "A14: a stream that closes after text and half a call is tried again, and nothing of it stays": async (
    wire,
  ) => {
    const { events } = await play(wire, [cutting(wire, HALF), replying(wire, OK)]);
    assertSecondTry(events, /broke off/);
  },
  "A14: so is a connection that is dropped there": async (wire) => {
    const { events } = await play(wire, [cutting(wire, HALF, "drop"), replying(wire, OK)]);
    assertSecondTry(events, /broke off/);
  },
  "A14: a stream that is always cut ends as broken_stream after six tries": async (wire) => {
    const { events, requests } = await play(wire, [cutting(wire, HALF)]);
    assert.deepEqual([failureIn(events).code, requests, retriesIn(events).length], ["broken_stream", 6, 5]);
  },
  "A14: an event that is cut off in the middle of its JSON is a broken stream": async (wire) => {
    const { content, ending } = wire.events(OK);
    const last = ending[0] ?? "";
    const { events } = await play(
      wire,
      [saying(content.join("") + last.slice(0, Math.floor(last.length / 2)))],
      ONE_TRY,
    );
    assert.equal(failureIn(events).code, "broken_stream");
  },
  "A14: a reply that has its stop reason is accepted when the connection then breaks": async (wire) => {
    const { content, ending } = wire.events({ ...OK, calls: [CALL] });
    const dropping = async (exchange: WireExchange) => {
      exchange.open();
      await exchange.write(content.join("") + (ending[0] ?? ""));
      exchange.drop();
    };
    const { events } = await play(wire, [dropping], ONE_TRY);
    assert.deepEqual([replyIn(events).content, replyIn(events).calls.length], ["ok", 1]);
  },
  "a stream that stays open behind its last event is not waited for": async (wire) => {
    const { content, ending } = wire.events(OK);
    const open = async (exchange: WireExchange) => {
      exchange.open();
      await exchange.write([...content, ...ending].join(""));
    };
    const { events } = await play(wire, [open], ONE_TRY);
    assert.equal(replyIn(events).content, "ok");
  },
  "A13: an error in the middle of a stream ends the try, and its words are in the trace": async (wire) => {
    const broken = saying(wire.events(HALF).content.join("") + wire.errorEvent("overloaded"));
    assertSecondTry((await play(wire, [broken, replying(wire, OK)])).events, /overloaded/);
  },
  "A13: an error instead of the first event is a failed try too": async (wire) => {
    const { events } = await play(wire, [saying(wire.errorEvent("rate_limited")), replying(wire, OK)]);
    assertSecondTry(events, /slow down/);
  },
  "A13: an error event with a code of null, and one that is plain text, are failures": async (wire) => {
    for (const event of [
      'event: error\ndata: {"error":{"code":null,"message":"provider unavailable"}}\n\n',
      "event: error\ndata: provider unavailable\n\n",
    ]) {
      const { events } = await play(wire, [saying(event)], ONE_TRY);
      assert.equal(failureIn(events).code, "server_error");
      assert.match(failureIn(events).message, /provider unavailable/);
    }
  },
  "A13, B01, B06, B09: errors inside a stream are told apart, and the hopeless ones are not repeated": async (
    wire,
  ) => {
    for (const [kind, code] of [
      ["overflow", "context_overflow"],
      ["overflow_in_words", "context_overflow"],
      ["quota", "quota_exhausted"],
      ["unauthorized", "unauthorized"],
      ["bad_request", "bad_request"],
    ] as const) {
      const { events, requests } = await play(wire, [saying(wire.errorEvent(kind))]);
      assert.deepEqual([failureIn(events).code, requests], [code, 1], kind);
    }
  },
  "A16: data that is no JSON is a provider error that shows it, tried again": async (wire) => {
    const { events } = await play(wire, [saying("data: upstream went away\n\n"), replying(wire, OK)]);
    assertSecondTry(events, /not JSON: upstream went away/);
  },
  "an answer that is no such API at all is a failure that says where to look": async (wire) => {
    for (const body of ["<html>Please sign in</html>", "", "{", "hello", "{}"]) {
      await using server = await startWireServer((exchange) => exchange.answer(200, body));
      const failure = await askFailure(wire.adapter(server.url, ONE_TRY));
      assert.ok(["server_error", "broken_stream"].includes(failure.code), body);
      if (body.startsWith("<") || body === "") assert.match(failure.message, /base URL/);
    }
  },
  "A17: a stream kept open by comments and pings is given up when nothing that counts came in time": async (
    wire,
  ) => {
    const clock = createManualClock();
    let stalled: WireExchange | undefined;
    await using server = await startWireServer(
      stalling(wire, { text: "one" }, (exchange) => {
        stalled = exchange;
      }),
      replying(wire, OK),
    );
    const model = wire.adapter(server.url, { clock, idleTimeoutMs: IDLE_MS });
    const { events, finished, first } = collect(model, modelRequest());
    await first("text");
    for (let second = 0; second < 9; second++) {
      await stalled?.write(wire.noise.join(""));
      await clock.advance(1_000);
    }
    assert.equal(retriesIn(events).length, 0);
    await clock.advance(1_000);
    await first("retry");
    assert.match(retriesIn(events)[0]?.reason ?? "", /nothing for 10 s/);
    await stalled?.closed;
    await clock.waitForTimers(1);
    await clock.advance(1_000);
    await finished;
    assert.equal(replyIn(events).content, "ok");
  },
  "A17: a server that never answers is given up too, before any header": async (wire) => {
    const clock = createManualClock();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    await using server = await startWireServer(() => resolve());
    const model = wire.adapter(server.url, { clock, idleTimeoutMs: IDLE_MS, ...ONE_TRY });
    const { events, finished } = collect(model, modelRequest());
    await asked;
    await clock.advance(IDLE_MS);
    await finished;
    assert.equal(failureIn(events).code, "stalled");
    await server.exchanges[0]?.closed;
  },
  "A17: a consumer that takes its time is not the provider's stall": async (wire) => {
    const clock = createManualClock();
    await using server = await startWireServer(replying(wire, OK));
    const types: string[] = [];
    const model = wire.adapter(server.url, { clock, idleTimeoutMs: IDLE_MS });
    for await (const event of model.stream(modelRequest())) {
      types.push(event.type);
      await clock.advance(60_000);
    }
    assert.deepEqual(types, ["text", "done"]);
  },
  "a cancel in the middle ends the stream at once, frees the connection and is not tried again": async (
    wire,
  ) => {
    const controller = new AbortController();
    await using server = await startWireServer(stalling(wire, { text: "one" }));
    const model = wire.adapter(server.url);
    const { events, finished, first } = collect(model, modelRequest({ signal: controller.signal }));
    await first("text");
    controller.abort(new Error("cancelled by octocat"));
    await finished;
    const { code, message } = failureIn(events);
    assert.deepEqual([code, message], ["cancelled", "Cancelled: cancelled by octocat"]);
    await server.exchanges[0]?.closed;
    assert.equal(server.exchanges.length, 1);
  },
  "a cancel before the first header ends the request; one before the start sends none": async (wire) => {
    const controller = new AbortController();
    await using server = await startWireServer(() => controller.abort());
    const model = wire.adapter(server.url);
    assert.equal((await askFailure(model, { signal: controller.signal })).code, "cancelled");
    assert.equal((await askFailure(model, { signal: controller.signal })).code, "cancelled");
    assert.equal(server.exchanges.length, 1);
  },
  "a cancel while it waits to try again ends the wait": async (wire) => {
    const clock = createManualClock();
    const controller = new AbortController();
    await using server = await startWireServer((exchange) => exchange.answer(503, "busy"));
    const model = wire.adapter(server.url, { clock });
    const { events, finished, first } = collect(model, modelRequest({ signal: controller.signal }));
    await first("retry");
    controller.abort(new Error("by octocat"));
    await finished;
    assert.deepEqual([failureIn(events).code, server.exchanges.length], ["cancelled", 1]);
  },
  "a consumer that stops reading frees the connection": async (wire) => {
    await using server = await startWireServer(stalling(wire, { text: "one two three" }));
    for await (const event of wire.adapter(server.url).stream(modelRequest())) {
      assert.equal(event.type, "text");
      break;
    }
    await server.exchanges[0]?.closed;
  },
  "connections are used again after a reply": async (wire) => {
    const ports = new Set<string>();
    const note = (exchange: WireExchange) => {
      ports.add(exchange.connection);
      return replying(wire, OK)(exchange);
    };
    await using server = await startWireServer(note);
    const model = wire.adapter(server.url);
    for (let turn = 0; turn < 6; turn++) await ask(model);
    // A turn that begins before the last one's end was read takes a second connection.
    assert.ok(ports.size < 6, `${ports.size} connections for 6 turns`);
  },
};
