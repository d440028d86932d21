/** What is known of GitHub's rate limits: one budget for all runs of an installation, so that a limit met by one call holds back every other. */

import type { Clock } from "#src/base/clock.ts";
import type { Answer } from "./requests.ts";

export interface Limits {
  /** How long calls on that budget are held back, in ms; 0: not at all. */
  waitOf(budget: string): number;
  /** GitHub asked for that wait. */
  note(budget: string, waitMs: number): void;
  /** Every answer tells what is left. */
  read(budget: string, headers: Answer<unknown>["headers"]): void;
}

/** A reset that is further away than GitHub's hour is a wrong clock. */
const MAX_HOLD_MS = 3_600_000;

export function createLimits(clock: Clock): Limits {
  const heldUntil = new Map<string, number>();
  const note = (budget: string, waitMs: number) => {
    const until = clock.now() + Math.min(waitMs, MAX_HOLD_MS);
    heldUntil.set(budget, Math.max(until, heldUntil.get(budget) ?? 0));
  };
  return {
    note,
    waitOf: (budget) => {
      const wait = (heldUntil.get(budget) ?? 0) - clock.now();
      if (wait > 0) return wait;
      heldUntil.delete(budget);
      return 0;
    },
    read: (budget, headers) => {
      const {
        "x-ratelimit-remaining": left,
        "x-ratelimit-resource": of,
        "x-ratelimit-reset": reset,
      } = headers;
      // GraphQL and searching have budgets of their own.
      if (String(left) !== "0" || String(of ?? "core") !== "core") return;
      const wait = Number(reset) * 1000 - clock.now();
      if (wait > 0) note(budget, wait);
    },
  };
}
