/** A clock that moves only when a test says so, and then fires what falls due in order. */

import type { Clock } from "#src/base/clock.ts";

export interface ManualClock extends Clock {
  /** Moves by `ms`, firing timers and sleeps in the order they fall due; what they set off (and sets new timers) is given turns to run. */
  advance(ms: number): Promise<void>;
  /** Timers and sleeps that have not fired. */
  pending(): number;
  /** Resolves as soon as at least `count` timers are pending: how a test waits until the code under test waits. */
  waitForTimers(count: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** Turns of the event loop after each firing: enough for chains of promises and for one hop through setImmediate. */
const TURNS_AFTER_FIRING = 3;

export function createManualClock(startMs = Date.UTC(2025, 0, 1)): ManualClock {
  let now = startMs;
  const timers = new Set<Timer>();
  const waiters = new Set<{ readonly count: number; readonly resolve: () => void }>();

  const tellWaiters = () => {
    for (const waiter of waiters) {
      if (timers.size < waiter.count) continue;
      waiters.delete(waiter);
      waiter.resolve();
    }
  };

  const timer = (ms: number, fire: () => void) => {
    const entry: Timer = { at: now + Math.max(0, ms), fire };
    timers.add(entry);
    tellWaiters();
    return () => {
      timers.delete(entry);
    };
  };

  const nextDue = (until: number): Timer | undefined =>
    [...timers].filter((entry) => entry.at <= until).sort((a, b) => a.at - b.at)[0];

  return {
    now: () => now,
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const cancel = timer(ms, () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        });
        const onAbort = () => {
          cancel();
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
    advance: async (ms) => {
      const until = now + ms;
      await turns();
      for (let due = nextDue(until); due !== undefined; due = nextDue(until)) {
        timers.delete(due);
        now = Math.max(now, due.at);
        due.fire();
        await turns();
      }
      now = until;
    },
    pending: () => timers.size,
    waitForTimers: (count) =>
      new Promise((resolve) => {
        waiters.add({ count, resolve });
        tellWaiters();
      }),
  };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS_AFTER_FIRING; turn++) await new Promise((resolve) => setImmediate(resolve));
}
