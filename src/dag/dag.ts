/** The step scheduler's vocabulary: steps with needs, attempts and time limits, and the log that lets a rerun skip what stands. */

import type { Json } from "#src/base/canonical-json.ts";

/** What a step's work came to. A failure is a value; a thrown error counts as `{retry: true}`. */
export type Outcome =
  | { readonly kind: "done"; readonly output: Json }
  /** The step waits for something outside (a person): `drive` returns, and asks again at the next drive. */
  | { readonly kind: "waiting" }
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly retry: boolean };

export interface StepContext {
  readonly signal: AbortSignal;
  /** Which start this is of this step with this input, counting from 1 and over restarts; above 1, an earlier start may have had effects. */
  readonly attempt: number;
  /** Outputs of the steps named in `needs`. */
  readonly inputs: Readonly<Record<string, Json>>;
}

export interface Step {
  /** Permanent: a changed result shape means a new name. */
  readonly name: string;
  readonly needs: readonly string[];
  /** Starts allowed for one input since its last result: a start that a crash cut off counts, a `paused` one does not. */
  readonly attempts: number;
  /** After it the step's signal is aborted and the start counts as failed with code `timeout`. */
  readonly timeLimitMs: number;
  /** `never`: after a crash in the middle the step is not started again blindly; its own code looks first (it is called with `attempt > 1`). `safe`: it may simply run again. */
  readonly replay: "safe" | "never";
  /** What the step depends on besides its needs; hashed together with their outputs. */
  input(): Json;
  /** False when a stored output refers to something that is gone (a directory): the step then runs again. */
  stands?(output: Json): Promise<boolean>;
  run(context: StepContext): Promise<Outcome>;
}

/** The durable record of steps; the caller keeps it in the run's event log. */
export type StepRecord =
  | { readonly kind: "started"; readonly step: string; readonly inputHash: string; readonly attempt: number }
  | { readonly kind: "done"; readonly step: string; readonly inputHash: string; readonly output: Json }
  | {
      readonly kind: "failed";
      readonly step: string;
      readonly inputHash: string;
      readonly attempt: number;
      readonly code: string;
      readonly message: string;
      readonly retry: boolean;
    }
  /** A start that ended without a result and does not count against `attempts`: the step waits for something outside, or was interrupted from outside and settled. */
  | {
      readonly kind: "paused";
      readonly step: string;
      readonly inputHash: string;
      readonly attempt: number;
      readonly why: "waiting" | "aborted";
    };

export interface StepLog {
  records(): readonly StepRecord[];
  /** Resolves when the record is durable; rejects when the lease is lost. */
  append(record: StepRecord): Promise<void>;
}

export type DriveEnd =
  | { readonly kind: "complete"; readonly outputs: Readonly<Record<string, Json>> }
  | { readonly kind: "waiting"; readonly step: string }
  | { readonly kind: "failed"; readonly step: string; readonly code: string; readonly message: string }
  | { readonly kind: "aborted" };
