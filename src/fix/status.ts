/** Keeps the one status comment true: edited at once when the state changes, otherwise sparsely, and never twice with the same words. */

import { renderStatus, type StatusFacts } from "#src/gate/status-comment.ts";
import type { RunContext } from "./run-context.ts";
import { DELIVERY_STEPS, WORK_STEPS } from "./steps.ts";

export interface StatusKeeper {
  /** Writes the present state now, unless the comment already says it. */
  show(): Promise<void>;
  /** The same for whoever cannot wait; a failure is logged. */
  showSoon(): void;
  /** Stops the timer; does not write. */
  close(): void;
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
  const startedAt = clock.now();
  let shown = "";
  let writing: Promise<void> = Promise.resolve();
  let cancel: () => void = () => undefined;
  let closed = false;

  const write = async () => {
    const facts = statusFacts(context, options.queuePosition());
    const essence = JSON.stringify({ ...facts, asOf: 0 });
    if (essence === shown) return;
    const written = await context.conversation.status(context.journal, renderStatus(facts));
    if (written.ok) shown = essence;
    else context.trace.emit("warning", { text: `status comment: ${written.error.message}` });
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
    if (closed) return;
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
    close: () => {
      closed = true;
      cancel();
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
    tracePlace: operator.tracePlace(context.runId),
    asOf: clock.now(),
    priceUnknown: context.progress.trace()?.costUsd === null,
  };
}

function stepStates(context: RunContext): StatusFacts["steps"] {
  const running = context.progress.running();
  const last = new Map(context.stepLog.records().map((record) => [record.step, record.kind]));
  return [...WORK_STEPS, ...DELIVERY_STEPS].map(({ name }) => {
    if (running.has(name)) return { name, state: "running" };
    const kind = last.get(name);
    if (kind === "done") return { name, state: "done" };
    return { name, state: kind === "failed" ? "failed" : "waiting" };
  });
}
