/** A clock that can stand still, so that the time a person takes to answer counts against no limit of a run. */

import type { Clock } from "#src/base/clock.ts";

export interface PausableClock extends Clock {
  /** Time stands still until `work` has settled. */
  pausedDuring<T>(work: () => Promise<T>): Promise<T>;
}

export function createPausableClock(real: Clock): PausableClock {
  let pauses = 0;
  let pausedAt = 0;
  let lost = 0;
  let waiting: (() => void)[] = [];
  const whenResumed = (go: () => void) => waiting.push(go);
  const now = () => (pauses > 0 ? pausedAt : real.now()) - lost;

  /** How much of a wait is left once it has passed on the real clock; 0 when time never stood still, also when the machine's time jumped. */
  const measure = (ms: number) => {
    const [begun, lostBefore] = [real.now(), lost];
    return () => (lost === lostBefore ? 0 : Math.max(0, ms - (real.now() - begun - (lost - lostBefore))));
  };

  const timer = (ms: number, fire: () => void) => {
    let cancelled = false;
    let cancel: () => void = () => undefined;
    const arm = (wait: number) => {
      const left = measure(wait);
      const look = () => {
        if (cancelled) return;
        if (pauses > 0) {
          whenResumed(look);
          return;
        }
        if (left() > 0) arm(left());
        else fire();
      };
      cancel = real.timer(wait, look);
    };
    arm(ms);
    return () => {
      cancelled = true;
      cancel();
    };
  };

  const sleep = async (ms: number, signal?: AbortSignal) => {
    for (let wait = ms; ; ) {
      const left = measure(wait);
      // The real clock's sleep keeps the process alive, its timer does not.
      await real.sleep(wait, signal);
      while (pauses > 0) await new Promise<void>(whenResumed);
      signal?.throwIfAborted();
      wait = left();
      if (wait === 0) return;
    }
  };

  return {
    now,
    timer,
    sleep,
    pausedDuring: async (work) => {
      if (pauses++ === 0) pausedAt = real.now();
      try {
        return await work();
      } finally {
        if (--pauses === 0) {
          lost += real.now() - pausedAt;
          const due = waiting;
          waiting = [];
          for (const go of due) go();
        }
      }
    },
  };
}
