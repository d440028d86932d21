/** The only door to time: production uses `systemClock`, tests hand in one they move by hand. */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `fire` once after `ms` milliseconds; the returned function cancels it. Does not keep the process alive by itself. */
  timer(ms: number, fire: () => void): () => void;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  timer: (ms, fire) => {
    const handle = setTimeout(fire, ms);
    handle.unref();
    return () => clearTimeout(handle);
  },
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const handle = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      const onAbort = () => {
        clearTimeout(handle);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
};

/** A signal that is aborted after `ms` milliseconds, for calls that must not wait for ever. */
export function deadline(clock: Clock, ms: number): AbortSignal {
  const controller = new AbortController();
  clock.timer(ms, () => controller.abort(new Error(`no answer within ${ms / 1000} s`)));
  return controller.signal;
}

/** An instant as GitHub and the trace write it: ISO 8601 in UTC. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
