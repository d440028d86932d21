/** Live numbers of a run for its status comment: which steps run, and what the agent loop has used so far. */

import type { TraceFacts } from "#src/gate/plan-comment.ts";

export interface Progress {
  /** Null until the agent loop has started. */
  trace(): TraceFacts | null;
  setTrace(facts: TraceFacts): void;
  running(): ReadonlySet<string>;
  /** When a rate limit that holds this run back is over, ms since the epoch; null: nothing does. */
  heldUntil(): number | null;
  holdUntil(instant: number | null): void;
  stepStarted(step: string): void;
  stepEnded(step: string): void;
  /** Called on every change, for whoever shows the status. */
  onChange(listener: () => void): void;
}

export function createProgress(): Progress {
  let facts: TraceFacts | null = null;
  let held: number | null = null;
  const running = new Set<string>();
  const listeners: (() => void)[] = [];
  const changed = () => {
    for (const listener of listeners) listener();
  };
  return {
    trace: () => facts,
    setTrace: (next) => {
      facts = next;
      changed();
    },
    running: () => running,
    heldUntil: () => held,
    holdUntil: (instant) => {
      held = instant;
      changed();
    },
    stepStarted: (step) => {
      running.add(step);
      changed();
    },
    stepEnded: (step) => {
      running.delete(step);
      changed();
    },
    onChange: (listener) => listeners.push(listener),
  };
}
