/** What a rate limit of GitHub's holds back: the run leaves its slot and waits for the reset, within a bound, with all that it has kept. */

import type { Outcome } from "#src/dag/dag.ts";
import type { GitHubFailure } from "#src/github/github.ts";
import type { GitToken } from "#src/workspace/workspace.ts";
import type { RunContext } from "./run-context.ts";

/** Twice the time after which GitHub's limits begin anew. */
const PATIENCE_MS = 2 * 3_600_000;
/** When GitHub names no time. */
const UNNAMED_MS = 60_000;

/** Thrown by a source of git tokens that a rate limit keeps from giving one: without it git would only say that access is denied. */
export class TokenHeldBack extends Error {
  readonly failure: GitHubFailure;

  constructor(failure: GitHubFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/**
 * The outcome of a step that met the limit: it waits, and the run is looked at again when the limit is over. After two hours
 * of waiting in that step the run ends instead, with `what` could not be done.
 */
export function holdBack(context: RunContext, step: string, failure: GitHubFailure, what: string): Outcome {
  const now = context.ports.clock.now();
  if (now - heldSince(context, step, now) >= PATIENCE_MS) {
    const message = `${what} for two hours, since GitHub's rate limit was used up: ${failure.message} Say /retry later.`;
    return { kind: "failed", code: "github_failed", message, retry: false };
  }
  noteHold(context, failure);
  context.trace.emit("warning", { text: `held back by GitHub's rate limit: ${failure.message}` });
  return { kind: "waiting" };
}

/** The next visit comes when the limit is over, and the status says so. */
export function noteHold(context: RunContext, failure: GitHubFailure): void {
  // A reset that is further away than the run waits is a wrong clock, and may be no date at all.
  const wait = Math.min(failure.retryAfterMs ?? UNNAMED_MS, PATIENCE_MS);
  context.progress.holdUntil(context.ports.clock.now() + wait);
}

/** When the step began to wait, by the log: restarts make no wait longer. */
function heldSince(context: RunContext, step: string, now: number): number {
  const last = context.events().findLast(({ event }) => isRecord(event, step, "done", "failed"))?.at ?? 0;
  const first = context
    .events()
    .find((stored) => stored.at >= last && isRecord(stored.event, step, "paused"));
  return first?.at ?? now;
}

type Stored = ReturnType<RunContext["events"]>[number]["event"];

function isRecord(event: Stored, step: string, ...kinds: readonly string[]): boolean {
  if (event.type !== "step" || event.record.step !== step || !kinds.includes(event.record.kind)) return false;
  return event.record.kind !== "paused" || event.record.why === "waiting";
}

/** A source of tokens, and what kept it from giving one. */
export function watchedToken(token: GitToken): {
  readonly token: GitToken;
  readonly heldBack: () => GitHubFailure | null;
} {
  let held: GitHubFailure | null = null;
  return {
    heldBack: () => held,
    token: async (renew) => {
      try {
        return await token(renew);
      } catch (error) {
        if (error instanceof TokenHeldBack) held = error.failure;
        throw error;
      }
    },
  };
}
