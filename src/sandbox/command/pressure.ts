/** Watches, while one command runs, what the kernel counts about it: a kill for memory, and processor time used up. */

import type { Clock } from "#src/base/clock.ts";

export interface Counters {
  /** How often the kernel killed a process here for its memory. */
  memoryKills(): Promise<number>;
  /** Processor seconds used so far; null: not counted. */
  cpuSeconds(): Promise<number | null>;
}

export interface PressureOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  /** Processor seconds the command may use; null: as much as its time allows. */
  readonly cpuSeconds: number | null;
  /** Called once at most. */
  readonly onBreach: (reason: "memory" | "timeout") => void;
  readonly onProblem: (error: unknown) => void;
}

/** Short, since a command whose child was killed for its memory may only be waiting for that child. */
export const PRESSURE_INTERVAL_MS = 200;

/** Starts watching; the result stops it and tells whether the kernel killed for memory in between. */
export async function watchPressure(options: PressureOptions): Promise<() => Promise<boolean>> {
  const { clock, counters } = options;
  const before = { kills: await counters.memoryKills(), cpu: await counters.cpuSeconds() };
  let cancel: (() => void) | null = null;
  let over = false;

  const outOfMemory = async () => (await counters.memoryKills()) > before.kills;
  const outOfTime = async () => {
    if (options.cpuSeconds === null || before.cpu === null) return false;
    const now = await counters.cpuSeconds();
    return now !== null && now - before.cpu > options.cpuSeconds;
  };
  const look = async () => {
    const reason = (await outOfMemory()) ? "memory" : (await outOfTime()) ? "timeout" : null;
    if (over) return;
    if (reason === null) return schedule();
    over = true;
    options.onBreach(reason);
  };
  /** What could not be read once may be readable the next time: nobody else would end the command. */
  const again = (error: unknown) => {
    options.onProblem(error);
    if (!over) schedule();
  };
  const schedule = () => {
    cancel = clock.timer(PRESSURE_INTERVAL_MS, () => void look().catch(again));
  };
  schedule();
  return async () => {
    over = true;
    cancel?.();
    return outOfMemory();
  };
}
