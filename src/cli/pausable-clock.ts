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
  let resumed = Promise.withResolvers<void>();
  const now = () => (pauses > 0 ? pausedAt : real.now()) - lost;

  const timer = (ms: number, fire: () => void) => {
    let cancelled = false;
    let cancel: () => void = () => undefined;
    const arm = (left: number, lostBefore: number) => {
      if (cancelled) return;
      cancel = real.timer(left, () => look(lostBefore));
    };
    const look = (lostBefore: number) => {
      if (cancelled) return;
      if (pauses > 0)
        resumed.promise.then(
          () => look(lostBefore),
          () => undefined,
        );
      else if (lost > lostBefore) arm(lost - lostBefore, lost);
      else fire();
    };
    arm(ms, lost);
    return () => {
      cancelled = true;
      cancel();
    };
  };

  const sleep = async (ms: number, signal?: AbortSignal) => {
    let lostBefore = lost;
    for (let left = ms; left > 0 || left === ms; left = lost - lostBefore) {
      lostBefore = lost;
      // The real clock's sleep keeps the process alive, its timer does not.
      await real.sleep(left, signal);
      if (pauses > 0) await resumed.promise;
      signal?.throwIfAborted();
      if (lost === lostBefore) return;
    }
  };

  return {
    now,
    timer,
    sleep,
    pausedDuring: async (work) => {
      if (pauses++ === 0) {
        pausedAt = real.now();
        resumed = Promise.withResolvers();
      }
      try {
        return await work();
      } finally {
        if (--pauses === 0) {
          lost += real.now() - pausedAt;
          resumed.resolve();
        }
      }
    },
  };
}
