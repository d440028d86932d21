/**
 * The verdict: a pure function from facts to one class. Precedence: refuted, tampered, flaky, what kept the tests from
 * telling anything (the other `unproven` reasons), proven, passing.
 *
 * What counts as what, beyond the definition in the design:
 * - Only a report per test can prove. Exit codes and printed results can refute, but a process that ends itself early forges both.
 * - A test that failed on the base and still fails is not held against the patch: it may have nothing to do with the issue.
 * - A changed existing test makes the result `passing` at most; if a test that failed on the base passes only since it was changed,
 *   that is tampering.
 * - A time-out is "could not verify", never a failure of the fix.
 */

import type { NonEmpty, TamperFinding, UnprovenReason } from "#src/run/verdict.ts";
import type { Comparison } from "./compare.ts";
import { caseMap, compare } from "./compare.ts";
import { changedDependencies } from "./dependencies.ts";
import { carriesProof, flakyNewTests, passOnlyWhenChanged, proofsOf } from "./proof.ts";
import { fileOfId } from "./reports.ts";
import { isTestCode, isTestPath } from "./test-files.ts";
import { missingTool, toolMissingIn } from "./toolchain.ts";
import { evidenceOf, type Seen, some } from "./verdict-evidence.ts";
import type { Decide, SuiteResult, ToolNeed, VerdictFacts } from "./verify.ts";

/** Findings that by themselves make a result worthless; the others only cap it at `passing`. */
const STRONG: ReadonlySet<TamperFinding["kind"]> = new Set([
  "test_deleted",
  "test_skipped",
  "test_focused",
  "fewer_tests",
  "runner_config_changed",
  "test_script_changed",
  "report_mismatch",
  "early_exit",
  "dependency_swapped",
]);

function nonEmpty<T>(list: readonly T[]): NonEmpty<T> | null {
  const [first, ...rest] = list;
  return first === undefined ? null : [first, ...rest];
}

const NOTHING: Comparison = {
  fixed: [],
  stillFailing: [],
  newlyFailing: [],
  addedFailing: [],
  missing: [],
  newlySkipped: [],
  flaky: [],
  loads: [],
};

/** Original tests over patched sources, against the base. */
function originals(
  facts: VerdictFacts,
  flaky: readonly string[],
): Pick<Seen, "reliesOnChanged" | "originalBroken"> {
  const { baseline, originalTests } = facts;
  if (baseline === null || originalTests === null) return { reliesOnChanged: [], originalBroken: [] };
  const known = new Set(flaky);
  const seen = compare(
    { first: baseline, again: facts.baselineAgain },
    { first: originalTests, again: null },
  );
  const changed = facts.changes.filter((change) => isTestPath(change.path) && change.status !== "added");
  const files = new Set(changed.map((change) => change.path));
  const support = changed.some((change) => !isTestCode(change.path) || /conftest\.py$/.test(change.path));
  const patched = caseMap(facts.patched);
  const broken = seen.newlyFailing.filter((id) => !known.has(id));
  const relies = (id: string) => support || files.has(fileOfId(id));
  return {
    reliesOnChanged: broken.filter(relies),
    // What fails in the patched tree as well is told by that comparison already.
    originalBroken: broken.filter((id) => !relies(id) && patched.get(id)?.outcome !== "fail"),
  };
}

/** Findings that the runs show, besides those of the texts. */
function runFindings(facts: VerdictFacts, comparison: Comparison): readonly TamperFinding[] {
  const { patched, baseline, suite } = facts;
  if (patched === null || patched.evidence.stopped !== null) return [];
  const path = suite?.directory ?? ".";
  const findings: TamperFinding[] = [];
  if (comparison.missing.length > 0)
    findings.push({
      kind: "fewer_tests",
      path,
      detail: `ran on the base and no longer: ${some(comparison.missing)}`,
    });
  if (comparison.newlySkipped.length > 0)
    findings.push({ kind: "test_skipped", path, detail: `skipped now: ${some(comparison.newlySkipped)}` });
  const told = patched.mismatch !== null && inWords(patched.mismatch) !== inWords(baseline?.mismatch ?? "");
  // A suite that turned red without a failing test is refuted as such; it is no forgery.
  if (told && !(baseline?.evidence.exitCode === 0 && isUnexplainedFailure(patched)))
    findings.push({ kind: "report_mismatch", path, detail: patched.mismatch ?? "" });
  const changed = passOnlyWhenChanged(facts, comparison);
  if (changed.length > 0)
    findings.push({
      kind: "existing_test_changed",
      path: fileOfId(changed[0] ?? path),
      detail: `failed on the base and passes only because the test was changed: ${some(changed)}`,
    });
  return findings;
}

/** A mismatch without its numbers: the base's own disagreement is not the patch's doing. */
function inWords(mismatch: string): string {
  return mismatch.replace(/\d+/g, "");
}

/** The command failed, and its report names no failing test. */
function isUnexplainedFailure(result: SuiteResult): boolean {
  const { exitCode, counts } = result.evidence;
  return exitCode !== null && exitCode !== 0 && counts.failed === 0;
}

function look(facts: VerdictFacts): Seen {
  const { baseline, patched } = facts;
  const comparable = baseline !== null && patched !== null;
  const comparison = comparable
    ? compare(
        { first: baseline, again: facts.baselineAgain, alone: facts.alone.base },
        { first: patched, again: facts.patchedAgain, alone: facts.alone.patched },
      )
    : NOTHING;
  const flaky = [...new Set([...comparison.flaky, ...flakyNewTests(facts)])];
  return {
    facts,
    comparison,
    flaky,
    proofs: proofsOf(facts, comparison),
    tampering: [...facts.tampering, ...runFindings(facts, comparison)],
    dependencies: changedDependencies(facts),
    ...originals(facts, flaky),
  };
}

const MISSING_MODULE =
  /Cannot find (?:module|package)|\bERR_MODULE_NOT_FOUND\b|\bModuleNotFoundError\b|Failed to resolve import/;

function failsItsOwn(affected: SuiteResult, baseline: SuiteResult | null): string {
  const base = caseMap(baseline);
  const failing = affected.cases.filter(
    (one) => one.outcome === "fail" && base.get(one.id)?.outcome !== "fail",
  );
  return `Fails twice with the patch, before the whole suite was run: ${some(failing.map((one) => one.id))}.`;
}

/** Reasons why the patch is wrong, each a sentence. */
function refutations(seen: Seen): readonly string[] {
  const { comparison, facts, dependencies } = seen;
  const { baseline, patched } = facts;
  if (facts.affected !== null) return [failsItsOwn(facts.affected, baseline)];
  if (patched === null) return [];
  const cases = caseMap(patched);
  const notInstalled = (id: string) =>
    dependencies.length > 0 && MISSING_MODULE.test(cases.get(id)?.message ?? "");
  const broke = comparison.newlyFailing.filter((id) => !notInstalled(id));
  const added = comparison.addedFailing.filter((id) => !notInstalled(id));
  const because: string[] = [];
  if (broke.length > 0) because.push(`Passed on the base and fails now: ${some(broke)}.`);
  if (added.length > 0)
    because.push(
      `Fails, and was not there on the base: ${some(added)}. The fix does not pass its own tests.`,
    );
  if (seen.originalBroken.length > 0)
    because.push(`The original tests fail over the patched sources: ${some(seen.originalBroken)}.`);
  const silenced =
    baseline !== null &&
    baseline.evidence.counts.passed > 0 &&
    patched.evidence.stopped === null &&
    patched.cases.length === 0 &&
    isUnexplainedFailure(patched);
  const turned =
    baseline !== null &&
    baseline.evidence.exitCode === 0 &&
    isUnexplainedFailure(patched) &&
    (facts.patchedAgain === null || facts.patchedAgain.evidence.exitCode !== 0) &&
    (facts.baselineAgain === null || facts.baselineAgain.evidence.exitCode === 0);
  if (silenced && dependencies.length === 0)
    because.push(
      `\`${patched.evidence.command}\` exits with ${patched.evidence.exitCode} before any test runs; on the base they ran.`,
    );
  else if (turned && broke.length === 0 && dependencies.length === 0)
    because.push(
      `\`${patched.evidence.command}\` succeeded on the base and exits with ${patched.evidence.exitCode} now, though no single test is named as failing.`,
    );
  return because;
}

interface Unproven {
  readonly reason: UnprovenReason;
  readonly detail: string;
}

function tampered(seen: Seen): Unproven | null {
  const onlyChanged = passOnlyWhenChanged(seen.facts, seen.comparison).length > 0;
  const strong = seen.tampering.filter((finding) => STRONG.has(finding.kind));
  const named = onlyChanged
    ? seen.tampering.filter((finding) => finding.kind === "existing_test_changed").slice(-1)
    : [];
  const first = strong[0] ?? named[0] ?? loosenedToPass(seen);
  if (first === undefined) return null;
  return { reason: "tampered", detail: `${first.path}: ${first.detail}` };
}

/** A test that passed on the base, fails over the patched sources, and was made to assert less: that is no update of an expectation. */
function loosenedToPass(seen: Seen): TamperFinding | undefined {
  const files = new Set(seen.reliesOnChanged.map(fileOfId));
  return seen.tampering.find((one) => one.kind === "assertion_loosened" && files.has(one.path));
}

/** Passed on the base, failed in every run of the patched suite, and passes alone: neither a regression nor nothing. */
function dependsOnCompany({ facts, flaky }: Seen): readonly string[] {
  const base = caseMap(facts.baseline);
  const runs = [facts.patched, facts.patchedAgain].flatMap((run) => (run === null ? [] : [caseMap(run)]));
  return flaky.filter(
    (id) => base.get(id)?.outcome === "pass" && runs.every((run) => run.get(id)?.outcome === "fail"),
  );
}

function flakiness(seen: Seen): Unproven | null {
  const company = dependsOnCompany(seen);
  if (company.length > 0)
    return {
      reason: "flaky",
      detail: `Fails in the patched suite and passes alone, so it depends on other tests: ${some(company)}.`,
    };
  if (seen.flaky.length === 0 || seen.proofs.length > 0) return null;
  return { reason: "flaky", detail: `Two runs of the same tree disagreed: ${some(seen.flaky)}.` };
}

/** A run that says nothing about the patch, and why. */
function silence(result: SuiteResult, tree: string, needs: readonly ToolNeed[] | undefined): Unproven | null {
  const { stopped, exitCode, command, durationMs, counts } = result.evidence;
  if (stopped === "timeout")
    return {
      reason: "timed_out",
      detail: `\`${command}\` did not end within ${Math.round(durationMs / 1000)} s on ${tree}: could not verify.`,
    };
  if (stopped === "not_started")
    return {
      reason: "none_ran",
      detail: `\`${command}\` could not be started on ${tree}: ${result.output.split("\n")[0]}`,
    };
  if (stopped !== null)
    return { reason: "none_ran", detail: `\`${command}\` was stopped at its ${stopped} limit on ${tree}.` };
  const tool = missingTool(result, needs);
  if (tool !== null) return { reason: "no_toolchain", detail: `${tool} is missing on ${tree}.` };
  if (result.strength === "report" && counts.passed + counts.failed === 0)
    return { reason: "none_ran", detail: `\`${command}\` ran no test on ${tree}.` };
  if (result.strength === "exit_code" && exitCode !== 0 && result.mismatch !== null)
    return {
      reason: "none_ran",
      detail: `\`${command}\` exited with ${exitCode} on ${tree} before it reported a test.`,
    };
  return null;
}

function cannotTell(seen: Seen): Unproven | null {
  const { facts, dependencies } = seen;
  const { patched, baseline } = facts;
  if (facts.suite === null) return { reason: "no_tests", detail: "No test command was found." };
  if (facts.setupFailed !== null) {
    const reason =
      toolMissingIn(facts.setupFailed, facts.suite.needs) === null ? "cannot_set_up" : "no_toolchain";
    return { reason, detail: facts.setupFailed };
  }
  if (patched === null) return { reason: "none_ran", detail: "The tests were not run on the patched tree." };
  const quiet = silence(patched, "the patched tree", facts.suite.needs);
  if (quiet !== null) return quiet;
  if (dependencies.length > 0)
    return {
      reason: "dependencies_changed",
      detail: `${some(dependencies)} changes what is installed; the tests ran with what the base commit installs.`,
    };
  const onBase = baseline === null ? null : silence(baseline, "the base", facts.suite.needs);
  // Without a base to compare with, failing tests may be old or new.
  const failing = patched.evidence.counts.failed > 0 || patched.evidence.exitCode !== 0;
  if ((baseline === null || onBase !== null) && failing)
    return onBase ?? { reason: "none_ran", detail: "The tests were not run on the base." };
  if (patched.strength === "exit_code" && patched.evidence.exitCode !== 0)
    return {
      reason: "none_ran",
      detail: `\`${patched.evidence.command}\` fails with and without the patch and reports no single tests, so what changed cannot be seen.`,
    };
  return null;
}

function whyOnlyPassing(seen: Seen): string {
  const { facts, comparison, tampering, reliesOnChanged } = seen;
  if (reliesOnChanged.length > 0)
    return `It relies on changed tests: with their original text these fail: ${some(reliesOnChanged)}.`;
  const changed = tampering[0];
  if (changed !== undefined)
    return `Nothing broke, but the patch changes what judges it: ${changed.path}: ${changed.detail}.`;
  if (facts.patched !== null && facts.patched.mismatch !== null)
    return `Nothing broke, but exit code and report disagree, as they do on the base: ${facts.patched.mismatch}.`;
  if (!carriesProof(facts.patched) || !carriesProof(facts.baseline)) {
    if (facts.baseline === null || silence(facts.baseline, "the base", facts.suite?.needs) !== null)
      return "The tests pass, but they could not be run on the base, so nothing shows that they failed without the fix.";
    const fixed = facts.baseline.evidence.exitCode !== 0 && facts.patched?.evidence.exitCode === 0;
    return fixed
      ? "The suite failed on the base and succeeds now, but it reports no single tests that could not have been printed by the tested code."
      : "Nothing broke as far as the exit code tells, but no test proves the fix.";
  }
  if (comparison.loads.length > 0)
    return `Nothing broke, but no test proves the fix: ${some(comparison.loads)} could not be loaded on the base, which shows nothing about behaviour.`;
  if (facts.newTestsOnBase !== null)
    return "Nothing broke, but no test proves the fix: the patch's tests do not fail on the base for the reason that they test.";
  return "Nothing broke, but no test proves the fix.";
}

export const decide: Decide = (facts) => {
  const seen = look(facts);
  const evidence = evidenceOf(seen);
  const because = nonEmpty(refutations(seen));
  if (because !== null) return { class: "refuted", because, evidence };
  const unproven = tampered(seen) ?? flakiness(seen) ?? cannotTell(seen);
  if (unproven !== null) return { class: "unproven", ...unproven, evidence };
  const by = nonEmpty(seen.proofs);
  const clean =
    seen.tampering.length === 0 &&
    seen.reliesOnChanged.length === 0 &&
    facts.patched?.mismatch === null &&
    (facts.originalTests === null || carriesProof(facts.originalTests));
  if (by !== null && clean) return { class: "proven", by, evidence };
  return { class: "passing", because: whyOnlyPassing(seen), evidence };
};
