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
  /** Tokens of system prompt and tools. */
  overhead(messages: readonly Message[]): number;
  /** Corrects by what the provider said a request with `messages` had; nothing is learnt from zero. */
  learn(messages: readonly Message[], inputTokens: number): void;
}

interface Report {
  readonly messages: readonly Message[];
  readonly tokens: number;
}

/** A meter for one run; each message is looked at once. Without a tokenizer characters decide. */
export function createMeter(tools: readonly ToolSpec[], tokenizer: Tokenizer | null = null): Meter {
  const byCharacters = new WeakMap<Message, number>();
  const byTokenizer = new WeakMap<Message, number>();
  const toolTokens = estimateTokens(JSON.stringify(tools));
  let report: Report | null = null;

  const count = (message: Message): number => {
    const known = byTokenizer.get(message) ?? byCharacters.get(message);
    if (known !== undefined) return known;
    const counted = TOKENS_PER_MESSAGE + estimateTokens(textOf(message));
    byCharacters.set(message, counted);
    return counted;
  };
  const sum = (messages: readonly Message[]) =>
    messages.reduce((total, message) => total + count(message), 0);
  const correction = () => {
    const ratio = report === null ? 1 : report.tokens / (toolTokens + sum(report.messages));
    return Math.min(LARGEST_CORRECTION, Math.max(SMALLEST_CORRECTION, ratio));
  };
  /** Tokens reported, and corrected tokens by which the messages differ from those of the report. */
  const parts = (messages: readonly Message[]) =>
    report === null
      ? { reported: 0, counted: toolTokens + sum(messages) }
      : { reported: report.tokens, counted: correction() * (sum(messages) - sum(report.messages)) };
  const estimate = (messages: readonly Message[]) => {
    const { reported, counted } = parts(messages);
    return Math.max(0, Math.ceil(reported + counted));
  };
  const countExactly = async (messages: readonly Message[]) => {
    const unknown = messages.filter((message) => !byTokenizer.has(message));
    const counts = unknown.length === 0 ? [] : await tokenizer?.count(unknown.map(textOf));
    for (const [at, tokens] of (counts ?? []).entries()) {
      const message = unknown[at];
      if (message !== undefined) byTokenizer.set(message, TOKENS_PER_MESSAGE + tokens);
    }
  };
  const body = (messages: readonly Message[]) =>
    Math.ceil(correction() * sum(messages.filter((message) => message.role !== "system")));

  return {
    estimate,
    measure: async (messages, threshold) => {
      const { reported, counted } = parts(messages);
      // What the report covers is certain; the rest may be twice as much.
      if (tokenizer !== null && reported + WORST_FACTOR * Math.max(0, counted) >= threshold)
        await countExactly([...(report?.messages ?? []), ...messages]);
      return estimate(messages);
    },
    sizeOf: (message) => Math.ceil(correction() * count(message)),
    body,
    overhead: (messages) => Math.ceil(correction() * (toolTokens + sum(messages))) - body(messages),
    learn: (messages, tokens) => {
      if (tokens > 0) report = { messages, tokens };
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

export function countUsage(usage: Usage, estimatedInput: number, estimatedOutput: number): Counted {
  const inputTokens = usage.inputTokens ?? estimatedInput;
  return {
    inputTokens,
    cachedTokens: Math.min(inputTokens, usage.cachedTokens ?? 0),
    outputTokens: usage.outputTokens ?? estimatedOutput,
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
