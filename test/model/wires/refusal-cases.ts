/** Conformance: refusals, retries and what cannot be reached, on every wire. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { createRedactor } from "#src/base/redact.ts";
import {
  ask,
  askFailure,
  askReply,
  failureIn,
  modelRequest,
  replyIn,
  retriesIn,
} from "#test/support/ask-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { startWireServer, type WireExchange } from "#test/support/wire-server.ts";
import { impatientClock } from "../chat-adapter.ts";
import { answering, type Cases, collect, OK, ONE_TRY, play, refusing, replying } from "./play.ts";
import type { ErrorKind, Wire } from "./wire.ts";

/** Asked once, answered with this error: the failure's code, and that nobody asked again. */
async function assertOnce(wire: Wire, kind: ErrorKind, code: string): Promise<void> {
  const { events, requests } = await play(wire, [refusing(wire, kind)]);
  assert.deepEqual([failureIn(events).code, requests], [code, 1]);
}

async function waitsAfter(wire: Wire, handler: (exchange: WireExchange) => void): Promise<readonly number[]> {
  const clock = impatientClock();
  const { events } = await play(wire, [handler, replying(wire, OK)], { clock });
  assert.equal(replyIn(events).content, "ok");
  return clock.waits;
}

/** A server that refuses requests with this member, anywhere in them. */
function strictAbout(wire: Wire, member: string) {
  return (exchange: WireExchange) => {
    if (!(member in exchange.body)) return replying(wire, OK)(exchange);
    exchange.answer(400, { error: { message: `Unrecognized request argument: ${member}`, param: member } });
    return undefined;
  };
}

export const REFUSAL_CASES: Cases = {
  "a wrong key is reported once": (wire) => assertOnce(wire, "unauthorized", "unauthorized"),
  "a key without the right is reported once": async (wire) => {
    const { events, requests } = await play(wire, [
      answering(403, { error: { message: "not for you", type: "permission_error" } }),
    ]);
    const { code, status } = failureIn(events);
    assert.deepEqual([code, status, requests], ["unauthorized", 403, 1]);
  },
  "B09: a malformed request is sent once": (wire) => assertOnce(wire, "bad_request", "bad_request"),
  "B09: an unknown model or path is asked for once, and the advice fits": async (wire) => {
    for (const body of [
      "404 page not found",
      { error: { type: "not_found_error", message: "model: gpt-x" } },
    ]) {
      const { events, requests } = await play(wire, [answering(404, body)]);
      const { code, message } = failureIn(events);
      assert.deepEqual([code, requests], ["bad_request", 1]);
      assert.match(message, /model's name/);
    }
  },
  "B01: a context overflow is known by its code": (wire) => assertOnce(wire, "overflow", "context_overflow"),
  "B01: a context overflow is known by its wording": (wire) =>
    assertOnce(wire, "overflow_in_words", "context_overflow"),
  "B01: a body that is too large for the server is an overflow": async (wire) => {
    const { events, requests } = await play(wire, [answering(413, "Request Entity Too Large")]);
    assert.deepEqual([failureIn(events).code, requests], ["context_overflow", 1]);
  },
  "B06: an exhausted quota stops at once": (wire) => assertOnce(wire, "quota", "quota_exhausted"),
  "B06: so do no credit and a spending limit, whatever their status": async (wire) => {
    for (const [status, body] of [
      [402, "Payment Required"],
      [400, { error: { type: "invalid_request_error", message: "Your credit balance is too low" } }],
      [429, { error: { details: { error_code: "enforced_spend_limit_reached" }, message: "no more" } }],
    ] as const) {
      const { events, requests } = await play(wire, [answering(status, body)]);
      assert.deepEqual([failureIn(events).code, requests], ["quota_exhausted", 1], String(status));
    }
  },
  "B06: a provider that asks for an hour is not waited for": async (wire) => {
    const { events, requests } = await play(wire, [
      refusing(wire, "rate_limited", { "Retry-After": "3600" }),
    ]);
    assert.deepEqual([failureIn(events).code, requests], ["quota_exhausted", 1]);
  },
  "a limit per minute on input is throttling, not an overflow": async (wire) => {
    const message =
      "This request would exceed your organization's rate limit of 30,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested, or try again later.";
    const { events } = await play(
      wire,
      [answering(429, { type: "error", error: { type: "rate_limit_error", message } })],
      ONE_TRY,
    );
    assert.equal(failureIn(events).code, "rate_limited");
  },
  "408, 409, 429, 5xx and 529 are tried again": async (wire) => {
    for (const status of [408, 409, 429, 500, 502, 503, 504, 529]) {
      const { events } = await play(wire, [answering(status, "no"), replying(wire, OK)]);
      assert.equal(retriesIn(events).length, 1, String(status));
      assert.equal(replyIn(events).content, "ok");
    }
  },
  "an overloaded provider is tried again in its own words": async (wire) => {
    const { events } = await play(wire, [refusing(wire, "overloaded"), replying(wire, OK)]);
    assert.match(retriesIn(events)[0]?.reason ?? "", /overloaded/);
  },
  "B05: six tries in all; the waits double": async (wire) => {
    const clock = impatientClock();
    const { events, requests } = await play(wire, [answering(503, "busy")], { clock });
    assert.deepEqual([failureIn(events).code, requests], ["server_error", 6]);
    assert.deepEqual(clock.waits, [1_000, 2_000, 4_000, 8_000, 16_000]);
  },
  "B05: Retry-After in seconds is the least wait": async (wire) => {
    const [wait = 0] = await waitsAfter(wire, refusing(wire, "rate_limited", { "Retry-After": "3" }));
    assert.ok(wait >= 3_000, String(wait));
  },
  "B05: so is a date, and retry-after-ms": async (wire) => {
    const date = new Date(impatientClock().now() + 9_000).toUTCString();
    const [byDate = 0] = await waitsAfter(wire, refusing(wire, "rate_limited", { "Retry-After": date }));
    assert.ok(byDate >= 9_000, String(byDate));
    const [byMs = 0] = await waitsAfter(wire, refusing(wire, "overloaded", { "retry-after-ms": "7500" }));
    assert.ok(byMs >= 7_500, String(byMs));
  },
  "B05: so is the wait that the body names": async (wire) => {
    const body = { error: { message: "Rate limit reached. Please try again in 3.2s." } };
    const [wait = 0] = await waitsAfter(wire, answering(429, body));
    assert.ok(wait >= 3_200, String(wait));
  },
  "a provider that forbids another try gets none": async (wire) => {
    const { events, requests } = await play(wire, [answering(503, "no", { "x-should-retry": "false" })]);
    assert.deepEqual([failureIn(events).code, requests], ["server_error", 1]);
  },
  "each further try is announced before its wait: number, of how many, wait and reason": async (wire) => {
    const clock = createManualClock();
    await using server = await startWireServer(refusing(wire, "rate_limited"), replying(wire, OK));
    const { events, finished, first } = collect(wire.adapter(server.url, { clock }), modelRequest());
    await first("retry");
    const [retry] = retriesIn(events);
    assert.deepEqual([retry?.attempt, retry?.of, retry?.waitMs], [1, 6, 1_000]);
    assert.match(retry?.reason ?? "", /slow down/);
    await clock.waitForTimers(1);
    await clock.advance(999);
    assert.equal(server.exchanges.length, 1);
    await clock.advance(1);
    await finished;
    assert.equal(server.exchanges.length, 2);
  },
  "an error page of a proxy is told in a few words, without its mark-up": async (wire) => {
    const page = `<html><style>body{color:red}</style><h1>502 Bad Gateway</h1>${"<p>nginx</p>".repeat(500)}`;
    const { events } = await play(wire, [answering(502, page)], ONE_TRY);
    const { message } = failureIn(events);
    assert.match(message, /502 Bad Gateway/);
    assert.ok(message.length < 1_200 && !message.includes("<"), message.slice(0, 100));
  },
  "an error in another form (FastAPI's detail, vLLM's flat object) keeps its words": async (wire) => {
    for (const body of [{ detail: "the pool is empty" }, { object: "error", message: "the pool is empty" }]) {
      const { events } = await play(wire, [answering(500, body)], ONE_TRY);
      assert.match(failureIn(events).message, /the pool is empty/);
    }
  },
  "a provider that can't be reached is tried again, and named in the failure": async (wire) => {
    const closed = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => closed.once("listening", resolve));
    const { port } = closed.address() as { port: number };
    await new Promise((resolve) => closed.close(resolve));
    const events = await ask(wire.adapter(`http://127.0.0.1:${port}/v1`));
    assert.equal(failureIn(events).code, "unreachable");
    assert.match(failureIn(events).message, new RegExp(`127.0.0.1:${port}.*ECONNREFUSED`));
    assert.equal(retriesIn(events).length, 5);
  },
  "a connection that is dropped before the headers is tried again; a wrong address is not": async (wire) => {
    const { events } = await play(wire, [(exchange) => exchange.drop(), replying(wire, OK)]);
    assert.equal(replyIn(events).content, "ok");
    const wrong = await ask(wire.adapter("ftp://127.0.0.1/v1"));
    assert.deepEqual([failureIn(wrong).code, retriesIn(wrong).length], ["unreachable", 0]);
  },
  "the key goes into the Authorization header and nowhere else; it is in no message": async (wire) => {
    const apiKey = "key-that-must-not-leak";
    const redactor = createRedactor();
    await using server = await startWireServer(
      answering(401, { error: { message: `Incorrect key: ${apiKey}` } }),
    );
    const failure = await askFailure(wire.adapter(server.url, { apiKey, redactor }));
    const { headers, body } = server.exchanges[0] as WireExchange;
    assert.equal(headers.authorization, `Bearer ${apiKey}`);
    assert.equal(Object.values(headers).join().split(apiKey).length, 2);
    assert.equal((JSON.stringify(body) + failure.message).includes(apiKey), false);
  },
  "without a key there is no such header": async (wire) => {
    await using server = await startWireServer(replying(wire, OK));
    await askReply(wire.adapter(server.url, { apiKey: null }));
    assert.equal(server.exchanges[0]?.headers.authorization, undefined);
    assert.equal(server.exchanges[0]?.headers["x-api-key"], undefined);
  },
  "A23: an optional parameter that is refused is left out, once, at once, and remembered": async (wire) => {
    await using server = await startWireServer(strictAbout(wire, "temperature"));
    const clock = impatientClock();
    const model = wire.adapter(server.url, { clock, parameters: { temperature: 0.5 } });
    assert.match(retriesIn(await ask(model))[0]?.reason ?? "", /temperature/);
    assert.deepEqual([server.exchanges.length, clock.waits], [2, []]);
    await askReply(model);
    assert.equal(server.exchanges.length, 3);
  },
  "A23: two requests that learn the same at the same time both succeed": async (wire) => {
    await using server = await startWireServer(strictAbout(wire, "top_k"));
    const model = wire.adapter(server.url, { parameters: { top_k: 5 } });
    const replies = await Promise.all([askReply(model), askReply(model)]);
    assert.deepEqual(
      replies.map((reply) => reply.content),
      ["ok", "ok"],
    );
  },
  "B09, A23: a refusal that stays the same after the repair ends the request": async (wire) => {
    const stubborn = answering(400, {
      error: { message: "temperature is not supported", param: "temperature" },
    });
    const { events, requests } = await play(wire, [stubborn], { parameters: { temperature: 0.5 } });
    assert.deepEqual([failureIn(events).code, requests], ["bad_request", 2]);
  },
};
