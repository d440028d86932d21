/** How many tokens a request will have, and what a reply cost. */

import type { Message, ToolSpec, Usage } from "#src/model/model.ts";
import type { Price, Spent } from "./agent.ts";

// Counting characters instead of running a tokenizer: the provider reports the exact size of every request, so
// only what was added since the last reply is ever estimated, and a tokenizer costs 0.4 s and 76 MB to load in the
// process that also answers webhooks, and fits one vendor's vocabulary only.

/** Measured over transcripts full of code. */
const ASCII_PER_TOKEN = 2.8;
const TOKENS_PER_MESSAGE = 4;
const SMALLEST_CORRECTION = 0.5;
const LARGEST_CORRECTION = 3;

/** Tokens of a text by its characters: 2.8 of ASCII each, one for every other UTF-16 unit (CJK and emoji are dense). */
export function estimateTokens(text: string): number {
  let other = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) other++;
  return Math.ceil((text.length - other) / ASCII_PER_TOKEN + other);
}

function messageTokens(message: Message): number {
  if (message.role !== "assistant") return TOKENS_PER_MESSAGE + estimateTokens(message.content);
  const extra = message.extra === undefined ? "" : JSON.stringify(message.extra);
  const calls = message.calls.map((call) => call.id + call.name + call.arguments).join("");
  return TOKENS_PER_MESSAGE + estimateTokens(message.content + calls + extra);
}

export interface Meter {
  /** Input tokens a request with these messages would have. */
  estimate(messages: readonly Message[]): number;
  /** Corrects the estimate by what the provider said a request with `messages` had. */
  learn(messages: readonly Message[], inputTokens: number): void;
}

/** A meter for one run; each message is looked at once. */
export function createMeter(tools: readonly ToolSpec[]): Meter {
  const known = new WeakMap<Message, number>();
  const toolTokens = estimateTokens(JSON.stringify(tools));
  let anchor = { messages: 0, tokens: toolTokens, correction: 1 };
  const sum = (messages: readonly Message[]) =>
    messages.reduce((total, message) => {
      const tokens = known.get(message) ?? messageTokens(message);
      known.set(message, tokens);
      return total + tokens;
    }, 0);
  return {
    estimate: (messages) =>
      Math.ceil(anchor.tokens + anchor.correction * sum(messages.slice(anchor.messages))),
    learn: (messages, inputTokens) => {
      if (inputTokens <= 0) return;
      const ratio = inputTokens / (toolTokens + sum(messages));
      const correction = Math.min(LARGEST_CORRECTION, Math.max(SMALLEST_CORRECTION, ratio));
      anchor = { messages: messages.length, tokens: inputTokens, correction };
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

/** `spent` with one more reply in it. */
export function addReply(spent: Spent, counted: Counted, costUsd: number | null): Spent {
  return {
    ...spent,
    turns: spent.turns + 1,
    inputTokens: spent.inputTokens + counted.inputTokens,
    cachedTokens: spent.cachedTokens + counted.cachedTokens,
    outputTokens: spent.outputTokens + counted.outputTokens,
    estimatedRequests: spent.estimatedRequests + (counted.estimated ? 1 : 0),
    costUsd: spent.costUsd === null || costUsd === null ? null : spent.costUsd + costUsd,
  };
}
