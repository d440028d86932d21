/** What each type of trace line carries; `docs/trace.md` says the same for people. */

import type { Json } from "#src/base/canonical-json.ts";
import type { ModelFailure, Reply, Usage } from "#src/model/model.ts";
import type { EvidenceStrength, SuiteEvidence, Verdict } from "#src/run/verdict.ts";
import type { Price } from "./prices.ts";

/** A call as the model asked for it, with all a replay needs. */
export interface TracedCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  /** Raw text of arguments that were no JSON object. */
  readonly malformed?: string | undefined;
  readonly extra?: { readonly [key: string]: Json | undefined } | undefined;
}

/** The payload of each type. Times in milliseconds, money in US dollars; every text is redacted when it is written. */
export interface TraceData {
  readonly run_started: {
    /** `owner/name`, or the directory of a local run. */
    readonly repository: string;
    /** Null for a local run. */
    readonly issue: number | null;
    readonly title: string;
    /** The sandbox in use, e.g. `bubblewrap`. */
    readonly sandbox: string;
    readonly model: string;
    /** Null: no price is known for the model. Left out: nobody said. */
    readonly price?: Price | null | undefined;
    /** True when an interrupted run goes on. */
    readonly resumed?: boolean | undefined;
  };
  /** `state` as in the event log; `message` says why, for people. */
  readonly run_ended: { readonly state: string; readonly message: string | null };
  readonly state: { readonly from: string | null; readonly to: string };
  readonly step_started: { readonly attempt: number };
  readonly step_ended: {
    readonly outcome: "done" | "waiting" | "failed" | "aborted";
    readonly attempt?: number | undefined;
    readonly ms?: number | undefined;
    /** Only when it failed. */
    readonly code?: string | null | undefined;
    readonly message?: string | null | undefined;
  };
  readonly setup: {
    readonly ok: boolean;
    /** Null: there was nothing to install. */
    readonly command: string | null;
    readonly ms: number;
    /** The end of what it printed. */
    readonly output?: string | undefined;
  };
  /** By which mechanism each limit holds in this run's sandboxes. */
  readonly sandbox: { readonly enforcement: Readonly<Record<string, string>> };
  /** A host that the set-up step asked for. */
  readonly network: { readonly host: string; readonly allowed: boolean };
  readonly suite: {
    readonly label: SuiteEvidence["label"];
    readonly command: string;
    readonly directory: string;
    readonly exitCode: number | null;
    readonly stopped: SuiteEvidence["stopped"];
    readonly passed: number;
    readonly failed: number;
    readonly skipped: number;
    readonly strength: EvidenceStrength;
    readonly ms: number;
  };
  readonly prompt: {
    /** SHA-256 of system prompt and tool list, the part that stays the same for a whole run. */
    readonly hash: string;
    /** Length of the system prompt. */
    readonly chars: number;
    readonly version?: string | undefined;
    /** The task as it was given to the model, the issue's text included. */
    readonly task?: string | undefined;
  };
  readonly model_request: {
    /** `note`: a hand-over note was asked for, not a turn. Left out: a turn. */
    readonly purpose?: "note" | undefined;
    /** Number of messages in the transcript sent. */
    readonly messages: number;
    /** Common prefix with the previous request divided by the previous request's length, 0 to 1; null for the first. */
    readonly prefixStable: number | null;
    readonly estimatedInputTokens?: number | undefined;
    readonly requestIndex?: number | undefined;
    readonly promptChars?: number | undefined;
    readonly promptHash?: string | undefined;
  };
  /** A piece of a reply while it streams; void when a retry follows, and repeated whole in `model_reply`. */
  readonly model_text: { readonly text: string };
  readonly model_retry: {
    readonly attempt: number;
    readonly of: number;
    readonly waitMs: number;
    readonly reason: string;
  };
  readonly model_reply: {
    /** As in `model_request`; a reply that is a note counts in tokens and cost, not as a turn. */
    readonly purpose?: "note" | undefined;
    readonly finish: Reply["finish"];
    readonly content: string;
    readonly calls: readonly TracedCall[];
    readonly usage: Usage;
    /** Null: no price known. */
    readonly costUsd?: number | null | undefined;
    /** True when usage was not reported and `costUsd` rests on an estimate. */
    readonly estimated?: boolean | undefined;
    readonly ms?: number | undefined;
    readonly extra?: { readonly [key: string]: Json | undefined } | undefined;
  };
  readonly model_failed: {
    readonly code: ModelFailure["code"];
    readonly message: string;
    readonly ms?: number | undefined;
  };
  readonly tool_call: { readonly id: string; readonly name: string; readonly arguments: string };
  readonly tool_result: {
    readonly id: string;
    readonly name: string;
    readonly status: "ok" | "error";
    /** Length of the text the model reads. */
    readonly chars: number;
    readonly text: string;
    readonly ms: number;
    /** Paths the call wrote. */
    readonly wrote?: readonly string[] | undefined;
  };
  /** The transcript was made smaller; tokens leave out system prompt and tools. */
  readonly context: {
    /** `stubbed`: old results were cleared in place; `compacted`: turns went, or what is kept was cut. */
    readonly action: "stubbed" | "compacted";
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    /** Results cleared. */
    readonly results?: number | undefined;
    /** `trigger`: the policy's limit; `window`: the next request would not fit; `overflow`: the provider refused it. */
    readonly reason?: "trigger" | "window" | "overflow" | undefined;
    readonly messagesBefore?: number | undefined;
    readonly messagesAfter?: number | undefined;
    readonly keptTurns?: number | undefined;
    /** Null: no turn went, so that there is no note. */
    readonly noteBy?: "model" | "code" | null | undefined;
    /** The message that stands for the turns that went. */
    readonly note?: string | undefined;
  };
  /** A message that the harness itself added to the transcript. */
  readonly notice: { readonly text: string; readonly kind?: string | undefined };
  /** Why the agent loop ended; `turns` counts over the whole run. */
  readonly stop: { readonly status: string; readonly message: string; readonly turns: number };
  readonly patch: {
    readonly treeId: string;
    /** Changed paths. */
    readonly files: readonly string[];
    /** Number of paths that differ in the workspace and were not taken. */
    readonly leftOut?: number | undefined;
    readonly diff?: string | undefined;
  };
  readonly verdict: {
    readonly class: Verdict["class"];
    /** Why it is not `proven`; null when it is. */
    readonly reason: string | null;
    /** Tests that failed before and pass now. */
    readonly fixed: readonly string[];
    readonly newlyFailing: readonly string[];
    /** `kind path` of each finding. */
    readonly tampering: readonly string[];
  };
  /** One effect on GitHub by its name in the event log; `id` is e.g. a comment id or a sha. */
  readonly github: {
    readonly effect: string;
    readonly outcome: "intended" | "done" | "found" | "failed";
    readonly id: string | null;
    readonly message?: string | null | undefined;
  };
  readonly command: { readonly by: string; readonly verb: string; readonly decision: string };
  readonly warning: { readonly text: string };
}
