/** The verify port: what is detected in a repository, how a suite is run, and the facts a verdict is made from. */

import type { Result } from "#src/base/result.ts";
import type {
  EvidenceStrength,
  FailedCheck,
  SuiteEvidence,
  TamperFinding,
  TestOutcome,
  Verdict,
} from "#src/run/verdict.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import type { ChangedFile, CommitFiles } from "#src/workspace/workspace.ts";
import type { RunnerKind, Stack } from "./runner-kind.ts";

/** A command and why it was chosen. */
export interface DetectedCommand {
  /** Shell text, run as `bash -o pipefail -c`. */
  readonly command: string;
  /** Directory from the repository root; `.` for the root. */
  readonly directory: string;
  /** Where it was found, for people: e.g. `scripts.test in package.json`. */
  readonly because: string;
}

export type { RunnerKind } from "./runner-kind.ts";

/** A program that the manifests ask for, for the sentence that says what is missing. */
export interface ToolNeed {
  readonly tool: string;
  /** As people write it: `≥ 1.23`, `22.x`; empty: any version. */
  readonly version: string;
  /** The manifest that says so. */
  readonly from: string;
}

export interface DetectedSuite extends DetectedCommand {
  readonly runner: RunnerKind;
  /** Absent where the runner is used by many stacks, or nothing was detected. */
  readonly stack?: Stack;
  /** Absent where a command was configured without a manifest beside it. */
  readonly needs?: readonly ToolNeed[];
}

export interface Detected {
  /** Null: nothing to install. */
  readonly setup: DetectedCommand | null;
  /** Null: no tests were found. */
  readonly test: DetectedSuite | null;
  readonly notes: readonly string[];
}

/** What the repository file may fix in advance; null: detect. */
export interface DetectOverrides {
  readonly setup: string | null;
  readonly test: string | null;
  readonly workingDirectory: string | null;
  /** Paths that a change touches, where they are known: in a monorepo the tests are searched from there upwards. */
  readonly near?: readonly string[];
}

export interface TestCase {
  /** Stable over runs: file, then names joined by ` > `. */
  readonly id: string;
  readonly outcome: Exclude<TestOutcome, "missing">;
  /** First lines of the failure message; empty unless it failed. */
  readonly message: string;
  /** True: read from printed text although the run's other cases come from a report (doctests of cargo); no proof by itself. */
  readonly fromText?: true;
}

export interface SuiteResult {
  readonly evidence: SuiteEvidence;
  readonly strength: EvidenceStrength;
  readonly cases: readonly TestCase[];
  /** Head and tail of what was printed, redacted, at most 8,000 characters. */
  readonly output: string;
  /** A report whose exit code and counts disagree, or that was not one. */
  readonly mismatch: string | null;
}

/** Runs a suite in a session whose workspace holds the files to test. Never rejects. `filter` narrows to matching tests where the runner can. */
export type RunSuite = (request: {
  readonly session: Session;
  readonly suite: DetectedSuite;
  readonly label: SuiteEvidence["label"];
  /** Host directory for reports, mounted read-write at `/reports`; outside the workspace. */
  readonly reports: string;
  readonly filter: string | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}) => Promise<SuiteResult>;

export type Detect = (files: CommitFiles, overrides: DetectOverrides) => Promise<Detected>;

/** Everything the pure verdict function looks at. */
export interface VerdictFacts {
  readonly suite: DetectedSuite | null;
  readonly setupFailed: string | null;
  readonly baseline: SuiteResult | null;
  readonly baselineAgain: SuiteResult | null;
  /** Base + patch. */
  readonly patched: SuiteResult | null;
  readonly patchedAgain: SuiteResult | null;
  /** Only the tests that the patch brings, over the patched tree, where these already fail in a large suite, which is then not run; else null. */
  readonly affected: SuiteResult | null;
  /** Original test files over patched sources, of changed files only where the runner can be told so; null when the patch touches no test file. */
  readonly originalTests: SuiteResult | null;
  /** Base sources + the patch's test files; null when the patch touches no test file. */
  readonly newTestsOnBase: SuiteResult | null;
  /** A second run of `newTestsOnBase`: a new test proves something only when it fails there every time. */
  readonly newTestsOnBaseAgain: SuiteResult | null;
  /** Runs of single test files outside the suite, where the runner can be told to: tests that only differ in company are no proof. */
  readonly alone: {
    readonly base: readonly SuiteResult[];
    readonly patched: readonly SuiteResult[];
  };
  readonly failedChecks: readonly FailedCheck[];
  readonly changes: readonly ChangedFile[];
  readonly baseText: (path: string) => string | null;
  readonly patchedText: (path: string) => string | null;
  /** What the texts of the patch give away; the runs add their own findings. */
  readonly tampering: readonly TamperFinding[];
}

export type Decide = (facts: VerdictFacts) => Verdict;

/** Everything `VerifyPatch` needs; directories and sessions come from the caller, who owns their clean-up. */
export interface VerifyRequest {
  readonly suite: DetectedSuite | null;
  /** Why set-up failed; null when it did not, or there was none. */
  readonly setupFailed: string | null;
  readonly baseline: SuiteResult | null;
  readonly changes: readonly ChangedFile[];
  readonly baseText: (path: string) => string | null;
  readonly patchedText: (path: string) => string | null;
  /** Any file of the base commit as text; null when it is missing or too large. Left out: only the patch's own tests are compared with its sources. */
  readonly readBase?: (path: string) => Promise<string | null>;
  /** Commands of the repository file that are no tests, run on both sides; they fail nothing, and are shown. */
  readonly checks: readonly { readonly name: string; readonly command: string }[];
  /** A fresh copy of base + set-up with the patch applied, where the paths of `except` keep the base's content. Returns the host directory or why there is none. */
  readonly copy: (label: string, except: readonly string[]) => Promise<Result<string, string>>;
  /** A session of phase `verify` over the directory, with the host directory `reports` mounted read-write at `/reports`. `VerifyPatch` closes it. */
  readonly open: (
    directory: string,
    label: string,
  ) => Promise<Result<{ readonly session: Session; readonly reports: string }, string>>;
  /** Per suite run, in milliseconds. */
  readonly timeoutMs: number;
  /** Suites at a time; 1 where the machine has no core to spare. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  /** Told of each finished suite run, for the trace and the status. */
  readonly observe: (result: SuiteResult) => void;
}

/** Runs patched, original and new tests in fresh copies, some at a time, and decides. Never rejects. */
export type VerifyPatch = (request: VerifyRequest) => Promise<Verdict>;
