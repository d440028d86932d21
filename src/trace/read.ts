/** Reads a trace file back, as far as it is whole. */

import { readFile } from "node:fs/promises";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { parseLine } from "./parse-line.ts";
import { TRACE_SCHEMA, type TraceEvent } from "./trace.ts";

export interface TraceFile {
  readonly events: readonly TraceEvent[];
  /** Numbers, from 1, of lines that could not be read: torn by a crash, or no trace lines. */
  readonly skipped: readonly number[];
}

export interface TraceFailure {
  readonly code: "missing" | "unreadable" | "other_version" | "not_a_trace";
  /** A sentence that says what to do. */
  readonly message: string;
}

/** All whole lines in order. A file without any is `not_a_trace`, unless it is empty. */
export async function readTrace(path: string): Promise<Result<TraceFile, TraceFailure>> {
  let content: string;
  try {
    content = await readFile(path, "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    return err(
      missing
        ? {
            code: "missing",
            message: `There is no trace at ${path}; \`agent-fix trace\` lists those there are.`,
          }
        : { code: "unreadable", message: `The trace ${path} cannot be read: ${messageOf(error)}.` },
    );
  }
  return parseTrace(content, path);
}

/** `path` is used in messages only. */
export function parseTrace(content: string, path: string): Result<TraceFile, TraceFailure> {
  const events: TraceEvent[] = [];
  const skipped: number[] = [];
  for (const [index, line] of content.split("\n").entries()) {
    if (line.trim() === "") continue;
    const parsed = parseLine(line);
    if (parsed.kind === "other_version") return err(otherVersion(path, index + 1, parsed.version));
    if (parsed.kind === "event") events.push(parsed.event);
    else skipped.push(index + 1);
  }
  if (events.length === 0 && skipped.length > 1) {
    return err({
      code: "not_a_trace",
      message: `The file ${path} holds no trace lines; give the path of a trace.`,
    });
  }
  return ok({ events, skipped });
}

function otherVersion(path: string, line: number, version: number): TraceFailure {
  const remedy =
    version > TRACE_SCHEMA ? "Read it with a newer agent-fix." : "Read it with the agent-fix that wrote it.";
  return {
    code: "other_version",
    message: `Line ${line} of the trace ${path} has schema version ${version}; this version knows ${TRACE_SCHEMA}. ${remedy}`,
  };
}
