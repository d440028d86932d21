/** Counts a trace: turns, calls, tokens, money and time. Pure. */

import { numberField, objectField, textField } from "./fields.ts";
import { costUsd, type Price } from "./prices.ts";
import type { TraceEvent } from "./trace.ts";

export interface ToolTally {
  readonly ok: number;
  readonly errors: number;
}

export interface TraceSummary {
  /** Replies of the model, those of sub-agents and hand-over notes left out; tokens, cost and time count them too. */
  readonly turns: number;
  /** By tool name, in order of first use; calls of sub-agents left out. */
  readonly toolCalls: Readonly<Record<string, ToolTally>>;
  readonly tokens: {
    readonly input: number;
    /** Part of `input`. */
    readonly cached: number;
    readonly output: number;
    /** True when some reply did not report its usage: the sums are then too small. */
    readonly unknown: boolean;
  };
  /** US dollars; null when some reply's cost is not known. */
  readonly costUsd: number | null;
  /** From the first line to the last, waiting for people included. */
  readonly wallMs: number;
  /** Time between requests and the replies or failures that answered them. */
  readonly modelMs: number;
  readonly retries: number;
  /** Status of the last stop of the agent loop; null when it never stopped. */
  readonly stop: string | null;
}

type Tokens = TraceSummary["tokens"];

/**
 * `price` prices every reply anew (null: no price is known); left out, each reply's own recorded cost counts,
 * or else the price recorded when the run started.
 */
export function summarise(events: readonly TraceEvent[], price?: Price | null): TraceSummary {
  const replies = events.filter((event) => event.type === "model_reply");
  const recorded = price === undefined ? recordedPrice(events) : price;
  const own = events.filter((event) => event.parent === undefined);
  const stop = own.findLast((event) => event.type === "stop");
  return {
    turns: own.filter((event) => event.type === "model_reply" && textField(event.data, "purpose") === "")
      .length,
    toolCalls: tallyCalls(own),
    tokens: sumTokens(replies),
    costUsd: sumCost(replies.map((reply) => costOf(reply, recorded, price !== undefined))),
    wallMs: wallMs(events),
    modelMs: modelMs(events),
    retries: events.filter((event) => event.type === "model_retry").length,
    stop: stop === undefined ? null : textField(stop.data, "status"),
  };
}

/** Input, cached part and output of one reply; null where the provider did not say. */
function usageOf(reply: TraceEvent) {
  const usage = objectField(reply.data, "usage");
  return {
    inputTokens: numberField(usage, "inputTokens"),
    cachedTokens: numberField(usage, "cachedTokens"),
    outputTokens: numberField(usage, "outputTokens"),
  };
}

function recordedPrice(events: readonly TraceEvent[]): Price | null {
  const started = events.findLast((event) => event.type === "run_started");
  if (started === undefined) return null;
  const price = objectField(started.data, "price");
  const input = numberField(price, "input");
  const output = numberField(price, "output");
  if (input === null || output === null) return null;
  return { input, output, cached: numberField(price, "cached") ?? input };
}

function costOf(reply: TraceEvent, price: Price | null, priceAnew: boolean): number | null {
  const recorded = numberField(reply.data, "costUsd");
  if (!priceAnew && recorded !== null) return recorded;
  return costUsd(usageOf(reply), price);
}

function sumCost(costs: readonly (number | null)[]): number | null {
  return costs.reduce<number | null>((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0);
}

function sumTokens(replies: readonly TraceEvent[]): Tokens {
  return replies.map(usageOf).reduce<Tokens>(
    (sum, usage) => ({
      input: sum.input + (usage.inputTokens ?? 0),
      cached: sum.cached + (usage.cachedTokens ?? 0),
      output: sum.output + (usage.outputTokens ?? 0),
      unknown: sum.unknown || usage.inputTokens === null || usage.outputTokens === null,
    }),
    { input: 0, cached: 0, output: 0, unknown: false },
  );
}

function tallyCalls(events: readonly TraceEvent[]): Readonly<Record<string, ToolTally>> {
  const tallies = new Map<string, ToolTally>();
  for (const event of events) {
    if (event.type !== "tool_result") continue;
    const name = textField(event.data, "name");
    const { ok, errors } = tallies.get(name) ?? { ok: 0, errors: 0 };
    const good = textField(event.data, "status") === "ok";
    tallies.set(name, good ? { ok: ok + 1, errors } : { ok, errors: errors + 1 });
  }
  return Object.fromEntries(tallies);
}

function wallMs(events: readonly TraceEvent[]): number {
  const [first, last] = [events[0], events.at(-1)];
  return first === undefined || last === undefined
    ? 0
    : Math.max(0, Date.parse(last.at) - Date.parse(first.at));
}

function modelMs(events: readonly TraceEvent[]): number {
  let total = 0;
  let askedAt: number | null = null;
  for (const event of events) {
    if (event.type === "model_request") askedAt = Date.parse(event.at);
    if (event.type !== "model_reply" && event.type !== "model_failed") continue;
    const own = numberField(event.data, "ms");
    if (own !== null) total += own;
    else if (askedAt !== null) total += Math.max(0, Date.parse(event.at) - askedAt);
    askedAt = null;
  }
  return total;
}
