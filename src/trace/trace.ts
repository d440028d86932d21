/** The trace port: one JSON object a line, written as it happens; a subscriber that cannot change behaviour. */

import type { Json } from "#src/base/canonical-json.ts";
import type { TraceData } from "./events.ts";

export const TRACE_SCHEMA = 1;

/** One line of `traces/<run id>.jsonl`. `events.ts` and `docs/trace.md` give each type's payload. */
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
  /** Id of the `delegate` call in whose sub-agent it happened; `turn` is the turn of that call. Missing outside of one. */
  readonly parent?: string;
  readonly type: TraceType;
  /** `TraceData` of the type as written; a reader of a file checks what it uses. */
  readonly data: { readonly [key: string]: Json | undefined };
}

export type TraceType = keyof TraceData;

/** The payload of one type. */
export type TraceOf<T extends TraceType> = TraceData[T];

export interface TracePlace {
  readonly step?: string | undefined;
  readonly turn?: number | undefined;
  readonly parent?: string | undefined;
}

export interface Trace {
  /** Writes and flushes one line; redacted. Never throws: a full disk is reported once to the log and the run goes on; the number of lines lost is written when there is space again. */
  emit<T extends TraceType>(type: T, data: TraceData[T], place?: TracePlace): void;
  /** Absolute path of the file. */
  readonly path: string;
  close(): void;
}
