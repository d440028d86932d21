/** The worker: takes hints from the queue, claims runs by lease, and at its start takes up whatever a predecessor left. */

import { messageOf } from "#src/base/result.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import { LeaseLost, openRun, type RunContext } from "#src/fix/run-context.ts";
import type { Attention, Lane, Queue } from "#src/queue/queue.ts";
import { isEnded } from "#src/run/run.ts";
import type { Lease, StoredRun } from "#src/store/store.ts";
import { attend } from "./attend.ts";

const LEASE_TTL_MS = 30_000;
const BEAT_MS = 5_000;
/** Plans that nobody answered end after this long. */
const EXPIRES_AFTER_MS = 14 * 24 * 3_600_000;
const SWEEP_EVERY_MS = 3_600_000;
/** When a visit failed, or GitHub did not take what had to be said. */
const AGAIN_AFTER_MS = 60_000;
/** When another worker holds the lease, which may have died. */
const LEASED_AGAIN_AFTER_MS = 10_000;
/** A run that has moved up in the queue says so if it is among this many; further back, an old number does no harm. */
const POSITIONS_KEPT = 10;

export interface WorkerOptions {
  readonly ports: FixPorts;
  readonly queue: Queue;
  /** Unique per process. */
  readonly name: string;
  /** No other process works on this store: leases found at the start are a dead predecessor's, and nobody need wait until they expire. */
  readonly alone: boolean;
}

export interface Worker {
  /** Removes a killed predecessor's leftovers, queues every run that is not done with, and begins to take hints. */
  start(): Promise<void>;
  /** Takes no more, aborts what runs at its last recorded step, and hands the leases back. */
  stop(deadlineMs: number): Promise<void>;
}

export function createWorker(options: WorkerOptions): Worker {
  const { ports, queue } = options;
  let cancelSweep: () => void = () => undefined;
  const agenda = createAgenda(options);
  const sweepLater = () => {
    cancelSweep = ports.clock.timer(SWEEP_EVERY_MS, () => {
      takeUpOpen(options).then(sweepLater, (error: unknown) => {
        ports.log.error({ err: error }, "open runs could not be looked at");
        sweepLater();
      });
    });
  };
  return {
    start: async () => {
      await ports.sandbox.sweep();
      await removeLeftovers(ports);
      if (options.alone) await freeLeases(ports);
      queue.start(async (runId, lane, attention) => {
        const again = { after: AGAIN_AFTER_MS };
        try {
          again.after = await visit(options, runId, lane, attention);
        } finally {
          agenda.again(runId, again.after);
        }
      });
      await takeUpOpen(options);
      sweepLater();
    },
    stop: async (deadlineMs) => {
      cancelSweep();
      agenda.close();
      await queue.stop(deadlineMs);
    },
  };
}

interface Agenda {
  /** Plans the next visit to a run in place of the one planned before; `Infinity`: none. */
  again(runId: string, afterMs: number): void;
  close(): void;
}

function createAgenda({ ports, queue }: WorkerOptions): Agenda {
  const planned = new Map<string, () => void>();
  let closed = false;
  const forget = (runId: string) => {
    planned.get(runId)?.();
    planned.delete(runId);
  };
  return {
    again: (runId, afterMs) => {
      forget(runId);
      if (closed || afterMs === Number.POSITIVE_INFINITY) return;
      const cancel = ports.clock.timer(afterMs, () => {
        planned.delete(runId);
        queue.push(runId, "desk").catch((error: unknown) => {
          ports.log.error({ err: error, run: runId }, "a run could not be queued; the next sweep finds it");
        });
      });
      planned.set(runId, cancel);
    },
    close: () => {
      closed = true;
      for (const runId of [...planned.keys()]) forget(runId);
    },
  };
}

async function removeLeftovers(ports: FixPorts): Promise<void> {
  for (const runId of await ports.workspaces.leftovers()) {
    const run = await ports.store.run(runId);
    if (run === null || run.ended) await ports.workspaces.remove(runId, false);
  }
}

async function freeLeases({ store, log }: FixPorts): Promise<void> {
  for (const { runId, worker } of await store.leases()) {
    const lease = await store.claim(runId, worker, LEASE_TTL_MS);
    if (lease === null) continue;
    await store.release(lease);
    log.info({ run: runId, worker }, "took back the lease of a process that has ended");
  }
}

async function takeUpOpen({ ports, queue }: WorkerOptions): Promise<void> {
  // Oldest first: whoever waited longest goes on first.
  for (const run of await ports.store.openRuns()) await queue.push(run.runId, "desk");
}

/** One visit to a run under a lease. Returns after how many ms the run wants to be visited again even if nobody asks. */
async function visit(
  options: WorkerOptions,
  runId: string,
  lane: Lane,
  attention: Attention,
): Promise<number> {
  const { ports, name, queue } = options;
  const stored = await ports.store.run(runId);
  if (stored === null) return Number.POSITIVE_INFINITY;
  const lease = await ports.store.claim(runId, name, LEASE_TTL_MS);
  if (lease === null) return LEASED_AGAIN_AFTER_MS;
  if (lane === "work") await tellPositions(queue);
  const heart = startHeart(ports, lease);
  try {
    const signal = AbortSignal.any([attention.signal, heart.lost]);
    const opened = await openRun({ ports, lease, request: stored.request, signal });
    if (!opened.ok) {
      ports.log.error(
        { run: runId, contradiction: opened.error },
        "the event log of a run is corrupt; it is left as it is",
      );
      return Number.POSITIVE_INFINITY;
    }
    const context = opened.value;
    try {
      await endOverdue(context, stored);
      const done = await attend({
        context,
        queue,
        lane,
        attention,
        leaseLost: heart.lost,
        everyBeat: heart.onBeat,
        queuePosition: () => positionOf(queue, runId),
      });
      if (isEnded(context.run()) && queue.waiting("work").includes(runId)) {
        await queue.drop(runId, "work");
        await tellPositions(queue);
      }
      return done ? Number.POSITIVE_INFINITY : againAfter(context);
    } finally {
      context.trace.close();
    }
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    ports.log.warn({ run: runId, reason: messageOf(error) }, "another worker has taken the run over");
    return LEASED_AGAIN_AFTER_MS;
  } finally {
    heart.stop();
    await ports.store.release(lease);
  }
}

/** What a rate limit holds back asks when it is over, and holds no slot until then. */
function againAfter({ progress, ports }: RunContext): number {
  const left = (progress.heldUntil() ?? 0) - ports.clock.now();
  return Math.min(Math.max(left, AGAIN_AFTER_MS), SWEEP_EVERY_MS);
}

/** Ends a plan that a newer run has superseded, or that nobody has answered for too long. */
async function endOverdue(context: RunContext, { supersededBy, request }: StoredRun): Promise<void> {
  const { state } = context.run();
  if (state !== "awaiting_approval" && state !== "awaiting_intent") return;
  if (supersededBy !== null) {
    const newer = await context.ports.store.run(supersededBy);
    const by = newer?.request.askedBy ?? request.askedBy;
    return context.append({ type: "cancelled", by, why: "superseded" });
  }
  const planned = context
    .events()
    .findLast(({ event }) => event.type === "proposed" || event.type === "intended");
  if (planned !== undefined && context.ports.clock.now() - planned.at > EXPIRES_AFTER_MS)
    await context.append({ type: "expired" });
}

/** Has those that wait say anew at which place. */
async function tellPositions(queue: Queue): Promise<void> {
  for (const waiting of queue.waiting("work").slice(0, POSITIONS_KEPT)) await queue.push(waiting, "desk");
}

function positionOf(queue: Queue, runId: string): number | null {
  const position = queue.waiting("work").indexOf(runId);
  return position < 0 ? null : position;
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
