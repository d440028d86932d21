/** Trying again: a pure policy and the one executor, for every adapter that speaks to a provider. */

import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import { messageOf } from "#src/base/result.ts";
import type { Trouble } from "./failures.ts";
import type { ModelEvent, Reply } from "./model.ts";

export interface RetryPolicy {
  /** All tries together, the first one included. */
  readonly tries: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { tries: 6, firstDelayMs: 1_000, maxDelayMs: 30_000 };

/** A timer may fire a millisecond early; a wait the provider asked for must not. */
const TIMER_SLACK_MS = 10;
/** Jitter only lengthens a wait, by at most this share, so that runs that were throttled together come back apart. */
const JITTER = 0.25;

/**
 * Milliseconds to wait before the next try, or null when there is none: the trouble is not of the passing kind, or the tries
 * are used up. `failedTries` counts the one that just failed; `chance` is in [0, 1). Never less than the provider asked for.
 */
export function nextDelay(
  policy: RetryPolicy,
  failedTries: number,
  trouble: Pick<Trouble, "retryable" | "retryAfterMs">,
  chance: number,
): number | null {
  if (!trouble.retryable || failedTries >= policy.tries) return null;
  const doubled = policy.firstDelayMs * 2 ** (failedTries - 1);
  const backOff = Math.round(Math.min(policy.maxDelayMs, doubled * (1 + JITTER * chance)));
  const asked = trouble.retryAfterMs === null ? 0 : trouble.retryAfterMs + TIMER_SLACK_MS;
  return Math.max(backOff, asked);
}

/** How one try ended. `repaired`: the request itself was changed to what the provider takes, and goes out again at once. */
export type TryEnd =
  | { readonly type: "reply"; readonly reply: Reply }
  | { readonly type: "trouble"; readonly trouble: Trouble }
  | { readonly type: "repaired"; readonly reason: string };

export type StreamedEvent = Extract<ModelEvent, { type: "text" | "reasoning" }>;

export interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  readonly ids: Pick<Ids, "chance">;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * Runs tries until one gives a reply or none is left; every further one is announced by a `retry` event, which makes void
 * what was streamed before. That is why a stream that broke after text was shown may be tried again too: whoever shows text
 * as it comes is told to take it back, and half a reply is never mixed with the next one. Repairs don't count as tries.
 */
export async function* withRetries(
  attempt: () => AsyncGenerator<StreamedEvent, TryEnd>,
  { policy, clock, ids, signal, log }: RetryOptions,
): AsyncGenerator<ModelEvent> {
  let failedTries = 0;
  for (;;) {
    if (signal.aborted) return yield cancelled(signal);
    const end = yield* settled(attempt);
    // A reply that was whole before the abort is paid for and is handed over.
    if (end.type === "reply") return yield { type: "done", reply: end.reply };
    if (signal.aborted) return yield cancelled(signal);
    if (end.type === "repaired") {
      log.info({ reason: end.reason }, "model request changed to what the provider accepts");
      yield { type: "retry", attempt: failedTries + 1, of: policy.tries, waitMs: 0, reason: end.reason };
      continue;
    }
    failedTries++;
    const { failure } = end.trouble;
    const waitMs = nextDelay(policy, failedTries, end.trouble, ids.chance());
    if (waitMs === null) {
      log.warn({ code: failure.code, status: failure.status, failedTries }, "model request failed");
      return yield { type: "failed", failure };
    }
    log.info(
      { code: failure.code, status: failure.status, failedTries, waitMs },
      "model request is tried again",
    );
    yield { type: "retry", attempt: failedTries, of: policy.tries, waitMs, reason: failure.message };
    if (!(await waited(clock, waitMs, signal))) return yield cancelled(signal);
  }
}

/** False when the wait was cut short by the signal. */
export async function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch {
    return false;
  }
}

/** The port never throws: a defect of an adapter becomes a failure like any other, and is not tried again. */
async function* settled(
  attempt: () => AsyncGenerator<StreamedEvent, TryEnd>,
): AsyncGenerator<StreamedEvent, TryEnd> {
  try {
    return yield* attempt();
  } catch (error) {
    const message = `The model adapter failed unexpectedly: ${messageOf(error)}`;
    return {
      type: "trouble",
      trouble: {
        failure: { code: "broken_stream", message, status: null },
        retryable: false,
        retryAfterMs: null,
      },
    };
  }
}

/** The final event of a request that was aborted, with the reason its owner gave. */
export function cancelled(signal: AbortSignal): ModelEvent {
  const reason = signal.reason instanceof DOMException ? "the request was aborted" : messageOf(signal.reason);
  return { type: "failed", failure: { code: "cancelled", message: `Cancelled: ${reason}`, status: null } };
}
