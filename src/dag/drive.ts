/** Drives a step graph as far as it goes: everything that may run does so at the same time, recorded before it starts and after it ends. */

import type { Json } from "#src/base/canonical-json.ts";
import type { Clock } from "#src/base/clock.ts";
import { type Ending, runAttempt } from "./attempt.ts";
import type { DriveEnd, Step, StepLog, StepRecord } from "./dag.ts";
import { inOrder } from "./order.ts";
import { type RunnableStep, ready, type StandingStep } from "./ready.ts";

/** One start as a subscriber sees it. */
export interface StepStart {
  readonly step: string;
  readonly attempt: number;
}

export interface StepEnd extends StepStart {
  readonly outcome: "done" | "waiting" | "failed" | "aborted";
  /** Null unless it failed. */
  readonly code: string | null;
  readonly message: string | null;
  readonly ms: number;
}

export interface DriveOptions {
  readonly steps: readonly Step[];
  readonly log: StepLog;
  readonly clock: Clock;
  /** Aborting it stops all steps; an interrupted start does not count against a step's attempts. */
  readonly signal: AbortSignal;
  /** Called once the start, or the end, is on record. */
  readonly onStart?: (start: StepStart) => void;
  readonly onEnd?: (end: StepEnd) => void;
}

interface State {
  readonly options: DriveOptions;
  readonly steps: readonly Step[];
  /** Our own copy, which grows only when the log has made the record durable. */
  readonly records: StepRecord[];
  readonly running: Map<string, Promise<void>>;
  readonly waiting: Set<string>;
  /** Outputs that `stands` has denied, until their step is started again. */
  readonly gone: Set<string>;
  /** Steps whose output needs no further question in this drive. */
  readonly checked: Set<string>;
  /** Stops every step. */
  readonly stopper: AbortController;
  /** Appends happen one after another. */
  appended: Promise<unknown>;
  /** The first error that is not a step's own: the log refused a record, or a subscriber or a step's `input` or `stands` threw. */
  fatal: { readonly error: unknown } | null;
}

/**
 * Runs the graph until it is complete, waits, has failed or is aborted; no step of it runs any more when this settles, except one that
 * ignored its signal for the grace time. Rejects with a TypeError for a graph that is not one, and with the log's own error when a
 * record cannot be made (the lease is lost). `input()` is asked once per drive.
 */
export async function drive(options: DriveOptions): Promise<DriveEnd> {
  const state: State = {
    options,
    steps: inOrder(options.steps).map(withInputOnce),
    records: [...options.log.records()],
    running: new Map(),
    waiting: new Set(),
    gone: new Set(),
    checked: new Set(),
    stopper: new AbortController(),
    appended: Promise.resolve(),
    fatal: null,
  };
  const onAbort = () => state.stopper.abort(options.signal.reason);
  if (options.signal.aborted) onAbort();
  options.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const end = await advance(state);
    await stopAll(state, new Error(`the run ended: ${end.kind}`));
    if (state.fatal !== null) throw state.fatal.error;
    return end;
  } catch (error) {
    await stopAll(state, error);
    throw error;
  } finally {
    options.signal.removeEventListener("abort", onAbort);
  }
}

async function stopAll(state: State, reason: unknown): Promise<void> {
  state.stopper.abort(reason);
  await Promise.all(state.running.values());
}

async function advance(state: State): Promise<DriveEnd> {
  for (;;) {
    if (state.fatal !== null) throw state.fatal.error;
    const held = new Set([...state.running.keys(), ...state.waiting]);
    const { standing, runnable, failed } = ready(state.steps, state.records, { gone: state.gone, held });
    const aborted = state.options.signal.aborted;
    const unchecked = standing.filter(({ step }) => step.stands && !state.checked.has(step.name));
    if (unchecked.length > 0 && !aborted) {
      await checkStanding(state, unchecked);
      continue; // Time has passed: look again.
    }
    if (standing.length === state.steps.length) return { kind: "complete", outputs: outputsOf(standing) };
    if (aborted) return { kind: "aborted" };
    const [failure] = failed;
    if (failure !== undefined) {
      return { kind: "failed", step: failure.step.name, code: failure.code, message: failure.message };
    }

    for (const start of runnable) state.running.set(start.step.name, runStep(state, start));
    if (state.running.size === 0) {
      const [step = ""] = state.waiting;
      return { kind: "waiting", step };
    }
    await Promise.race(state.running.values());
  }
}

function outputsOf(standing: readonly StandingStep[]): Readonly<Record<string, Json>> {
  return Object.fromEntries(standing.map(({ step, output }) => [step.name, output]));
}

/** Stops at the first output that is gone, since what follows from it must be judged anew. */
async function checkStanding(state: State, standing: readonly StandingStep[]): Promise<void> {
  for (const { step, output } of standing) {
    state.checked.add(step.name);
    if (await step.stands?.(output)) continue;
    state.gone.add(step.name);
    return;
  }
}

/** One start from its first record to its last; never rejects, what goes wrong outside the step becomes `fatal`. */
async function runStep(state: State, start: RunnableStep): Promise<void> {
  const { clock, onStart, onEnd } = state.options;
  const { name } = start.step;
  const { inputHash, attempt } = start;
  try {
    await record(state, { kind: "started", step: name, inputHash, attempt });
    state.gone.delete(name);
    state.checked.add(name);
    onStart?.({ step: name, attempt });
    const began = clock.now();
    const ending = await runAttempt(start, state.stopper.signal, clock);
    const result = recordOf(start, ending);
    if (result !== null) await record(state, result);
    if (ending.kind === "waiting") state.waiting.add(name);
    onEnd?.({ step: name, attempt, ...summaryOf(ending), ms: clock.now() - began });
  } catch (error) {
    state.fatal ??= { error };
    state.stopper.abort(error);
  } finally {
    state.running.delete(name);
  }
}

async function record(state: State, entry: StepRecord): Promise<void> {
  const appended = state.appended.then(() => state.options.log.append(entry));
  state.appended = appended;
  await appended;
  state.records.push(entry);
}

/** Null when nothing may be said: the step may still be running, so its start stays open and counts as an attempt. */
function recordOf({ step, inputHash, attempt }: RunnableStep, ending: Ending): StepRecord | null {
  const about = { step: step.name, inputHash };
  switch (ending.kind) {
    case "done":
      return { kind: "done", ...about, output: ending.output };
    case "failed": {
      const { code, message, retry } = ending;
      return { kind: "failed", ...about, attempt, code, message, retry };
    }
    case "waiting":
      return { kind: "paused", ...about, attempt, why: "waiting" };
    case "aborted":
      return ending.settled ? { kind: "paused", ...about, attempt, why: "aborted" } : null;
  }
}

function summaryOf(ending: Ending): Pick<StepEnd, "outcome" | "code" | "message"> {
  if (ending.kind === "failed") return { outcome: "failed", code: ending.code, message: ending.message };
  return { outcome: ending.kind, code: null, message: null };
}

/** The same step, asked for its input at most once, so that its hash cannot change while it runs. */
function withInputOnce(step: Step): Step {
  let known: { readonly input: Json } | null = null;
  const { stands } = step;
  return {
    name: step.name,
    needs: step.needs,
    attempts: step.attempts,
    timeLimitMs: step.timeLimitMs,
    replay: step.replay,
    input: () => {
      known ??= { input: step.input() };
      return known.input;
    },
    ...(stands === undefined ? {} : { stands: (output: Json) => stands.call(step, output) }),
    run: (context) => step.run(context),
  };
}
