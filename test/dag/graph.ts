/** Step graphs and an in-memory step log for the dag's tests. */

import type { Json } from "#src/base/canonical-json.ts";
import type { DriveEnd, Outcome, Step, StepContext, StepLog, StepRecord } from "#src/dag/dag.ts";
import { type DriveOptions, drive } from "#src/dag/drive.ts";
import { createManualClock } from "#test/support/manual-clock.ts";

export const NEVER = new AbortController().signal;

export function step(name: string, over: Partial<Step> = {}): Step {
  return {
    name,
    needs: [],
    attempts: 1,
    timeLimitMs: 60_000,
    replay: "safe",
    input: () => null,
    run: async () => done(name),
    ...over,
  };
}

export function done(output: Json = null): Outcome {
  return { kind: "done", output };
}

export function failed(retry: boolean, code = "no_changes"): Outcome {
  return { kind: "failed", code, message: `${code}, says the script`, retry };
}

export interface MemoryLog extends StepLog {
  readonly all: StepRecord[];
  /** `started a`, `done a`, ... */
  lines(): readonly string[];
}

export function memoryLog(records: readonly StepRecord[] = []): MemoryLog {
  const all = [...records];
  return {
    all,
    records: () => all,
    append: async (record) => {
      await null; // As a real log: never durable in the same turn.
      all.push(record);
    },
    lines: () => all.map((record) => `${record.kind} ${record.step}`),
  };
}

/** A step's run that the test ends by hand, and the context it was given. */
export function held() {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const entered = Promise.withResolvers<StepContext>();
  return {
    run: (context: StepContext) => {
      entered.resolve(context);
      return promise;
    },
    entered: entered.promise,
    end: resolve,
    fail: reject,
  };
}

export function driveOf(steps: readonly Step[], over: Partial<DriveOptions> = {}): Promise<DriveEnd> {
  return drive({ steps, log: memoryLog(), clock: createManualClock(), signal: NEVER, ...over });
}

/** A run function that gives the outcomes in turn and counts its starts. */
export function scripted(...outcomes: readonly (Outcome | Error)[]) {
  const attempts: number[] = [];
  const run: Step["run"] = async ({ attempt }) => {
    const outcome = outcomes[attempts.length];
    attempts.push(attempt);
    if (outcome instanceof Error) throw outcome;
    return outcome ?? failed(false, "started_too_often");
  };
  return { attempts, run };
}
