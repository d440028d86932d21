/** Looks for what people said while a run is attended, decides it in order, and stops the work when that asks for it. */

import { type Consequence, handleFact, openFacts } from "#src/fix/facts.ts";
import type { RunContext } from "#src/fix/run-context.ts";

export interface FactWatch {
  /** Looks for open facts soon; never rejects. */
  look(): void;
  /** Looks now and waits until all are decided or one asks for something. */
  settle(): Promise<void>;
  pending(): Consequence | null;
  clear(): void;
  /** Aborted as soon as a pending consequence asks that all work stops. */
  signal(): AbortSignal;
  /** Cuts look-ups off; what was not decided stays open. */
  close(): Promise<void>;
}

/** `onDecided` is called after each look that decided something, when replies may be due. */
export function createFactWatch(whole: RunContext, onDecided: () => void): FactWatch {
  const closed = new AbortController();
  const context = whole.during(closed.signal);
  let pending: Consequence | null = null;
  let stop = new AbortController();
  let looking: Promise<void> = Promise.resolve();
  const decide = async () => {
    if (closed.signal.aborted || pending !== null) return;
    await context.refresh();
    const open = openFacts(context);
    for (const fact of open) {
      const consequence = await handleFact(context, fact);
      if (consequence.kind === "none") continue;
      pending = consequence;
      const by = consequence.kind === "cancel" ? consequence.event.by : consequence.request.askedBy;
      stop.abort(new Error(`cancelled by ${by}`));
      return;
    }
    if (open.length > 0) onDecided();
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
      closed.abort(new Error("the run is left"));
      await looking.catch(() => undefined);
    },
  };
}
