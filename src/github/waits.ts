/** When a refused request may be sent again and after how long: a pure decision with a bound on the whole wait. */

import type { GitHubFailure } from "./github.ts";

/** What one call has been through so far. */
export interface Progress {
  readonly kind: "read" | "write";
  /** Times the request was sent and ended in a server or network failure. */
  readonly broken: number;
  /** Times GitHub answered with a rate limit. */
  readonly limited: number;
  /** ms waited for rate limits so far. */
  readonly limitWaitMs: number;
}

export const MAX_READ_TRIES = 3;
/** A run's lease and a maintainer's patience both outlive two minutes; a longer limit is reported instead of waited out. */
export const MAX_LIMIT_WAIT_MS = 120_000;

const READ_BACKOFF_MS = 1_000;
/** GitHub asks for a minute when it names no time; three growing waits come to 105 s. */
const LIMIT_BACKOFF_MS = 15_000;

/** True when a call has no patience left for such a wait (ms). */
export function isTooLong(waitMs: number, progress: Progress): boolean {
  return waitMs > 0 && progress.limitWaitMs + waitMs > MAX_LIMIT_WAIT_MS;
}

/**
 * The wait in ms before the next try, or null to give up. A rate-limit answer means that nothing was done, so a write
 * may follow it too; after a server or network failure only a read is sent again.
 */
export function nextWait(failure: GitHubFailure, progress: Progress): number | null {
  if (failure.code === "rate_limited") {
    const wait = failure.retryAfterMs ?? LIMIT_BACKOFF_MS * 2 ** (progress.limited - 1);
    // A wait of zero would turn a wrong clock into a busy loop.
    const bounded = Math.max(wait, 1_000);
    return isTooLong(bounded, progress) ? null : bounded;
  }
  if (failure.code !== "server_error" && failure.code !== "unreachable") return null;
  if (progress.kind === "write" || progress.broken >= MAX_READ_TRIES) return null;
  return READ_BACKOFF_MS * 3 ** (progress.broken - 1);
}
