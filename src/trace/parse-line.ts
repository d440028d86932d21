/** Reads one line of a trace file. */

import { TRACE_SCHEMA, type TraceEvent } from "./trace.ts";

export type ParsedLine =
  | { readonly kind: "event"; readonly event: TraceEvent }
  /** A whole line of a schema this version does not know. */
  | { readonly kind: "other_version"; readonly version: number }
  /** Torn by a crash, or no trace line at all. */
  | { readonly kind: "unreadable" };

const UNREADABLE: ParsedLine = { kind: "unreadable" };

/** Checks the frame only: the payload is whatever the writer put there. */
export function parseLine(line: string): ParsedLine {
  const value = parsed(line);
  if (typeof value !== "object" || value === null) return UNREADABLE;
  const { v, run, n, at, step, turn, parent, type, data } = value as Record<string, unknown>;
  if (typeof v === "number" && v !== TRACE_SCHEMA) return { kind: "other_version", version: v };
  const whole =
    v === TRACE_SCHEMA &&
    typeof run === "string" &&
    Number.isSafeInteger(n) &&
    typeof at === "string" &&
    !Number.isNaN(Date.parse(at)) &&
    (step === null || typeof step === "string") &&
    (turn === null || typeof turn === "number") &&
    (parent === undefined || typeof parent === "string") &&
    typeof type === "string" &&
    typeof data === "object" &&
    data !== null &&
    !Array.isArray(data);
  return whole ? { kind: "event", event: value as TraceEvent } : UNREADABLE;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null; // A torn line is expected after a crash; the caller counts it.
  }
}
