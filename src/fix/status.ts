/** Keeps the one status comment true: edited at once when the state changes, otherwise sparsely, and never twice with the same words. */

import { renderStatus, type StatusFacts } from "#src/gate/status-comment.ts";
import { checksOf } from "./checks.ts";
import { isPassing } from "./conversation.ts";
import { preparedOf } from "./intents.ts";
import { lastOutput, type RunContext } from "./run-context.ts";
import { SOLVE_STEP, type Solved } from "./steps/solve.ts";
import { PUBLISH_STEP, stepNames } from "./steps.ts";

export interface StatusKeeper {
  /** Writes the present state now, unless the comment already says it. False when GitHub may take it later. */
  show(): Promise<boolean>;
  /** The same for whoever cannot wait; a failure is logged. */
  showSoon(): void;
  /** Stops the timer and what is being written, and waits until nothing is under way. */
  close(): Promise<void>;
}

const EARLY_EVERY_MS = 30_000;
const LATE_EVERY_MS = 120_000;
/** After this long a watcher has other things to do than to reload the page. */
const LATE_AFTER_MS = 600_000;

export interface StatusOptions {
  readonly queuePosition: () => number | null;
}

export function keepStatus(context: RunContext, options: StatusOptions): StatusKeeper {
  const { clock } = context.ports;
  const closed = new AbortController();
  const { conversation } = context.during(closed.signal);
  const startedAt = clock.now();
  let shown = "";
  let writing: Promise<boolean> = Promise.resolve(true);
  let cancel: () => void = () => undefined;

  const write = async (): Promise<boolean> => {
    if (closed.signal.aborted) return false;
    const facts = statusFacts(context, options.queuePosition());
    const essence = JSON.stringify({ ...facts, asOf: 0 });
    if (essence === shown) return true;
    const written = await conversation.status(context.journal, renderStatus(facts));
    if (written.ok) shown = essence;
    else context.trace.emit("warning", { text: `status comment: ${written.error.message}` });
    return written.ok || !isPassing(written.error);
  };
  const show = () => {
    writing = writing.then(write, write);
    return writing;
  };
  const showSoon = () => {
    show().catch((error: unknown) => {
      context.ports.log.warn({ err: error, run: context.runId }, "the status comment could not be kept");
    });
  };
  const schedule = () => {
    if (closed.signal.aborted) return;
    const late = clock.now() - startedAt > LATE_AFTER_MS;
    cancel = clock.timer(late ? LATE_EVERY_MS : EARLY_EVERY_MS, () => {
      showSoon();
      schedule();
    });
  };
  schedule();
  return {
    show,
    showSoon,
    close: async () => {
      closed.abort(new Error("the run is left"));
      cancel();
      await writing.catch(() => undefined);
    },
  };
}

function statusFacts(context: RunContext, queuePosition: number | null): StatusFacts {
  const { operator, clock } = context.ports;
  return {
    run: context.run(),
    steps: stepStates(context),
    trace: context.progress.trace(),
    queuePosition: context.run().state === "queued" ? queuePosition : null,
    heldUntil: context.progress.heldUntil(),
    undecided: isUndecided(context),
    tracePlace: operator.tracePlace(context.runId),
    notes: [...(preparedOf(context)?.related ?? []), ...beganWith(context)],
    checks: checksOf(context).map(({ name, conclusion }) => ({ name, conclusion })),
    asOf: clock.now(),
    priceUnknown: context.progress.trace()?.costUsd === null,
  };
}

/** What the work began with, once a round of it has ended. */
function beganWith(context: RunContext): readonly string[] {
  const told = lastOutput<Solved>(context, SOLVE_STEP)?.began;
  return told === undefined ? [] : [told.text];
}

/** Publishing was left without an answer of GitHub's. */
function isUndecided(context: RunContext): boolean {
  if (context.run().state !== "publishing" || context.progress.running().has(PUBLISH_STEP)) return false;
  const last = context.stepLog.records().findLast(({ step }) => step === PUBLISH_STEP);
  return last?.kind === "paused" && last.why === "waiting";
}

function stepStates(context: RunContext): StatusFacts["steps"] {
  const running = context.progress.running();
  const last = new Map(context.stepLog.records().map((record) => [record.step, record.kind]));
  return stepNames(context).map((name) => {
    if (running.has(name)) return { name, state: "running" };
    const kind = last.get(name);
    if (kind === "done") return { name, state: "done" };
    return { name, state: kind === "failed" ? "failed" : "waiting" };
  });
}
