/** Writes a run's trace: one redacted JSON object a line, going on where an earlier process stopped. */

import { join } from "node:path";
import type { Json } from "#src/base/canonical-json.ts";
import { type Clock, isoTime } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import { messageOf } from "#src/base/result.ts";
import { appendFile } from "./append-file.ts";
import { parseLine } from "./parse-line.ts";
import { TRACE_SCHEMA, type Trace, type TracePlace, type TraceType } from "./trace.ts";

export interface OpenTraceOptions {
  /** The directory of all traces, absolute; made (0700) when missing. */
  readonly dir: string;
  readonly runId: string;
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** Hears once of the first line that could not be written. */
  readonly log: Log;
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** `<dir>/<run id>.jsonl`; throws a TypeError for what cannot be a run id, so that no other path is ever built from it. */
export function tracePath(dir: string, runId: string): string {
  if (!RUN_ID.test(runId)) throw new TypeError(`not a run id: ${JSON.stringify(runId.slice(0, 80))}`);
  return join(dir, `${runId}.jsonl`);
}

/** Opens or continues the trace of a run. Throws only for a malformed run id; what cannot be written is reported to the log. */
export function openTrace({ dir, runId, clock, redactor, log }: OpenTraceOptions): Trace {
  const path = tracePath(dir, runId);
  const file = appendFile(path, numberOf);
  let lost = 0;
  let reported = false;
  let closed = false;

  const write = (type: TraceType, { step, turn, parent }: TracePlace, payload: object) => {
    const at = isoTime(clock.now());
    const data = isClean(payload, redactor) ? payload : redacted(payload, redactor);
    const place = { step: step ?? null, turn: turn ?? null, ...(parent === undefined ? {} : { parent }) };
    file.append((n) => JSON.stringify({ v: TRACE_SCHEMA, run: runId, n, at, ...place, type, data }));
  };

  return {
    path,
    emit: (type, data, place = {}) => {
      if (closed) return;
      try {
        if (lost > 0) {
          const text = `${lost} lines before this one could not be written`;
          write("warning", {}, { text });
          lost = 0;
        }
        write(type, place, data);
      } catch (error) {
        lost++;
        if (!reported)
          log.warn(
            { runId, path, error: messageOf(error) },
            "the trace cannot be written; the run goes on without it",
          );
        reported = true;
      }
    },
    close: () => {
      closed = true;
      file.close();
    },
  };
}

function numberOf(line: string): number | null {
  const parsed = parseLine(line);
  return parsed.kind === "event" ? parsed.event.n : null;
}

/** Nothing to redact in any string or key: one look at all of them together, since nearly every line is clean and looking has a price of its own. */
function isClean(payload: object, redactor: Redactor): boolean {
  const texts: string[] = [];
  collectTexts(payload, texts);
  // What would be found in one of them is found here too; what is found across two of them only costs the slower way.
  const all = texts.join("\n");
  return redactor.redact(all) === all;
}

function collectTexts(value: unknown, into: string[]): void {
  if (typeof value === "string") into.push(value);
  else if (Array.isArray(value)) for (const item of value) collectTexts(item, into);
  else if (typeof value === "object" && value !== null)
    for (const [key, member] of Object.entries(value)) {
      into.push(key);
      collectTexts(member, into);
    }
}

/** Every string and key redacted before the line is put together: in JSON text an escape can hide where a secret begins. */
function redacted(value: unknown, redactor: Redactor): Json | undefined {
  if (typeof value === "string") return redactor.redact(value);
  if (Array.isArray(value)) return value.map((item) => redacted(item, redactor) ?? null);
  if (typeof value !== "object" || value === null) return value as Json | undefined;
  const members = Object.entries(value).map(([key, member]) => [
    redactor.redact(key),
    redacted(member, redactor),
  ]);
  return Object.fromEntries(members) as Json;
}
