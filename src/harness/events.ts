/** What the agent loop tells its observer, in the order it happens; enough to replay the run from. */

import type { ModelFailure, Reply } from "#src/model/model.ts";
import type { StopStatus } from "./agent.ts";

/** What a request is for: a turn, or the note that takes the place of cleared turns. */
export type Purpose = "turn" | "note";

/** `turn` counts from 1 over the whole run, earlier rounds included. */
export type HarnessEvent =
  | {
      readonly type: "request";
      readonly turn: number;
      readonly purpose: Purpose;
      readonly messages: number;
      readonly estimatedInputTokens: number;
      /** Common prefix with the previous request ÷ length of the previous request, 0 to 1; null for the first one. */
      readonly prefixStability: number | null;
    }
  | { readonly type: "text"; readonly turn: number; readonly text: string }
  | { readonly type: "reasoning"; readonly turn: number; readonly text: string }
  | {
      readonly type: "retry";
      readonly turn: number;
      readonly attempt: number;
      readonly of: number;
      readonly waitMs: number;
      readonly reason: string;
    }
  | {
      readonly type: "reply";
      readonly turn: number;
      readonly purpose: Purpose;
      /** As it came from the model, before ids and arguments were put in order. */
      readonly reply: Reply;
      /** US dollars of this request; null: no price known. */
      readonly costUsd: number | null;
      /** True when the provider reported no usage and the cost is by estimate. */
      readonly estimated: boolean;
      /** Milliseconds from request to last event. */
      readonly ms: number;
    }
  | {
      readonly type: "failed";
      readonly turn: number;
      readonly purpose: Purpose;
      readonly failure: ModelFailure;
      readonly ms: number;
    }
  | {
      readonly type: "call";
      readonly turn: number;
      readonly id: string;
      readonly name: string;
      /** The JSON text as stored; what was no JSON object, raw. */
      readonly arguments: string;
    }
  | {
      readonly type: "result";
      readonly turn: number;
      readonly id: string;
      readonly name: string;
      readonly status: "ok" | "error";
      /** As the model reads it, clipped. */
      readonly text: string;
      readonly wrote: readonly string[];
      readonly ms: number;
    }
  /** Old results were cleared in place. */
  | { readonly type: "stubbed"; readonly turn: number; readonly results: number; readonly tokens: Change }
  /** Turns were replaced by a note, or what is kept was made smaller. */
  | {
      readonly type: "compacted";
      readonly turn: number;
      /** `trigger`: the policy; `window`: the next request would not fit; `overflow`: the provider said so. */
      readonly reason: "trigger" | "window" | "overflow";
      readonly messages: Change;
      readonly tokens: Change;
      readonly keptTurns: number;
      /** Who wrote the note; null: no turn went. */
      readonly noteBy: "model" | "code" | null;
      /** The whole message that stands for the cleared turns; empty when no turn went. */
      readonly note: string;
    }
  /** Something happened in the sub-agent of a `delegate` call; `turn` is the turn of that call. */
  | { readonly type: "nested"; readonly turn: number; readonly callId: string; readonly event: HarnessEvent }
  /** A user message the harness added by itself. */
  | { readonly type: "notice"; readonly turn: number; readonly kind: NoticeKind; readonly text: string }
  | { readonly type: "stop"; readonly turn: number; readonly status: StopStatus; readonly message: string };

export type NoticeKind = "wrap_up" | "instruction" | "no_progress" | "cut_off" | "empty_answer";

/** Before and after; tokens are of the transcript without system prompt and tools. */
export interface Change {
  readonly before: number;
  readonly after: number;
}
