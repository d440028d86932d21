/** Waits for a provider, but not for ever: the clock runs only while we wait, and only real events wind it up again. */

import type { Clock } from "#src/base/clock.ts";

export interface StallWatch {
  /** The promise's outcome, or a rejection with the signal's reason as soon as `signal` is aborted or the time is used up. */
  during<T>(wait: Promise<T>): Promise<T>;
  /** Something arrived that counts: the full time is available again. */
  progress(): void;
  /** Aborted by the owner or by the watch; its reason says by which. */
  readonly signal: AbortSignal;
  /** The time was used up. */
  readonly stalled: boolean;
  /**
   * Aborts whatever is still running and lets go of the owner's signal. With `rest`, what remains of a body that is whole,
   * that happens when it is read, so that the connection can be used again. Only the first call counts.
   */
  close(rest?: Promise<unknown>): void;
}

/** How long the end of a body may take after its last event. */
const REST_MS = 1_000;

/** Keep-alive comments must not call `progress` (FAULTS A17), and a slow consumer of our events is not the provider's stall. */
export function createStallWatch(clock: Clock, limitMs: number, owner: AbortSignal): StallWatch {
  const controller = new AbortController();
  let leftMs = limitMs;
  let stalled = false;
  let closed = false;
  const onOwnerAbort = () => controller.abort(owner.reason);
  if (owner.aborted) onOwnerAbort();
  else owner.addEventListener("abort", onOwnerAbort, { once: true });

  return {
    during: async (wait) => {
      const startedAt = clock.now();
      const stop = clock.timer(leftMs, () => {
        stalled = true;
        controller.abort(new Error(`nothing arrived for ${limitMs} ms`));
      });
      try {
        return await orAborted(wait, controller.signal);
      } finally {
        stop();
        leftMs = Math.max(0, leftMs - (clock.now() - startedAt));
      }
    },
    progress: () => {
      leftMs = limitMs;
    },
    signal: controller.signal,
    get stalled() {
      return stalled;
    },
    close: (rest) => {
      if (closed) return;
      closed = true;
      owner.removeEventListener("abort", onOwnerAbort);
      const end = () => controller.abort(new Error("the request is over"));
      if (rest === undefined) return end();
      const stop = clock.timer(REST_MS, end);
      rest.finally(stop);
    },
  };
}

function orAborted<T>(wait: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    wait.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
