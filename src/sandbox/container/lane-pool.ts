/** Hands out a session's containers, one command each: reuses clean ones, starts more for commands side by side, replaces spent ones. */

import type { Result } from "#src/base/result.ts";
import type { Lane } from "#src/sandbox/container/lane.ts";
import type { SandboxFailure } from "#src/sandbox/sandbox.ts";

export interface LanePool {
  /** A clean container; null: the signal came first, or the pool is closed. */
  take(signal: AbortSignal): Promise<Result<Lane, SandboxFailure> | null>;
  giveBack(lane: Lane): Promise<void>;
  /** Every container that is not removed yet. */
  lanes(): readonly Lane[];
  /** Removes every container; resolves with the engine's complaints. Nothing may be handed out any more. */
  close(): Promise<readonly string[]>;
}

/** Commands of one session that run at the same time; more wait. Each has the session's limit of processes for itself. */
export const MOST_LANES = 4;

type Started = Result<Lane, SandboxFailure>;

export function createLanePool(first: Lane, start: () => Promise<Started>): LanePool {
  const idle: Promise<Started>[] = [Promise.resolve({ ok: true, value: first })];
  const lanes = new Set<Lane>([first]);
  const starting = new Set<Promise<Started>>();
  const problems: string[] = [];
  const waiting: (() => void)[] = [];
  let taken = 0;
  let closed = false;

  const another = () => {
    const coming = start().then((lane) => {
      if (lane.ok) lanes.add(lane.value);
      starting.delete(coming);
      return lane;
    });
    starting.add(coming);
    return coming;
  };
  /** Removed in the background: the next command does not wait for it, the end of the session does. */
  const discard = async (lane: Lane) => {
    const problem = await lane.remove();
    if (lanes.delete(lane) && problem !== null) problems.push(problem);
  };
  const next = async (): Promise<Started> => {
    for (let ready = idle.shift(); ready !== undefined; ready = idle.shift()) {
      const lane = await ready;
      if (!lane.ok) continue; // Tried ahead of time; the real try says why.
      if (await lane.value.usable()) return lane;
      void discard(lane.value);
    }
    return another();
  };
  const turn = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const leave = () => {
        const at = waiting.indexOf(wake);
        if (at >= 0) waiting.splice(at, 1);
        resolve();
      };
      const wake = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      waiting.push(wake);
      signal.addEventListener("abort", leave, { once: true });
    });
  const free = () => {
    taken -= 1;
    waiting.shift()?.();
  };

  return {
    take: async (signal) => {
      while (taken >= MOST_LANES && !signal.aborted && !closed) await turn(signal);
      if (signal.aborted || closed) {
        if (taken < MOST_LANES) waiting.shift()?.(); // Its turn, if this was woken, is the next one's.
        return null;
      }
      taken += 1;
      const lane = await next();
      if (lane.ok && !closed && !signal.aborted) return lane;
      if (lane.ok) idle.push(Promise.resolve(lane));
      free();
      return lane.ok ? null : lane;
    },
    giveBack: async (lane) => {
      if (await lane.usable()) idle.push(Promise.resolve({ ok: true, value: lane }));
      else {
        void discard(lane);
        // Ahead of time, while the model thinks.
        if (!closed && idle.length === 0) idle.push(another());
      }
      free();
    },
    lanes: () => [...lanes],
    close: async () => {
      closed = true;
      for (const resolve of waiting) resolve();
      await Promise.all(starting);
      await Promise.all([...lanes].map(discard));
      return problems;
    },
  };
}
