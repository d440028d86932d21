/** Sees one run on as far as it can go now: decides what people said, drives its steps, and leaves it in a true state. */

import type { DriveEnd } from "#src/dag/dag.ts";
import { type DriveOptions, drive } from "#src/dag/drive.ts";
import { checksRecorded } from "#src/fix/checks.ts";
import { type Consequence, openFacts } from "#src/fix/facts.ts";
import { cleanUp, concludeIntent, concludePlan, reportFailure } from "#src/fix/finish.ts";
import { answerThreads } from "#src/fix/review.ts";
import type { RunContext } from "#src/fix/run-context.ts";
import { keepStatus, type StatusKeeper } from "#src/fix/status.ts";
import { PROPOSE_STEP } from "#src/fix/steps/propose.ts";
import { isDelivering, isResting, PUBLISH_STEP, stepsFor } from "#src/fix/steps.ts";
import type { Attention, Lane, Queue } from "#src/queue/queue.ts";
import {
  type CommandFact,
  FAILURE_CODES,
  type FailureCode,
  isEnded,
  type RunEvent,
  type RunRequest,
} from "#src/run/run.ts";
import { createFactWatch, type FactWatch } from "./fact-watch.ts";
import { createOutbox, type Outbox } from "./outbox.ts";

export interface Attendance {
  readonly context: RunContext;
  readonly queue: Queue;
  readonly lane: Lane;
  readonly attention: Attention;
  /** Aborted when the lease was lost. */
  readonly leaseLost: AbortSignal;
  /** Calls back every few seconds while the run is attended; facts recorded by other processes are found this way. */
  readonly everyBeat: (listener: () => void) => void;
  /** Runs ahead of this one in the queue; null when it does not wait. */
  readonly queuePosition: () => number | null;
}

interface Attended extends Attendance {
  readonly facts: FactWatch;
  readonly status: StatusKeeper;
  readonly outbox: Outbox;
}

/**
 * True when this visit left nothing that should be tried again soon. Rejects with `LeaseLost`, an error of the store or a
 * defect; each leaves the log as a prefix that the next attendance goes on from.
 */
export async function attend(attendance: Attendance): Promise<boolean> {
  const { context, attention } = attendance;
  const status = keepStatus(context, attendance);
  const outbox = createOutbox(context);
  const facts = createFactWatch(context, outbox.sendSoon);
  const unsubscribe = attention.onNudge(facts.look);
  attendance.everyBeat(facts.look);
  context.onStateChange(status.showSoon);
  try {
    await facts.settle();
    outbox.sendSoon();
    const left = await goOn({ ...attendance, facts, status, outbox });
    const woundUp =
      !isEnded(context.run()) || ((await windUp(context, status)) && (await tellChecks(context, status)));
    if (!(await outbox.send()) || !woundUp || left === "later") return false;
    if (!isEnded(context.run())) return true;
    // What GitHub gave no answer to is decided at the next visit.
    if (openFacts(context).length > 0) return false;
    await context.settle();
    return true;
  } finally {
    unsubscribe();
    await Promise.all([facts.close(), outbox.close(), status.close()]);
  }
}

/** Everything that must hold after the end; each part looks before it acts. False when GitHub did not take all of it: then, or after a crash, the next visit makes up for it. */
async function windUp(context: RunContext, status: StatusKeeper): Promise<boolean> {
  const run = context.run();
  const outcomes = context.events().filter(({ event }) => event.type === "outcome").length;
  // A pull request may be closed, opened again and closed.
  const time = outcomes > 1 ? `-${outcomes}` : "";
  const effect = `wound-up-${run.state === "published" ? run.outcome : run.state}${time}`;
  if (context.journal.done(effect) !== null) return true;
  await cleanUp(context);
  const told = [
    await reportFailure(context),
    await concludePlan(context),
    await concludeIntent(context),
    await answerThreads(context),
    await status.show(),
  ];
  if (told.includes(false)) return false;
  context.trace.emit("run_ended", { state: run.state, message: run.state === "failed" ? run.message : null });
  await context.journal.complete(effect, { id: context.runId, url: null });
  return true;
}

/** The status says how the checks of the pull request came out. */
async function tellChecks(context: RunContext, status: StatusKeeper): Promise<boolean> {
  const recorded = checksRecorded(context);
  const effect = `checks-told-${recorded}`;
  if (recorded === 0 || context.journal.done(effect) !== null) return true;
  if (!(await status.show())) return false;
  await context.journal.complete(effect, { id: context.runId, url: null });
  return true;
}

/** `later`: something outside gave no answer, and is asked again at the next visit. */
async function goOn(attended: Attended): Promise<"leave" | "later"> {
  const { context, queue, lane, attention, leaseLost, facts, status } = attended;
  if (lane === "work" || isDelivering(context)) status.showSoon();
  for (;;) {
    const consequence = facts.pending();
    if (consequence !== null) {
      await carryOut(attended, consequence);
      attended.outbox.sendSoon();
      facts.clear();
      await facts.settle();
      continue;
    }
    if (isEnded(context.run())) {
      // What had to wait for the end, such as a pull request that was closed before it was on record.
      await facts.settle();
      if (facts.pending() === null) return "leave";
      continue;
    }
    if (isResting(context)) {
      if (await rest(attended)) return "leave";
      continue;
    }
    if (lane === "desk" && !isDelivering(context)) {
      await queue.push(context.runId, "work");
      await unlessStopped(status.show(), facts);
      if (facts.pending() !== null) continue;
      return "leave";
    }
    // Whoever reads the intent sees who approved it; what GitHub does not take now is made up for at the end.
    await unlessStopped(concludeIntent(context), facts);
    context.progress.holdUntil(null);
    const end = await drive({
      steps: stepsFor(context),
      log: context.stepLog,
      ...watchSteps(context),
      clock: context.ports.clock,
      signal: AbortSignal.any([attention.signal, leaseLost, facts.signal()]),
    });
    if (facts.pending() !== null) continue;
    const next = await afterDrive(attended, end);
    if (next !== "again") return next;
  }
}

/** Waits for what GitHub may take long over, but not when a person wants the run stopped. */
async function unlessStopped(work: Promise<unknown>, facts: FactWatch): Promise<void> {
  const stop = facts.signal();
  const stopped = Promise.withResolvers<void>();
  const onAbort = () => stopped.resolve();
  if (stop.aborted) onAbort();
  stop.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([work, stopped.promise]);
  } finally {
    stop.removeEventListener("abort", onAbort);
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

async function afterDrive(attended: Attended, end: DriveEnd): Promise<"again" | "leave" | "later"> {
  const { context, facts, status } = attended;
  switch (end.kind) {
    case "complete":
      return "again";
    case "aborted":
      return "leave";
    case "failed":
      await endFailed(context, end);
      return "again";
    case "waiting": {
      // GitHub gave no answer, or takes nothing for a while; the next visit asks again.
      const held = context.progress.heldUntil() !== null;
      if (held || end.step === PUBLISH_STEP || isPlanHeldBack(context, end.step)) {
        await unlessStopped(status.show(), facts);
        return "later";
      }
      if (context.run().state !== "awaiting_approval") return "again";
      return (await rest(attended)) ? "leave" : "again";
    }
  }
}

/** Leaves nothing but the record, and the tree of a plan, while a person decides; false when something has come in meanwhile. */
async function rest({ context, facts, status }: Attended): Promise<boolean> {
  const { state } = context.run();
  await unlessStopped(status.show(), facts);
  await cleanUp(context);
  // A command may have come in since the last look; nobody else will take it up while the lease is held.
  await facts.settle();
  return context.run().state === state && facts.pending() === null;
}

/** A result that was sent back leaves another state behind. */
function isPlanHeldBack(context: RunContext, step: string): boolean {
  return step === PROPOSE_STEP && context.run().state === "verifying";
}

const WITHDRAWN = ["unlabeled", "issue_closed", "pull_request_closed"] as const;

async function endFailed(context: RunContext, end: Extract<DriveEnd, { kind: "failed" }>): Promise<void> {
  const withdrawn = WITHDRAWN.find((why) => end.code === `cancelled:${why}`);
  if (withdrawn !== undefined) {
    await context.append({ type: "cancelled", by: end.message, why: withdrawn });
    return;
  }
  const code: FailureCode =
    FAILURE_CODES.find((known) => known === end.code) ?? (end.code === "timeout" ? "budget" : "internal");
  await context.append({ type: "failed", code, message: context.ports.redactor.redact(end.message) });
}

async function carryOut({ context, queue }: Attended, consequence: Consequence): Promise<void> {
  if (consequence.kind === "cancel") {
    const { seq, reply, event } = consequence;
    const run = context.run();
    // The work went on until it was stopped, and what it wrote first stands: the fact is decided anew.
    if (isEnded(run) || run.state === "publishing") return;
    const handled = { type: "fact_handled", seq, decision: "cancel" } as const;
    await context.append(reply === null ? handled : { ...handled, reply }, event);
  }
  if (consequence.kind === "new_run") await startOver(context, queue, consequence);
}

async function startOver(
  context: RunContext,
  queue: Queue,
  { seq, request, fact }: Extract<Consequence, { kind: "new_run" }>,
): Promise<void> {
  const { store } = context.ports;
  const created = await store.createRun(request, context.runId);
  const nextId = created.ok ? request.runId : created.error.activeRunId;
  const next = created.ok ? null : ((await store.run(nextId))?.request ?? null);
  // A crash after the creation leads here again: then the active run is the one that this command asked for.
  const ours = created.ok || (next !== null && asksTheSame(next, request));
  if (!ours && next !== null && isFollowUp(next, context.runId, fact)) {
    // Two commands in the same moment: the second is for the run that the first began.
    const key = `${fact.review === true ? "review" : "comment"}-${fact.commentId}`;
    await store.appendFact(nextId, key, { type: "command_received", fact });
    await context.append({ type: "fact_handled", seq, decision: "passed_on" });
    await queue.push(nextId, "desk");
    return;
  }
  const handled: RunEvent = {
    type: "fact_handled",
    seq,
    decision: ours ? "new_run" : "refuse",
    reply: {
      commentId: fact.commentId,
      ...(fact.pullRequest === undefined ? {} : { on: fact.pullRequest }),
      reaction: fact.review === true ? null : ours ? "+1" : "confused",
      text: ours ? null : `Run \`${nextId}\` is at work on this issue. Say \`/cancel\` first.`,
    },
  };
  if (ours && !isEnded(context.run()))
    await context.append(handled, { type: "cancelled", by: request.askedBy, why: "superseded" });
  else await context.append(handled);
  if (ours) await queue.push(nextId, "desk");
}

function asksTheSame(one: RunRequest, other: RunRequest): boolean {
  return (
    one.parent?.runId === other.parent?.runId &&
    one.parent?.instruction === other.parent?.instruction &&
    one.trigger === other.trigger &&
    one.askedBy === other.askedBy &&
    one.budgetUsd === other.budgetUsd
  );
}

/** Words on a pull request are for a run that works on it. */
function isFollowUp({ parent, pullRequest }: RunRequest, runId: string, fact: CommandFact): boolean {
  return parent?.runId === runId && pullRequest?.number === fact.pullRequest;
}
