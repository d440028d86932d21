/** The trace port: one JSON object a line, written as it happens; a subscriber that cannot change behaviour. */

import type { Json } from "#src/base/canonical-json.ts";

export const TRACE_SCHEMA = 1;

/** One line of `traces/<run id>.jsonl`. `docs/trace.md` documents each type's payload. */
export interface TraceEvent {
  readonly v: typeof TRACE_SCHEMA;
  readonly run: string;
  /** Counts from 1 within the file. */
  readonly n: number;
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly step: string | null;
  /** Turn of the agent loop, from 1; null outside it. */
  readonly turn: number | null;
  readonly type: TraceType;
  readonly data: { readonly [key: string]: Json | undefined };
}

export type TraceType =
  | "run_started"
  | "run_ended"
  | "state"
  | "step_started"
  | "step_ended"
  | "setup"
  | "network"
  | "suite"
  | "prompt"
  | "model_request"
  | "model_text"
  | "model_retry"
  | "model_reply"
  | "model_failed"
  | "tool_call"
  | "tool_result"
  | "notice"
  | "stop"
  | "patch"
  | "verdict"
  | "github"
  | "command"
  | "warning";

export interface Trace {
  /** Writes and flushes one line; redacted. Never throws: a full disk is reported once to the log and the run goes on. */
  emit(
    type: TraceType,
    data: { readonly [key: string]: Json | undefined },
    place?: { readonly step?: string; readonly turn?: number },
  ): void;
  /** Absolute path of the file. */
  readonly path: string;
  close(): void;
}
