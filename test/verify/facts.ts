/** Builders for suite results and verdict facts, so that a test says only what matters to it. */

import type { SuiteEvidence, TamperFinding, Verdict } from "#src/run/verdict.ts";
import { changedTexts, tamperReport } from "#src/verify/tamper/report.ts";
import { decide } from "#src/verify/verdict.ts";
import type { DetectedSuite, SuiteResult, TestCase, VerdictFacts } from "#src/verify/verify.ts";
import type { ChangedFile } from "#src/workspace/workspace.ts";

export const SUITE: DetectedSuite = {
  command: "npm test",
  directory: ".",
  runner: "node-test",
  because: "scripts.test in package.json",
};

export function caseOf(
  id: string,
  outcome: TestCase["outcome"],
  message = "AssertionError: 1 !== 2",
): TestCase {
  return { id, outcome, message: outcome === "fail" ? message : "" };
}

interface ResultParts {
  readonly cases?: readonly TestCase[];
  readonly exitCode?: number | null;
  readonly stopped?: SuiteEvidence["stopped"];
  readonly strength?: SuiteEvidence["strength"];
  readonly mismatch?: string | null;
  readonly output?: string;
  readonly label?: SuiteEvidence["label"];
}

/** Exit code and strength follow from the cases where they are not given. */
export function suiteResult(parts: ResultParts): SuiteResult {
  const cases = parts.cases ?? [];
  const count = (outcome: TestCase["outcome"]) => cases.filter((one) => one.outcome === outcome).length;
  const strength = parts.strength ?? (cases.length > 0 ? "report" : "exit_code");
  const stopped = parts.stopped ?? null;
  return {
    evidence: {
      label: parts.label ?? "patched",
      command: SUITE.command,
      directory: ".",
      exitCode:
        parts.exitCode !== undefined ? parts.exitCode : stopped !== null ? null : count("fail") > 0 ? 1 : 0,
      stopped,
      counts: { passed: count("pass"), failed: count("fail"), skipped: count("skip") },
      strength,
      durationMs: 1000,
    },
    strength,
    cases,
    output: parts.output ?? "",
    mismatch: parts.mismatch ?? null,
  };
}

/** Cases as `{id: outcome}`; a failing one may carry its message as `fail: message`. */
export function ran(cases: Readonly<Record<string, string>>, parts: ResultParts = {}): SuiteResult {
  return suiteResult({
    cases: Object.entries(cases).map(([id, text]) => {
      const [outcome, ...message] = text.split(": ");
      return caseOf(id, outcome as TestCase["outcome"], message.length > 0 ? message.join(": ") : undefined);
    }),
    ...parts,
  });
}

/** Changed files from texts: `[before, after]`, null for a side where the file does not exist. */
export type Texts = Readonly<Record<string, readonly [before: string | null, after: string | null]>>;

export function changesOf(texts: Texts): readonly ChangedFile[] {
  return Object.entries(texts).map(([path, [before, after]]) => ({
    path,
    status: before === null ? "added" : after === null ? "deleted" : "modified",
    mode: "100644",
    sha256: after === null ? null : "0".repeat(64),
    added: 1,
    removed: 1,
  }));
}

export function factsOf(texts: Texts, parts: Partial<VerdictFacts>): VerdictFacts {
  return {
    suite: SUITE,
    setupFailed: null,
    baseline: null,
    baselineAgain: null,
    patched: null,
    patchedAgain: null,
    affected: null,
    originalTests: null,
    newTestsOnBase: null,
    newTestsOnBaseAgain: null,
    changes: changesOf(texts),
    baseText: (path) => texts[path]?.[0] ?? null,
    patchedText: (path) => texts[path]?.[1] ?? null,
    tampering: [],
    alone: { base: [], patched: [] },
    failedChecks: [],
    ...parts,
  };
}

/** The tamper report of a patch given as texts. */
export function report(texts: Texts): Promise<readonly TamperFinding[]> {
  return tamperReport(
    changedTexts({
      changes: changesOf(texts),
      baseText: (path) => texts[path]?.[0] ?? null,
      patchedText: (path) => texts[path]?.[1] ?? null,
    }),
  );
}

/** The verdict on a patch given as texts, whose tamper report is the real one. */
export async function verdictOf(texts: Texts, parts: Partial<VerdictFacts>): Promise<Verdict> {
  return decide({ ...factsOf(texts, parts), tampering: await report(texts) });
}

/** Each kind of finding once, in order. */
export async function kinds(texts: Texts): Promise<readonly TamperFinding["kind"][]> {
  return [...new Set((await report(texts)).map((finding) => finding.kind))];
}
