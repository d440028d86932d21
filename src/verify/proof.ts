/** Which tests prove a fix: they failed without it for a reason of their own, and pass with it. */

import type { FailToPass } from "#src/run/verdict.ts";
import type { Comparison } from "./compare.ts";
import { caseMap } from "./compare.ts";
import { fileOfId, isWholeFile } from "./reports.ts";
import { isTestCode, isTestPath } from "./test-files.ts";
import type { SuiteResult, VerdictFacts } from "./verify.ts";

const MESSAGE_LINES = 4;

/** A module, a file or a name that the base does not have: such a failure says nothing about behaviour. */
const NOT_LOADED =
  /\bERR_MODULE_NOT_FOUND\b|\bMODULE_NOT_FOUND\b|Cannot find (?:module|package)|Failed to (?:load url|resolve import)|does not provide an export|\bModuleNotFoundError\b|\bImportError\b|\bSyntaxError\b|\bIndentationError\b|\bENOENT\b[^\n]*\.(?:[cm]?[jt]sx?|py)\b/;
const NAME_MISSING =
  /\bis not (?:a function|a constructor|defined)\b|\bNameError\b|\bmodule '[^']*' has no attribute\b/;

/** The file of the first stack line that lies in the workspace; messages carry paths from its root. */
function thrownIn(message: string): string | null {
  for (const line of message.split("\n")) {
    const place = /(?:\bat\b.*?|\()(?:file:\/\/)?([\w@.\-/]+\.(?:[cm]?[jt]sx?|py)):\d+/.exec(line)?.[1];
    if (place !== undefined && !/(?:^|\/)node_modules\/|^node:|^\//.test(place)) return place;
  }
  return null;
}

/** True when a failure message is an assertion or an error of the code, not the absence of a file or symbol. */
export function failedForItsReason(message: string): boolean {
  if (NOT_LOADED.test(message)) return false;
  if (!NAME_MISSING.test(message)) return true;
  // Thrown by the code under test it is a behaviour; thrown by the test itself the symbol is merely missing.
  const place = thrownIn(message);
  return place !== null && !isTestPath(place);
}

function firstLines(message: string): string {
  return message.split("\n").slice(0, MESSAGE_LINES).join("\n");
}

/** A run whose per-test results can carry a proof: it ended, and wrote a report of its own. */
export function carriesProof(result: SuiteResult | null): result is SuiteResult {
  return result !== null && result.evidence.stopped === null && result.strength === "report";
}

/** Changed test files, and whether something that other tests use was changed as well. */
function touchedTests(facts: VerdictFacts): {
  readonly files: ReadonlySet<string>;
  readonly support: boolean;
} {
  const changed = facts.changes.filter((change) => isTestPath(change.path));
  return {
    files: new Set(changed.map((change) => change.path)),
    support: changed.some(({ path }) => !isTestCode(path) || /conftest\.py$/.test(path)),
  };
}

/** With its original text the test passes over the patched sources; a test whose file is untouched is not run again for that. */
function passesAsItWas(facts: VerdictFacts, id: string): boolean {
  const { originalTests, suite } = facts;
  if (originalTests === null) return true;
  const found = originalTests.cases.find((one) => one.id === id);
  if (found !== undefined) return found.outcome === "pass";
  const narrowed = originalTests.evidence.command !== suite?.command;
  const { files, support } = touchedTests(facts);
  return narrowed && !support && !files.has(fileOfId(id));
}

/** The test lives in a source that the patch changes: whether the test was changed with it cannot be told by running it. */
function sharesItsFile(facts: VerdictFacts, id: string): boolean {
  const file = fileOfId(id);
  return !isTestPath(file) && facts.changes.some((change) => change.path === file);
}

/** Tests of the base commit, unchanged in effect: with the original files they pass over the patched sources too. */
function byExistingTests(facts: VerdictFacts, comparison: Comparison): readonly FailToPass[] {
  const base = caseMap(facts.baseline);
  const again = facts.baselineAgain === null ? null : caseMap(facts.baselineAgain);
  const patchedAgain = facts.patchedAgain === null ? null : caseMap(facts.patchedAgain);
  return comparison.fixed.flatMap((id) => {
    const confirmed =
      again?.get(id)?.outcome !== "pass" &&
      (patchedAgain === null || patchedAgain.get(id)?.outcome === "pass") &&
      passesAsItWas(facts, id);
    const message = base.get(id)?.message ?? "";
    if (!confirmed || NOT_LOADED.test(message) || sharesItsFile(facts, id)) return [];
    return [{ test: id, source: "existing" as const, failedWith: firstLines(message) }];
  });
}

/** Tests that the patch adds or extends: they fail over the base's sources every time, and pass over the patched ones. */
function byNewTests(facts: VerdictFacts, flaky: ReadonlySet<string>): readonly FailToPass[] {
  const onBase = facts.newTestsOnBase;
  if (!carriesProof(onBase) || !carriesProof(facts.patched)) return [];
  const base = caseMap(facts.baseline);
  const { files } = touchedTests(facts);
  const patched = caseMap(facts.patched);
  const patchedAgain = facts.patchedAgain === null ? null : caseMap(facts.patchedAgain);
  const onBaseAgain = facts.newTestsOnBaseAgain === null ? null : caseMap(facts.newTestsOnBaseAgain);
  return onBase.cases.flatMap((one) => {
    // Where ids name no file (a class, a module), one that the base does not know comes from the patch.
    const ours = files.has(fileOfId(one.id)) || !base.has(one.id);
    const isNew = base.get(one.id)?.outcome !== "fail" && ours && !isWholeFile(one.id);
    if (one.outcome !== "fail" || !isNew || flaky.has(one.id) || !failedForItsReason(one.message)) return [];
    const confirmed =
      patched.get(one.id)?.outcome === "pass" &&
      (patchedAgain === null || patchedAgain.get(one.id)?.outcome === "pass") &&
      (onBaseAgain === null || onBaseAgain.get(one.id)?.outcome === "fail");
    return confirmed ? [{ test: one.id, source: "new" as const, failedWith: firstLines(one.message) }] : [];
  });
}

/** New tests that fail on the base in one run and pass in the other. */
export function flakyNewTests(facts: VerdictFacts): readonly string[] {
  if (facts.newTestsOnBase === null || facts.newTestsOnBaseAgain === null) return [];
  const again = caseMap(facts.newTestsOnBaseAgain);
  return facts.newTestsOnBase.cases
    .filter((one) => again.has(one.id) && again.get(one.id)?.outcome !== one.outcome)
    .map((one) => one.id);
}

/** All proofs; empty unless the base's suite ended and the patched one reported per test. */
export function proofsOf(facts: VerdictFacts, comparison: Comparison): readonly FailToPass[] {
  const { baseline, patched } = facts;
  if (baseline === null || baseline.evidence.stopped !== null || !carriesProof(patched)) return [];
  const flaky = new Set([...comparison.flaky, ...flakyNewTests(facts)]);
  // A base without a report has no failing tests of its own to prove anything by; new tests may still run on it.
  const existing = carriesProof(baseline) ? byExistingTests(facts, comparison) : [];
  return [...existing, ...byNewTests(facts, flaky)];
}

/** Tests that failed on the base and pass only because the patch changed them: with their original text they still fail. */
export function passOnlyWhenChanged(facts: VerdictFacts, comparison: Comparison): readonly string[] {
  const original = facts.originalTests;
  if (original === null || original.evidence.stopped !== null) return [];
  return comparison.fixed.filter((id) => !passesAsItWas(facts, id));
}
