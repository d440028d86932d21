/** Sees one run on as far as it can go now: decides what people said, drives its steps, and leaves it in a true state. */

import type { DriveEnd } from "#src/dag/dag.ts";
import { type DriveOptions, drive } from "#src/dag/drive.ts";
import { acknowledge, type Consequence, handleFact, openFacts } from "#src/fix/facts.ts";
import { cleanUp, concludePlan, failRun, reportFailure } from "#src/fix/finish.ts";
import type { RunContext } from "#src/fix/run-context.ts";
import { keepStatus, type StatusKeeper } from "#src/fix/status.ts";
import { isDelivering, stepsFor } from "#src/fix/steps.ts";
import type { Attention, Lane, Queue } from "#src/queue/queue.ts";
import { FAILURE_CODES, type FailureCode, isEnded } from "#src/run/run.ts";

export interface Attendance {
  readonly context: RunContext;
  readonly queue: Queue;
  readonly lane: Lane;
  readonly attention: Attention;
  /** Aborted when the lease was lost. */
  readonly leaseLost: AbortSignal;
  /** Calls back every few seconds while the run is attended; facts recorded by other processes are found this way. */
  readonly everyBeat: (listener: () => void) => void;
}

/** Rejects only with `LeaseLost` or a defect; both leave the log as a prefix that the next attendance goes on from. */
export async function attend(attendance: Attendance): Promise<void> {
  const { context, queue, attention } = attendance;
  const status = keepStatus(context, {
    queuePosition: () => {
      const position = queue.waiting("work").indexOf(context.runId);
      return position < 0 ? null : position;
    },
  });
  const facts = createFactWatch(context);
  const unsubscribe = attention.onNudge(facts.look);
  attendance.everyBeat(facts.look);
  context.onStateChange(status.showSoon);
  try {
    await facts.settle();
    if (!isEnded(context.run())) await status.show();
    await goOn(attendance, facts, status);
    if (isEnded(context.run())) await windUp(context, status);
  } finally {
    unsubscribe();
    await facts.close();
    status.close();
  }
}

/** Everything that must hold after the end; each part looks before it acts, so a crash here is made up for at the next visit. */
async function windUp(context: RunContext, status: StatusKeeper): Promise<void> {
  const run = context.run();
  const effect = `wound-up-${run.state === "published" ? run.outcome : run.state}`;
  if (context.journal.done(effect) !== null) return;
  await reportFailure(context);
  await concludePlan(context);
  await status.show();
  await cleanUp(context);
  context.trace.emit("run_ended", { state: run.state, message: run.state === "failed" ? run.message : null });
  await context.journal.complete(effect, { id: context.runId, url: null });
}

async function goOn(attendance: Attendance, facts: FactWatch, status: StatusKeeper): Promise<void> {
  const { context, queue, lane, attention, leaseLost } = attendance;
  for (;;) {
    const consequence = facts.pending();
    if (consequence !== null) {
      await carryOut(attendance, consequence);
      facts.clear();
      await facts.settle();
      continue;
    }
    if (isEnded(context.run())) return;
    if (lane === "desk" && !isDelivering(context)) {
      await queue.push(context.runId, "work");
      return;
    }
    const end = await drive({
      steps: stepsFor(context),
      log: context.stepLog,
      ...watchSteps(context),
      clock: context.ports.clock,
      signal: AbortSignal.any([attention.signal, leaseLost, facts.signal()]),
    });
    if (facts.pending() !== null) continue;
    if ((await afterDrive(context, end, { facts, status })) === "leave") return;
  }
}

/** Tells trace and status of each start and end of a step. */
function watchSteps({ trace, progress }: RunContext): Pick<DriveOptions, "onStart" | "onEnd"> {
  return {
    onStart: ({ step, attempt }) => {
      progress.stepStarted(step);
      trace.emit("step_started", { attempt }, { step });
    },
    onEnd: ({ step, ...end }) => {
      progress.stepEnded(step);
      trace.emit("step_ended", end, { step });
    },
  };
}

async function afterDrive(
  context: RunContext,
  end: DriveEnd,
  { facts, status }: { readonly facts: FactWatch; readonly status: StatusKeeper },
): Promise<"again" | "leave"> {
  switch (end.kind) {
    case "complete":
      return "again";
    case "aborted":
      return "leave";
    case "failed":
      await endFailed(context, end);
      return "again";
    case "waiting": {
      if (context.run().state !== "awaiting_approval") return "again";
      await status.show();
      await cleanUp(context);
      // A command may have come in since the last look; nobody else will take it up while the lease is held.
      await facts.settle();
      return context.run().state === "awaiting_approval" && facts.pending() === null ? "leave" : "again";
    }
  }
}

async function endFailed(context: RunContext, end: Extract<DriveEnd, { kind: "failed" }>): Promise<void> {
  const withdrawn = /^cancelled:(unlabeled|issue_closed)$/.exec(end.code)?.[1];
  if (withdrawn === "unlabeled" || withdrawn === "issue_closed") {
    await context.append({ type: "cancelled", by: end.message, why: withdrawn });
    return;
  }
  const code: FailureCode =
    FAILURE_CODES.find((known) => known === end.code) ?? (end.code === "timeout" ? "budget" : "internal");
  await failRun(context, code, context.ports.redactor.redact(end.message));
}

async function carryOut(attendance: Attendance, consequence: Consequence): Promise<void> {
  const { context, queue } = attendance;
  if (consequence.kind === "cancel") {
    await context.append(
      { type: "fact_handled", seq: consequence.seq, decision: "cancel" },
      consequence.event,
    );
    if (consequence.commentId !== null)
      await acknowledge(context, consequence.commentId, { reaction: "+1", text: null });
  }
  if (consequence.kind === "new_run") {
    const { seq, request, commentId } = consequence;
    const created = await context.ports.store.createRun(request, context.runId);
    const other = created.ok ? null : await context.ports.store.run(created.error.activeRunId);
    const ours = created.ok || other?.request.parent?.runId === context.runId;
    const handled = { type: "fact_handled", seq, decision: ours ? "new_run" : "refuse" } as const;
    if (ours && !isEnded(context.run()))
      await context.append(handled, { type: "cancelled", by: request.askedBy, why: "superseded" });
    else await context.append(handled);
    await acknowledge(context, commentId, {
      reaction: ours ? "+1" : "confused",
      text: ours
        ? null
        : `Run \`${created.ok ? "" : created.error.activeRunId}\` is at work on this issue. Say \`/cancel\` first.`,
    });
    const nextId = created.ok ? request.runId : created.error.activeRunId;
    if (ours) await queue.push(nextId, "desk");
  }
}

interface FactWatch {
  /** Looks for open facts soon; never rejects. */
  look(): void;
  /** Looks now and waits until all are decided or one asks for something. */
  settle(): Promise<void>;
  pending(): Consequence | null;
  clear(): void;
  /** Aborted as soon as a pending consequence asks that all work stops. */
  signal(): AbortSignal;
  close(): Promise<void>;
}

function createFactWatch(context: RunContext): FactWatch {
  let pending: Consequence | null = null;
  let stop = new AbortController();
  let looking: Promise<void> = Promise.resolve();
  let closed = false;
  const decide = async () => {
    if (closed || pending !== null) return;
    await context.refresh();
    for (const fact of openFacts(context)) {
      const consequence = await handleFact(context, fact);
      if (consequence.kind === "none") continue;
      pending = consequence;
      const by = consequence.kind === "cancel" ? consequence.event.by : consequence.request.askedBy;
      stop.abort(new Error(`cancelled by ${by}`));
      return;
    }
  };
  const settle = () => {
    looking = looking.then(decide, decide);
    return looking;
  };
  return {
    look: () => {
      settle().catch((error: unknown) => {
        context.ports.log.warn({ err: error, run: context.runId }, "facts about a run could not be decided");
      });
    },
    settle,
    pending: () => pending,
    clear: () => {
      pending = null;
      stop = new AbortController();
    },
    signal: () => stop.signal,
    close: async () => {
      closed = true;
      await looking.catch(() => undefined);
    },
  };
}
