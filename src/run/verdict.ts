/** The verdict: what the app itself established about a patch, in types that emptiness cannot satisfy. */

export type NonEmpty<T> = readonly [T, ...T[]];

export type TestOutcome = "pass" | "fail" | "skip" | "missing";

/** How results were read; `report` is the strongest. */
export type EvidenceStrength = "report" | "text" | "exit_code";

/** One test that failed without the fix and passes with it. */
export interface FailToPass {
  readonly test: string;
  /** `existing`: it stood in the base commit. `new`: it was added or changed by the patch, and failed on the base sources. */
  readonly source: "existing" | "new";
  /** First lines of its message on the base. */
  readonly failedWith: string;
}

export interface TamperFinding {
  readonly kind:
    | "test_deleted"
    | "test_skipped"
    | "test_focused"
    | "fewer_tests"
    | "existing_test_changed"
    /** An assertion asserts less, is gone, or no longer decides: caught, conditional, behind a return. */
    | "assertion_loosened"
    /** An assertion of the base expects something else. */
    | "expectation_changed"
    /** A time limit was raised, or a failing test is tried again. */
    | "timeout_raised"
    | "coverage_lowered"
    /** A locked package comes from elsewhere, or has other bytes, under its old version. */
    | "dependency_swapped"
    /** A name leads to another module than before. */
    | "alias_changed"
    /** The source asks whether it is being tested, or compares with the very values of a test. */
    | "special_cased"
    | "runner_config_changed"
    | "test_script_changed"
    | "ci_changed"
    | "snapshot_changed"
    | "report_mismatch"
    | "early_exit";
  readonly path: string;
  readonly detail: string;
}

export interface SuiteEvidence {
  readonly label:
    | "baseline"
    | "patched"
    | "affected tests on the patched tree"
    | "original tests on patched sources"
    | "new tests on base sources"
    /** A trial of the proofs: what was added must fail. */
    | "tests that must fail, over patched sources"
    | "tests that must fail, over base sources";
  /** The shell text that was run, and the directory it ran in from the repository root. */
  readonly command: string;
  readonly directory: string;
  readonly exitCode: number | null;
  /** Null: it ended by itself. */
  readonly stopped: "timeout" | "memory" | "disk" | "not_started" | null;
  readonly counts: { readonly passed: number; readonly failed: number; readonly skipped: number };
  readonly strength: EvidenceStrength;
  /** SHA-256 over names and contents of the report files; left out or null: there was none. */
  readonly reportSha256?: string | null;
  readonly durationMs: number;
}

/** One of the repository's checks (lint, format, types) that fails with the patch and not without it. */
export interface FailedCheck {
  /** The key in the repository file. */
  readonly name: string;
  readonly command: string;
  readonly exitCode: number | null;
  /** The end of what it printed, redacted. */
  readonly output: string;
}

/** What every verdict carries for the evidence table. */
export interface Evidence {
  readonly suites: readonly SuiteEvidence[];
  readonly fixed: readonly FailToPass[];
  readonly stillFailing: readonly string[];
  readonly newlyFailing: readonly string[];
  /** First lines of the messages of some of them, by test; left out: there is none. */
  readonly newlyFailingWith?: Readonly<Record<string, string>>;
  readonly flaky: readonly string[];
  readonly tampering: readonly TamperFinding[];
  /** Checks that the patch breaks; left out when none was configured. */
  readonly failedChecks?: readonly FailedCheck[];
  /** Sentences for the plan: why the command was chosen, what was weak. */
  readonly notes: readonly string[];
}

export type UnprovenReason =
  | "no_tests"
  | "none_ran"
  | "cannot_set_up"
  | "timed_out"
  | "flaky"
  | "tampered"
  | "dependencies_changed"
  | "no_toolchain";

export type Verdict =
  | {
      readonly class: "proven";
      readonly by: NonEmpty<FailToPass>;
      readonly evidence: Evidence;
    }
  | { readonly class: "passing"; readonly because: string; readonly evidence: Evidence }
  | {
      readonly class: "unproven";
      readonly reason: UnprovenReason;
      readonly detail: string;
      readonly evidence: Evidence;
    }
  | {
      readonly class: "refuted";
      readonly because: NonEmpty<string>;
      readonly evidence: Evidence;
    };
