/** What the agent loop is asked for and what it answers: request, limits, spending and the ways it can stop. */

import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Message, Model } from "#src/model/model.ts";
import type { ContextPolicy } from "./context-policy.ts";
import type { HarnessEvent } from "./events.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { Tool } from "./tool.ts";

/** Why the loop ended. `internal` is a defect of ours (an invalid transcript, a checkpoint that could not be written). */
export type StopStatus =
  | "done"
  | "turn_cap"
  | "token_cap"
  | "cost_cap"
  | "wall_clock"
  | "no_progress"
  | "context_full"
  | "truncated"
  | "refused"
  | "cancelled"
  | "model_failed"
  | "internal";

export interface Stop {
  readonly status: StopStatus;
  /** One sentence for people: what happened and, where there is one, the number it ran into. */
  readonly message: string;
}

/** US dollars for a million tokens. */
export interface Price {
  readonly inputUsd: number;
  readonly cachedUsd: number;
  readonly outputUsd: number;
}

/** What a run has used so far, over all its rounds. */
export interface Spent {
  /** Replies of the model, those of sub-agents and hand-over notes left out; all the sums below count them too. */
  readonly turns: number;
  /** Input tokens of all requests, those served from the provider's cache included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Requests whose usage the provider did not report; they are counted above by estimate. */
  readonly estimatedRequests: number;
  /** US dollars; null: some request had no known price. */
  readonly costUsd: number | null;
  /** Milliseconds inside the loop. */
  readonly ms: number;
}

export const NOTHING_SPENT: Spent = {
  turns: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  estimatedRequests: 0,
  costUsd: 0,
  ms: 0,
};

export interface AgentLimits {
  readonly turns: number;
  /** Input plus output tokens of all requests of the run. */
  readonly totalTokens: number;
  /** US dollars; null: no cost cap. Without a known price only the token cap holds. */
  readonly costUsd: number | null;
  readonly wallClockMs: number;
  /** The most the model may answer in one reply, in tokens. */
  readonly maxOutputTokens: number;
  /** Size of the model's window, in tokens: input and the largest reply must fit. */
  readonly contextTokens: number;
}

export interface AgentRequest {
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly system: string;
  /** Appended as a user message; empty text appends nothing and goes on where `prior` stopped. */
  readonly task: string;
  /** The transcript to continue (it brings its own system message); empty: a fresh one. */
  readonly prior: readonly Message[];
  readonly limits: AgentLimits;
  /** What earlier rounds of this run used, so that the caps hold over the whole run. */
  readonly spent: Spent;
  /** Null: no price known. */
  readonly price: Price | null;
  /** When the transcript is cleared and compacted; left out: by the size of the window. */
  readonly context?: ContextPolicy;
  /** Left out: tokens are counted by characters alone. */
  readonly tokenizer?: Tokenizer;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Abort it with a reason that reads after "stopped:", e.g. `cancelled by octocat`. */
  readonly signal: AbortSignal;
  observe(event: HarnessEvent): void;
  /** What maintainers asked for since the last call; taken after every turn and given to the model as a message. */
  instructions?(): readonly string[];
  /**
   * Called with the state after every turn and every compaction, while the next request is on its way: what a reply asks for
   * is done, and the run ends, only once the state before it is stored. A rejection gives the request up and ends the loop as
   * `internal`.
   */
  checkpoint(state: AgentState): Promise<void>;
}

export interface ToolTally {
  readonly ok: number;
  readonly errors: number;
}

/**
 * Where a run stands, as far as it goes on from it. Which notices were given, the to-do list and the newest turns' prints
 * are read from the messages (`resume.ts`), so that they cannot contradict them.
 */
export interface AgentState {
  /** A valid transcript at rest; unchanged messages are the same objects as in the state before. */
  readonly messages: readonly Message[];
  readonly spent: Spent;
  /** Paths that tools wrote in this round, sorted. */
  readonly dirty: readonly string[];
}

export interface AgentEnd extends Stop {
  /** The model's last answer; empty unless the status is `done`. */
  readonly finalText: string;
  /** Always a valid transcript: open calls are filled in. */
  readonly messages: readonly Message[];
  readonly spent: Spent;
  /** Paths that tools wrote in this round, sorted. */
  readonly dirty: readonly string[];
  /** By tool name. */
  readonly toolCalls: Readonly<Record<string, ToolTally>>;
  /** Retries announced by the model adapter in this round. */
  readonly retries: number;
}
