/** Watches the stage as anybody could: the issue's comments on the embedded GitHub, and the trace file of the run. */

import type { Clock } from "#src/base/clock.ts";
import { parseMarker } from "#src/gate/marker.ts";
import type { EmbeddedGitHub } from "#src/github/sim/server.ts";
import { readTrace } from "#src/trace/read.ts";
import type { TraceEvent } from "#src/trace/trace.ts";
import { REPOSITORY } from "./stage.ts";

const EVERY_MS = 100;

/** Calls `look` until it gives a value; rejects after `limitMs` with `what` in the sentence, or when the signal is aborted. */
export async function until<T>(
  {
    clock,
    signal,
    limitMs,
  }: { readonly clock: Clock; readonly signal: AbortSignal; readonly limitMs: number },
  what: string,
  look: () => T | null | Promise<T | null>,
): Promise<T> {
  const end = clock.now() + limitMs;
  for (;;) {
    const value = await look();
    if (value !== null) return value;
    if (clock.now() > end) throw new Error(`waited ${limitMs / 1000} s in vain for ${what}`);
    await clock.sleep(EVERY_MS, signal);
  }
}

export interface SeenComment {
  readonly id: number;
  readonly body: string;
  readonly runId: string | null;
  readonly kind: "status" | "plan" | "intent" | "answer" | null;
}

/** The app's comments on the issue, oldest first. */
export function appComments(github: EmbeddedGitHub, issue: number): readonly SeenComment[] {
  return github.comments(REPOSITORY, issue).flatMap((comment) => {
    const marker = parseMarker(comment.body);
    if (marker === null || !comment.login.endsWith("[bot]")) return [];
    return [{ id: comment.id, body: comment.body, runId: marker.runId, kind: marker.kind }];
  });
}

/** New lines of the trace since the last call; none while there is no file yet. */
export function createTraceTail(
  path: (runId: string) => string,
): (runId: string) => Promise<readonly TraceEvent[]> {
  let seen = 0;
  return async (runId) => {
    const trace = await readTrace(path(runId));
    if (!trace.ok) return [];
    const fresh = trace.value.events.slice(seen);
    seen = trace.value.events.length;
    return fresh;
  };
}

/** One line for people about a trace event; null for what the demo leaves out. */
export function tellEvent(event: TraceEvent): string | null {
  const data = event.data as Readonly<Record<string, unknown>>;
  switch (event.type) {
    case "suite":
      return `tests (${data.label}): ${data.passed} passed, ${data.failed} failed`;
    case "tool_call":
      return `agent: ${data.name} ${brief(String(data.arguments))}`;
    case "verdict":
      return `verdict: ${data.class}${data.reason === null ? "" : ` (${String(data.reason).replaceAll("_", " ")})`}`;
    case "model_failed":
      return `model: ${data.message}`;
    case "warning":
      return `warning: ${data.text}`;
    default:
      return null;
  }
}

function brief(json: string): string {
  return json.length > 90 ? `${json.slice(0, 89)}…` : json;
}
