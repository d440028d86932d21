/** Reads the step records: which steps stand, which may run now and which have failed for good. Pure but for the steps' own `input()`. */

import { canonicalJson, type Json, sha256 } from "#src/base/canonical-json.ts";
import type { Step, StepRecord } from "./dag.ts";
import { inOrder } from "./order.ts";

/** A step whose output was recorded for exactly its present input. */
export interface StandingStep {
  readonly step: Step;
  readonly output: Json;
}

export interface RunnableStep {
  readonly step: Step;
  readonly inputHash: string;
  readonly inputs: Readonly<Record<string, Json>>;
  readonly attempt: number;
}

export interface FailedStep {
  readonly step: Step;
  readonly code: string;
  readonly message: string;
}

/** All lists are in an order in which needs come first; a step in none of them waits for its needs or is held. */
export interface Readiness {
  readonly standing: readonly StandingStep[];
  readonly runnable: readonly RunnableStep[];
  readonly failed: readonly FailedStep[];
}

export interface ReadyOptions {
  /** Steps whose recorded output no longer exists, found by `stands`. */
  readonly gone?: ReadonlySet<string>;
  /** Steps that are running or waiting now: neither runnable nor failed, whatever the records say. */
  readonly held?: ReadonlySet<string>;
}

/** What the records say of one step with one input. */
interface History {
  /** All starts, for numbering. */
  starts: number;
  /** Starts that count against `attempts`: those since the last result, less the paused ones. */
  used: number;
  /** Set while the last word is a result. */
  done: { readonly output: Json } | null;
  failure: { readonly code: string; readonly message: string; readonly retry: boolean } | null;
}

const CUT_OFF = {
  code: "interrupted",
  message: "the process ended in the middle of it",
  retry: true,
} as const;

/** SHA-256 over the step's name, its own input and the outputs of its needs: the key under which its output is kept. */
export function inputHash(step: Step, outputsOfNeeds: Readonly<Record<string, Json>>): string {
  return sha256(canonicalJson({ name: step.name, input: step.input(), inputs: outputsOfNeeds }));
}

/**
 * Sorts the steps by what the records allow. An output stands for its input for ever, so a step whose input returns to an
 * earlier value is not run again (its `stands` decides whether what the output names is still there).
 * Throws a TypeError for a graph that is not one.
 */
export function ready(
  steps: readonly Step[],
  records: readonly StepRecord[],
  { gone = new Set(), held = new Set() }: ReadyOptions = {},
): Readiness {
  const histories = fold(records);
  const outputs = new Map<string, Json>();
  const standing: StandingStep[] = [];
  const runnable: RunnableStep[] = [];
  const failed: FailedStep[] = [];
  for (const step of inOrder(steps)) {
    if (held.has(step.name) || !step.needs.every((need) => outputs.has(need))) continue;
    const inputs = Object.fromEntries(step.needs.map((need) => [need, outputs.get(need) as Json]));
    const hash = inputHash(step, inputs);
    const history = histories.get(keyOf(step.name, hash)) ?? newHistory();
    const failure = history.failure;
    if (history.done !== null && !gone.has(step.name)) {
      outputs.set(step.name, history.done.output);
      standing.push({ step, output: history.done.output });
    } else if (failure !== null && (!failure.retry || history.used >= step.attempts)) {
      failed.push({ step, code: failure.code, message: failure.message });
    } else {
      runnable.push({ step, inputHash: hash, inputs, attempt: history.starts + 1 });
    }
  }
  return { standing, runnable, failed };
}

function keyOf(step: string, hash: string): string {
  return `${hash} ${step}`;
}

function newHistory(): History {
  return { starts: 0, used: 0, done: null, failure: null };
}

function fold(records: readonly StepRecord[]): ReadonlyMap<string, History> {
  const histories = new Map<string, History>();
  for (const record of records) {
    const key = keyOf(record.step, record.inputHash);
    const history = histories.get(key) ?? newHistory();
    histories.set(key, history);
    apply(history, record);
  }
  return histories;
}

function apply(history: History, record: StepRecord): void {
  switch (record.kind) {
    case "started":
      history.starts++;
      history.used++;
      history.done = null;
      // Holds until the start's result follows; if none does, the process was killed.
      history.failure = CUT_OFF;
      break;
    case "done":
      history.used = 0;
      history.done = { output: record.output };
      history.failure = null;
      break;
    case "failed":
      history.failure = { code: record.code, message: record.message, retry: record.retry };
      break;
    case "paused":
      history.used = Math.max(0, history.used - 1);
      history.failure = null;
      break;
  }
}
