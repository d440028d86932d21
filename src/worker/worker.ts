/** The worker: takes hints from the queue, claims runs by lease, and at its start takes up whatever a predecessor left. */

import { messageOf } from "#src/base/result.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import { LeaseLost, openRun } from "#src/fix/run-context.ts";
import type { Attention, Lane, Queue } from "#src/queue/queue.ts";
import type { Lease } from "#src/store/store.ts";
import { attend } from "./attend.ts";

const LEASE_TTL_MS = 30_000;
const BEAT_MS = 5_000;
/** Plans that nobody answered end after this long. */
const EXPIRES_AFTER_MS = 14 * 24 * 3_600_000;
const SWEEP_EVERY_MS = 3_600_000;

export interface WorkerOptions {
  readonly ports: FixPorts;
  readonly queue: Queue;
  /** Unique per process. */
  readonly name: string;
}

export interface Worker {
  /** Removes a killed predecessor's leftovers, queues every run that has not ended, and begins to take hints. */
  start(): Promise<void>;
  /** Takes no more, aborts what runs at its last recorded step, and hands the leases back. */
  stop(deadlineMs: number): Promise<void>;
}

export function createWorker(options: WorkerOptions): Worker {
  const { ports, queue } = options;
  let cancelSweep: () => void = () => undefined;
  const sweepLater = () => {
    cancelSweep = ports.clock.timer(SWEEP_EVERY_MS, () => {
      takeUpUnfinished(options).then(sweepLater, (error: unknown) => {
        ports.log.error({ err: error }, "unfinished runs could not be looked at");
        sweepLater();
      });
    });
  };
  return {
    start: async () => {
      await ports.sandbox.sweep();
      await removeLeftovers(ports);
      queue.start((runId, lane, attention) => visit(options, runId, lane, attention));
      await takeUpUnfinished(options);
      sweepLater();
    },
    stop: async (deadlineMs) => {
      cancelSweep();
      await queue.stop(deadlineMs);
    },
  };
}

async function removeLeftovers(ports: FixPorts): Promise<void> {
  for (const runId of await ports.workspaces.leftovers()) {
    const run = await ports.store.run(runId);
    if (run === null || run.ended) await ports.workspaces.remove(runId, false);
  }
}

async function takeUpUnfinished({ ports, queue }: WorkerOptions): Promise<void> {
  const unfinished = await ports.store.runs({ ended: false, limit: 10_000 });
  // Oldest first: whoever waited longest goes on first.
  for (const run of unfinished.toReversed()) await queue.push(run.runId, "desk");
}

/** One visit to a run under a lease; another worker's lease means there is nothing to do here. */
async function visit(options: WorkerOptions, runId: string, lane: Lane, attention: Attention): Promise<void> {
  const { ports, name } = options;
  const stored = await ports.store.run(runId);
  if (stored === null) return;
  const lease = await ports.store.claim(runId, name, LEASE_TTL_MS);
  if (lease === null) return;
  const heart = startHeart(ports, lease);
  try {
    const signal = AbortSignal.any([attention.signal, heart.lost]);
    const opened = await openRun({ ports, lease, request: stored.request, signal });
    if (!opened.ok) {
      ports.log.error(
        { run: runId, contradiction: opened.error },
        "the event log of a run is corrupt; it is left as it is",
      );
      return;
    }
    const context = opened.value;
    try {
      const { run } = context;
      if (stored.supersededBy !== null && run().state === "awaiting_approval")
        await context.append({ type: "cancelled", by: stored.request.askedBy, why: "superseded" });
      const planned = context.events().findLast(({ event }) => event.type === "proposed");
      const expired = planned !== undefined && ports.clock.now() - planned.at > EXPIRES_AFTER_MS;
      if (expired && run().state === "awaiting_approval") await context.append({ type: "expired" });
      await attend({
        context,
        queue: options.queue,
        lane,
        attention,
        leaseLost: heart.lost,
        everyBeat: heart.onBeat,
      });
    } finally {
      context.trace.close();
    }
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    ports.log.warn({ run: runId, reason: messageOf(error) }, "another worker has taken the run over");
  } finally {
    heart.stop();
    await ports.store.release(lease);
  }
}

interface Heart {
  readonly lost: AbortSignal;
  onBeat(listener: () => void): void;
  stop(): void;
}

/** Renews the lease; when it is lost, everything under it is aborted. */
function startHeart(ports: FixPorts, lease: Lease): Heart {
  const lost = new AbortController();
  const listeners: (() => void)[] = [];
  let cancel: () => void = () => undefined;
  let stopped = false;
  const beat = async () => {
    const held = await ports.store.renew(lease, LEASE_TTL_MS);
    if (!held) lost.abort(new LeaseLost(`lease of run ${lease.runId} lost`));
    for (const listener of listeners) listener();
  };
  const next = () => {
    if (stopped || lost.signal.aborted) return;
    cancel = ports.clock.timer(BEAT_MS, () => {
      beat().then(next, (error: unknown) => {
        ports.log.warn({ err: error, run: lease.runId }, "the lease could not be renewed; trying again");
        next();
      });
    });
  };
  next();
  return {
    lost: lost.signal,
    onBeat: (listener) => listeners.push(listener),
    stop: () => {
      stopped = true;
      cancel();
    },
  };
}
