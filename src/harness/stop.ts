/** When the loop must end: pure decisions over what was spent, what the next request would cost and how a reply ended. */

import type { ModelFailure, Reply } from "#src/model/model.ts";
import type { AgentLimits, Price, Spent, Stop } from "./agent.ts";
import type { NoticeKind } from "./events.ts";
import { costOf } from "./tokens.ts";

const WRAP_UP_SHARE = 0.8;
/** Replies in a row that may be cut off at the output limit. */
const MOST_TRUNCATED = 3;
/** Replies in a row that may be empty. */
const MOST_EMPTY = 2;

export interface CapFacts {
  readonly limits: AgentLimits;
  /** With `ms` up to this moment. */
  readonly spent: Spent;
  /** Input tokens the next request would have. */
  readonly nextInputTokens: number;
  readonly price: Price | null;
  /** True when the transcript should be smaller and cannot be made so. */
  readonly full: boolean;
}

interface Gauge {
  readonly status: Extract<Stop["status"], `${string}_cap` | "wall_clock" | "context_full">;
  /** True when the next request must not be sent. */
  readonly reached: boolean;
  /** Share of the cap used once the next request is paid for, 0 to 1 and beyond. */
  readonly used: number;
  /** Reads after "reached" and "used", e.g. `40 of 50 turns`. */
  readonly words: string;
}

function minutes(ms: number): string {
  return (ms / 60_000).toFixed(1);
}

function costGauge({ limits, spent, nextInputTokens, price }: CapFacts): Gauge[] {
  const next = { inputTokens: nextInputTokens, cachedTokens: 0, outputTokens: limits.maxOutputTokens };
  const nextUsd = costOf(next, price);
  // Without a price the cost is unknown, and the token cap rules.
  if (limits.costUsd === null || nextUsd === null || spent.costUsd === null) return [];
  return [
    {
      status: "cost_cap",
      reached: spent.costUsd + nextUsd > limits.costUsd,
      used: (spent.costUsd + nextUsd) / limits.costUsd,
      words: `$${spent.costUsd.toFixed(4)} of $${limits.costUsd.toFixed(2)}, where the next request may cost up to $${nextUsd.toFixed(4)}`,
    },
  ];
}

function gauges(facts: CapFacts): Gauge[] {
  const { limits, spent, nextInputTokens } = facts;
  const tokens = spent.inputTokens + spent.outputTokens;
  const inputRoom = limits.contextTokens - limits.maxOutputTokens;
  return [
    {
      status: "wall_clock",
      reached: spent.ms >= limits.wallClockMs,
      used: spent.ms / limits.wallClockMs,
      words: `${minutes(spent.ms)} of ${minutes(limits.wallClockMs)} minutes`,
    },
    {
      status: "turn_cap",
      reached: spent.turns >= limits.turns,
      used: spent.turns / limits.turns,
      words: `${spent.turns} of ${limits.turns} turns`,
    },
    ...costGauge(facts),
    {
      status: "token_cap",
      reached: tokens + nextInputTokens > limits.totalTokens,
      used: (tokens + nextInputTokens) / limits.totalTokens,
      words: `${tokens} of ${limits.totalTokens} tokens, where the next request has about ${nextInputTokens}`,
    },
    {
      status: "context_full",
      reached: nextInputTokens > inputRoom,
      used: nextInputTokens / inputRoom,
      words: `about ${nextInputTokens} of the ${inputRoom} input tokens the model's window leaves`,
    },
  ];
}

/** The cap that forbids the next request, if any; judged before it is sent, so that no cap is crossed by more than one reply's output. */
export function capReached(facts: CapFacts): Stop | null {
  const gauge = gauges(facts).find((candidate) => candidate.reached);
  return gauge ? { status: gauge.status, message: `The limit was reached: ${gauge.words}.` } : null;
}

/** What has been used to 80 % or more, in words for the model; null while nothing has. A window that fills up is made room in, so that it counts only once that fails. */
export function nearCap(facts: CapFacts): string | null {
  const gauge = gauges(facts).find(
    ({ status, used }) => used >= WRAP_UP_SHARE && (status !== "context_full" || facts.full),
  );
  return gauge?.words ?? null;
}

/** Input tokens from which some cap forbids the next request: the number its size need be known against. */
export function inputAllowed({ limits, spent, price }: Omit<CapFacts, "nextInputTokens" | "full">): number {
  const window = limits.contextTokens - limits.maxOutputTokens;
  const tokens = limits.totalTokens - spent.inputTokens - spent.outputTokens;
  if (price === null || price.inputUsd <= 0 || limits.costUsd === null || spent.costUsd === null)
    return Math.min(window, tokens);
  const outputUsd = costOf({ inputTokens: 0, cachedTokens: 0, outputTokens: limits.maxOutputTokens }, price);
  const usd = limits.costUsd - spent.costUsd - (outputUsd ?? 0);
  return Math.min(window, tokens, (usd / price.inputUsd) * 1_000_000);
}

/** How many replies in a row, the newest included, were cut off or empty. */
export interface Streaks {
  readonly truncated: number;
  readonly empty: number;
}

export const NO_STREAKS: Streaks = { truncated: 0, empty: 0 };

export function nextStreaks(streaks: Streaks, reply: Reply): Streaks {
  const empty = reply.calls.length === 0 && reply.content.trim() === "" && reply.finish === "complete";
  return {
    truncated: reply.finish === "truncated" ? streaks.truncated + 1 : 0,
    empty: empty ? streaks.empty + 1 : 0,
  };
}

export type Outcome =
  | { readonly kind: "stop"; readonly stop: Stop }
  | { readonly kind: "notice"; readonly notice: NoticeKind }
  | { readonly kind: "go_on" };

function stopped(status: Stop["status"], message: string): Outcome {
  return { kind: "stop", stop: { status, message } };
}

/** What follows from how a reply ended. Calls decide, not the finish reason: a reply with whole calls is never the last (FAULTS A10). */
export function outcomeOf(reply: Reply, streaks: Streaks): Outcome {
  if (reply.finish === "refused") return stopped("refused", "The model or its provider refused to go on.");
  if (streaks.truncated >= MOST_TRUNCATED)
    return stopped("truncated", `${MOST_TRUNCATED} replies in a row were cut off at the output limit.`);
  if (streaks.empty >= MOST_EMPTY)
    return stopped("no_progress", `The model answered ${MOST_EMPTY} times in a row with nothing.`);
  if (reply.calls.length > 0) return { kind: "go_on" };
  if (reply.finish === "truncated") return { kind: "notice", notice: "cut_off" };
  if (streaks.empty > 0) return { kind: "notice", notice: "empty_answer" };
  return stopped("done", "The model gave its final answer.");
}

/** The stop a failed request means; a cancel has its own status and is handled by the caller. */
export function stopForFailure(failure: ModelFailure): Stop {
  if (failure.code === "context_overflow")
    return { status: "context_full", message: `The provider says the window is full: ${failure.message}` };
  return { status: "model_failed", message: failure.message };
}
