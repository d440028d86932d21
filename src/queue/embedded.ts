/** The queue inside one process: a list of waiting runs per lane, with p-queue as the limiter of each. */

import PQueue from "p-queue";
import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import { messageOf } from "#src/base/result.ts";
import type { Lane, Queue } from "./queue.ts";

type Handle = Parameters<Queue["start"]>[0];

export interface EmbeddedQueueOptions {
  /** How many runs each lane handles at once; at least 1. */
  readonly concurrency: Readonly<Record<Lane, number>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Why work is stopped when the queue is, as whoever reads the work later is told; default: `the queue is stopping`. */
  readonly stopReason?: string;
}

const LANES: readonly Lane[] = ["work", "desk"];

/**
 * An in-memory queue. p-queue holds no runs, only turns: a turn takes the first waiting run of its lane that is not being handled,
 * so that a run which must wait for its other visit to end keeps its place without holding a slot.
 */
export function createEmbeddedQueue(options: EmbeddedQueueOptions): Queue {
  const { concurrency, clock, log, stopReason = "the queue is stopping" } = options;
  const waiting: Record<Lane, Set<string>> = { work: new Set(), desk: new Set() };
  const limiter: Record<Lane, PQueue> = {
    work: new PQueue({ concurrency: concurrency.work, autoStart: false }),
    desk: new PQueue({ concurrency: concurrency.desk, autoStart: false }),
  };
  /** Runs being handled, each with those who want to hear of further hints. */
  const handled = new Map<string, Set<() => void>>();
  const stopping = new AbortController();
  let handle: Handle | null = null;
  let settled: Promise<unknown> | null = null;

  const offerTurn = (lane: Lane) => {
    if (stopping.signal.aborted) return;
    limiter[lane]
      .add(() => takeTurn(lane))
      .catch((error: unknown) => log.error({ lane, error: messageOf(error) }, "the queue's limiter failed"));
  };

  const takeTurn = async (lane: Lane) => {
    const runId = [...waiting[lane]].find((id) => !handled.has(id));
    if (runId === undefined || handle === null || stopping.signal.aborted) return;
    waiting[lane].delete(runId);
    const listeners = new Set<() => void>();
    handled.set(runId, listeners);
    try {
      await handle(runId, lane, {
        signal: stopping.signal,
        onNudge: (listener) => subscribe(listeners, listener),
      });
    } catch (error) {
      log.error({ runId, lane, error: messageOf(error) }, "handling a run failed");
    } finally {
      handled.delete(runId);
      for (const blocked of LANES) if (waiting[blocked].has(runId)) offerTurn(blocked);
    }
  };

  const nudge = (runId: string, listeners: ReadonlySet<() => void>) => {
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch (error) {
        log.error({ runId, error: messageOf(error) }, "a listener for hints failed");
      }
    }
  };

  return {
    push: async (runId, lane) => {
      if (stopping.signal.aborted) return;
      const listeners = handled.get(runId);
      const merged = waiting[lane].has(runId);
      waiting[lane].add(runId);
      if (listeners !== undefined) nudge(runId, listeners);
      else if (!merged) offerTurn(lane);
    },
    drop: async (runId, lane) => {
      // Its turn finds the next one, or nothing.
      waiting[lane].delete(runId);
    },
    start: (handler) => {
      if (handle !== null) throw new Error("the queue was started before; make one queue per handler");
      handle = handler;
      if (!stopping.signal.aborted) for (const lane of LANES) limiter[lane].start();
    },
    waiting: (lane) => [...waiting[lane]],
    stop: async (deadlineMs) => {
      if (!stopping.signal.aborted) {
        stopping.abort(new Error(stopReason));
        // Turns still offered find nothing to take; clearing p-queue itself would reject each of them.
        for (const lane of LANES) waiting[lane].clear();
      }
      settled ??= Promise.all(LANES.map((lane) => limiter[lane].onPendingZero()));
      await withinDeadline(settled, deadlineMs, clock);
    },
    ready: async () => handle !== null && !stopping.signal.aborted,
  };
}

/** Each subscription counts by itself, also when the same function is given twice. */
function subscribe(listeners: Set<() => void>, listener: () => void): () => void {
  const entry = () => listener();
  listeners.add(entry);
  return () => {
    listeners.delete(entry);
  };
}

async function withinDeadline(work: Promise<unknown>, deadlineMs: number, clock: Clock): Promise<void> {
  const deadline = Promise.withResolvers<void>();
  const cancel = clock.timer(deadlineMs, deadline.resolve);
  try {
    await Promise.race([work, deadline.promise]);
  } finally {
    cancel();
  }
}
