/** Counting a trace, and what its tokens cost. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { costUsd } from "#src/trace/prices.ts";
import { summarise } from "#src/trace/summary.ts";
import type { TraceEvent } from "#src/trace/trace.ts";
import { FULL } from "#test/support/tier.ts";
import { event, sampleRun, TYPES } from "./sample.ts";

const PRICE = { input: 2, cached: 0.2, output: 8 };

suite("prices", () => {
  test("uncached and cached input are priced apart, per million tokens", () => {
    const usage = { inputTokens: 1_000_000, cachedTokens: 250_000, outputTokens: 100_000 };
    assert.equal(costUsd(usage, PRICE), 0.75 * 2 + 0.25 * 0.2 + 0.1 * 8);
  });

  test("A23: an unknown price or unreported usage is unknown, not free", () => {
    assert.equal(costUsd({ inputTokens: 1, cachedTokens: 0, outputTokens: 1 }, null), null);
    assert.equal(costUsd({ inputTokens: null, cachedTokens: null, outputTokens: 5 }, PRICE), null);
    assert.equal(costUsd({ inputTokens: 5, cachedTokens: null, outputTokens: null }, PRICE), null);
    assert.equal(costUsd({ inputTokens: 1_000_000, cachedTokens: null, outputTokens: 0 }, PRICE), 2);
  });

  test("the cost never falls below that of a wholly cached input nor rises above that of an uncached one", () => {
    const tokens = fc.nat(10_000_000);
    fc.assert(
      fc.property(tokens, tokens, tokens, (inputTokens, cachedTokens, outputTokens) => {
        const cost = costUsd({ inputTokens, cachedTokens, outputTokens }, PRICE) ?? Number.NaN;
        const output = (outputTokens * PRICE.output) / 1e6;
        assert.ok(cost >= (inputTokens * PRICE.cached) / 1e6 + output - 1e-9);
        assert.ok(cost <= (inputTokens * PRICE.input) / 1e6 + output + 1e-9);
      }),
      { numRuns: FULL ? 10_000 : 1000 },
    );
  });
});

function reply(data: object): TraceEvent {
  const base = event("model_reply", { turn: 1 });
  return { ...base, data: { ...base.data, ...data } as TraceEvent["data"] };
}

suite("summary", () => {
  test("turns, calls by tool, tokens, cost, times, retries and the stop of a run", () => {
    assert.deepEqual(summarise(sampleRun()), {
      turns: 2,
      toolCalls: { read_file: { ok: 2, errors: 0 }, edit_file: { ok: 0, errors: 1 } },
      tokens: { input: 4000, cached: 3000, output: 80, unknown: false },
      costUsd: 0.0021,
      wallMs: 13_000,
      modelMs: 3000,
      retries: 1,
      stop: "done",
    });
  });

  test("sub-agents and hand-over notes cost money and time, but are no turns and no calls of the run", () => {
    const parent = "call00009";
    const within = (["model_request", "model_reply", "tool_call", "tool_result", "stop"] as const).map(
      (type) => event(type, { parent }),
    );
    const summary = summarise([...within, reply({ purpose: "note" }), reply({})]);
    assert.deepEqual(
      [summary.turns, summary.toolCalls, summary.stop, summary.tokens.input, summary.modelMs],
      [1, {}, null, 6_000, 4_500],
    );
  });

  test("an empty trace is all zero", () => {
    assert.deepEqual(summarise([]), {
      turns: 0,
      toolCalls: {},
      tokens: { input: 0, cached: 0, output: 0, unknown: false },
      costUsd: 0,
      wallMs: 0,
      modelMs: 0,
      retries: 0,
      stop: null,
    });
  });

  test("a price given prices every reply anew; without one the recorded cost, then the recorded price counts", () => {
    const usage = { inputTokens: 1_000_000, cachedTokens: 0, outputTokens: 0 };
    const replies = [reply({ usage, costUsd: 5 }), reply({ usage, costUsd: null })];
    assert.equal(summarise(replies, { input: 3, cached: 3, output: 3 }).costUsd, 6);
    assert.equal(summarise(replies, null).costUsd, null);
    assert.equal(
      summarise([event("run_started"), ...replies]).costUsd,
      6,
      "5 recorded, 1 by the run's price",
    );
    assert.equal(summarise(replies).costUsd, null, "one cost is not known");
  });

  test("A23: usage that was not reported makes the sums a lower bound and is said", () => {
    const unknown = { usage: { inputTokens: null, cachedTokens: null, outputTokens: null }, costUsd: null };
    const summary = summarise([reply({}), reply(unknown)]);
    assert.deepEqual(summary.tokens, { input: 2000, cached: 1500, output: 40, unknown: true });
    assert.equal(summary.costUsd, null);
  });

  test("time in the model is measured from the lines where the reply does not tell it", () => {
    const at = (type: "model_request" | "model_failed" | "model_reply", n: number) => {
      const made = event(type, { n });
      return { ...made, data: { ...made.data, ms: undefined } };
    };
    assert.equal(summarise([at("model_request", 1), at("model_failed", 4)]).modelMs, 3000);
    assert.equal(
      summarise([at("model_request", 1), at("model_reply", 3), at("model_reply", 9)]).modelMs,
      2000,
    );
  });

  test("the last stop counts", () => {
    const [first, last] = [event("stop"), event("stop")];
    const summary = summarise([first, { ...last, data: { ...last.data, status: "done" } }]);
    assert.equal(summary.stop, "done");
  });

  test("payloads of any shape are counted without a crash", () => {
    const events = fc.array(
      fc.record({
        type: fc.constantFrom(...TYPES),
        data: fc.dictionary(
          fc.constantFrom("usage", "ms", "name", "status", "costUsd", "price"),
          fc.jsonValue(),
        ),
      }),
    );
    fc.assert(
      fc.property(events, (rows) => {
        const summary = summarise(
          rows.map(({ type, data }) => event(type, { data: data as TraceEvent["data"] })),
        );
        assert.ok(Number.isFinite(summary.tokens.input) && Number.isFinite(summary.modelMs));
      }),
      { numRuns: FULL ? 10_000 : 500 },
    );
  });
});
