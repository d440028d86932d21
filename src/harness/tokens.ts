/** How many tokens a request will have, and what a reply cost. */

import type { Message, ToolSpec, Usage } from "#src/model/model.ts";
import type { Price, Spent } from "./agent.ts";
import type { Tokenizer } from "./tokenizer.ts";

// Two ways of counting. Characters cost nothing and are right to a factor of two; the real tokenizer costs milliseconds
// and a thread. Since the provider reports the exact size of every request, only what was added since then is ever
// counted, and the tokenizer is asked only where an error of the characters could change a decision.

/** Measured over transcripts full of code. */
const ASCII_PER_TOKEN = 2.8;
/** Characters never count fewer than the real tokens divided by this (digits, hashes and base64 come near it). */
const WORST_FACTOR = 2;
const TOKENS_PER_MESSAGE = 4;
const SMALLEST_CORRECTION = 0.5;
const LARGEST_CORRECTION = 3;
/** Tokens between two reports from which their difference says something. */
const LEAST_GROWN = 1_000;

/** Tokens of a text by its characters: 2.8 of ASCII each, one for every other UTF-16 unit (CJK and emoji are dense). */
export function estimateTokens(text: string): number {
  let other = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) other++;
  return Math.ceil((text.length - other) / ASCII_PER_TOKEN + other);
}

/** All text of a message that takes up tokens. */
function textOf(message: Message): string {
  if (message.role !== "assistant") return message.content;
  const extra = message.extra === undefined ? "" : JSON.stringify(message.extra);
  return message.content + message.calls.map((call) => call.id + call.name + call.arguments).join("") + extra;
}

export interface Meter {
  /** Input tokens of a request with these messages: the provider's last report, and the difference to it by count. */
  estimate(messages: readonly Message[]): number;
  /** The same by the real tokenizer, if characters could be wrong enough to put the number on the other side of `threshold`. */
  measure(messages: readonly Message[], threshold: number): Promise<number>;
  /** Tokens of one message, corrected by what the provider reported. */
  sizeOf(message: Message): number;
  /** Tokens of the messages without the system prompt: what triggers and budgets of the transcript are compared with. */
  body(messages: readonly Message[]): number;
  /** Tokens of a request besides those: system prompt, tools, and what the provider adds. */
  overhead(messages: readonly Message[]): number;
  /** Corrects by what the provider said a request with `messages` had; nothing is learnt from zero. */
  learn(messages: readonly Message[], inputTokens: number): void;
}

interface Report {
  readonly messages: readonly Message[];
  readonly tokens: number;
}

/** What a request has: `fixed` tokens (system prompt, tools, what the provider adds), and `ratio` for each token of the transcript we count. */
interface Fit {
  readonly fixed: number;
  readonly ratio: number;
}

/** A meter for one run; each message is looked at once. Without a tokenizer characters decide. */
export function createMeter(tools: readonly ToolSpec[], tokenizer: Tokenizer | null = null): Meter {
  const byCharacters = new WeakMap<Message, number>();
  const byTokenizer = new WeakMap<Message, number>();
  let bodies = new WeakMap<readonly Message[], number>();
  const toolTokens = estimateTokens(JSON.stringify(tools));
  let first: Report | null = null;
  let last: Report | null = null;
  let fitted: Fit | null = null;

  const count = (message: Message): number => {
    const known = byTokenizer.get(message) ?? byCharacters.get(message);
    if (known !== undefined) return known;
    const counted = TOKENS_PER_MESSAGE + estimateTokens(textOf(message));
    byCharacters.set(message, counted);
    return counted;
  };
  const countBody = (messages: readonly Message[]): number => {
    const known = bodies.get(messages);
    if (known !== undefined) return known;
    const counted = messages.reduce(
      (sum, message) => sum + (message.role === "system" ? 0 : count(message)),
      0,
    );
    bodies.set(messages, counted);
    return counted;
  };
  const countFixed = (messages: readonly Message[]) => {
    const [system] = messages;
    return toolTokens + (system?.role === "system" ? count(system) : 0);
  };
  const fit = (messages: readonly Message[]): Fit => {
    if (first === null || last === null) return { fixed: countFixed(messages), ratio: 1 };
    if (fitted !== null) return fitted;
    const body = countBody(last.messages);
    const grown = body - countBody(first.messages);
    // Two reports far apart tell the fixed part from the rest; a single one is taken as one ratio for both.
    const ratio =
      grown >= LEAST_GROWN
        ? (last.tokens - first.tokens) / grown
        : last.tokens / (countFixed(last.messages) + body);
    const likely = Math.min(LARGEST_CORRECTION, Math.max(SMALLEST_CORRECTION, ratio));
    fitted = { fixed: last.tokens - likely * body, ratio: likely };
    return fitted;
  };
  const estimate = (messages: readonly Message[]) => {
    const { fixed, ratio } = fit(messages);
    return Math.max(0, Math.ceil(fixed + ratio * countBody(messages)));
  };
  /** The most it can be: what the last report covers is certain, the rest may be twice what characters say. */
  const atMost = (messages: readonly Message[]) => {
    const certain = last?.tokens ?? 0;
    return certain + WORST_FACTOR * Math.max(0, estimate(messages) - certain);
  };
  const countExactly = async (messages: readonly Message[]) => {
    const unknown = messages.filter((message) => !byTokenizer.has(message));
    const counts = unknown.length === 0 ? [] : await tokenizer?.count(unknown.map(textOf));
    for (const [at, tokens] of (counts ?? []).entries()) {
      const message = unknown[at];
      if (message !== undefined) byTokenizer.set(message, TOKENS_PER_MESSAGE + tokens);
    }
    if (unknown.length === 0) return;
    fitted = null;
    bodies = new WeakMap();
  };

  return {
    estimate,
    measure: async (messages, threshold) => {
      if (tokenizer !== null && atMost(messages) >= threshold)
        await countExactly([...(first?.messages ?? []), ...(last?.messages ?? []), ...messages]);
      return estimate(messages);
    },
    sizeOf: (message) => Math.ceil(fit([]).ratio * count(message)),
    body: (messages) => Math.ceil(fit(messages).ratio * countBody(messages)),
    overhead: (messages) => Math.max(0, Math.ceil(fit(messages).fixed)),
    learn: (messages, tokens) => {
      if (tokens <= 0) return;
      last = { messages, tokens };
      first ??= last;
      fitted = null;
    },
  };
}

/** Token counts of one request with the gaps of the provider's report filled by estimate. */
export interface Counted {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** True when the provider left out input or output tokens. */
  readonly estimated: boolean;
}

/** `estimatedOutput` is asked only for a count that is not there. */
export function countUsage(usage: Usage, estimatedInput: number, estimatedOutput: () => number): Counted {
  const inputTokens = usage.inputTokens ?? estimatedInput;
  return {
    inputTokens,
    cachedTokens: Math.min(inputTokens, usage.cachedTokens ?? 0),
    outputTokens: usage.outputTokens ?? estimatedOutput(),
    estimated: usage.inputTokens === null || usage.outputTokens === null,
  };
}

/** US dollars of one request; null without a price. */
export function costOf(counted: Omit<Counted, "estimated">, price: Price | null): number | null {
  if (price === null) return null;
  const uncached = counted.inputTokens - counted.cachedTokens;
  const micro =
    uncached * price.inputUsd +
    counted.cachedTokens * price.cachedUsd +
    counted.outputTokens * price.outputUsd;
  return micro / 1_000_000;
}

/** `spent` with one more request in it; whether it was a turn is the caller's to count. */
export function addRequest(spent: Spent, counted: Counted, costUsd: number | null): Spent {
  return addSpent(spent, {
    ...counted,
    turns: 0,
    estimatedRequests: counted.estimated ? 1 : 0,
    costUsd,
    ms: 0,
  });
}

/** The sum of both; a cost that is unknown on either side stays unknown. */
export function addSpent(spent: Spent, more: Spent): Spent {
  return {
    turns: spent.turns + more.turns,
    inputTokens: spent.inputTokens + more.inputTokens,
    cachedTokens: spent.cachedTokens + more.cachedTokens,
    outputTokens: spent.outputTokens + more.outputTokens,
    estimatedRequests: spent.estimatedRequests + more.estimatedRequests,
    costUsd: spent.costUsd === null || more.costUsd === null ? null : spent.costUsd + more.costUsd,
    ms: spent.ms + more.ms,
  };
}
