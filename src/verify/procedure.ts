/** The order of a verification: patched tree, original tests, new tests on the base, second looks where two runs differ; then the verdict. */

import type { SuiteEvidence, Verdict } from "#src/run/verdict.ts";
import { caseMap, needsRerun } from "./compare.ts";
import { suiteNotStarted } from "./suite.ts";
import { changedTexts, type Tamper, tamperReport } from "./tamper/report.ts";
import { isTestPath } from "./test-files.ts";
import { decide } from "./verdict.ts";
import type {
  DetectedSuite,
  RunSuite,
  SuiteResult,
  VerdictFacts,
  VerifyPatch,
  VerifyRequest,
} from "./verify.ts";

type Label = SuiteEvidence["label"];

/** One suite run in a fresh copy and a session of its own; whatever keeps it from starting becomes its result. */
async function runOnce(
  runSuite: RunSuite,
  request: VerifyRequest,
  suite: DetectedSuite,
  what: { readonly label: Label; readonly name: string; readonly except: readonly string[] },
): Promise<SuiteResult> {
  const copied = await request.copy(what.name, what.except);
  if (!copied.ok) return suiteNotStarted(suite, what.label, copied.error);
  const opened = await request.open(copied.value, what.name);
  if (!opened.ok) return suiteNotStarted(suite, what.label, opened.error);
  const { session, reports } = opened.value;
  try {
    return await runSuite({
      session,
      suite,
      label: what.label,
      reports,
      filter: null,
      timeoutMs: request.timeoutMs,
      signal: request.signal,
    });
  } finally {
    await session.close();
  }
}

/** True when a new test fails on the base and passes with the patch: worth a second run of both. */
function hasNewProof(onBase: SuiteResult | null, patched: SuiteResult): boolean {
  const passing = caseMap(patched);
  return (
    onBase?.cases.some((one) => one.outcome === "fail" && passing.get(one.id)?.outcome === "pass") ?? false
  );
}

interface Runs {
  readonly patched: SuiteResult | null;
  readonly patchedAgain: SuiteResult | null;
  readonly baselineAgain: SuiteResult | null;
  readonly originalTests: SuiteResult | null;
  readonly newTestsOnBase: SuiteResult | null;
  readonly newTestsOnBaseAgain: SuiteResult | null;
}

const NO_RUNS: Runs = {
  patched: null,
  patchedAgain: null,
  baselineAgain: null,
  originalTests: null,
  newTestsOnBase: null,
  newTestsOnBaseAgain: null,
};

async function runAll(runSuite: RunSuite, request: VerifyRequest, suite: DetectedSuite): Promise<Runs> {
  const run = async (label: Label, name: string, except: readonly string[]) => {
    if (request.signal.aborted) return null;
    const result = await runOnce(runSuite, request, suite, { label, name, except });
    request.observe(result);
    return result;
  };
  const all = request.changes.map((change) => change.path);
  const tests = request.changes.filter((change) => isTestPath(change.path));
  const testPaths = tests.map((change) => change.path);
  const sources = all.filter((path) => !testPaths.includes(path));

  const patched = await run("patched", "verify-patched", []);
  // A tree whose suite does not end or start would cost the same time again for nothing.
  if (patched === null || patched.evidence.stopped !== null) return { ...NO_RUNS, patched };
  const changesOld = tests.some((change) => change.status !== "added");
  const bringsTests = tests.some((change) => change.status !== "deleted");
  const originalTests = changesOld
    ? await run("original tests on patched sources", "verify-original", testPaths)
    : null;
  const newTestsOnBase = bringsTests ? await run("new tests on base sources", "verify-new", sources) : null;

  const { baseline } = request;
  const differs = baseline !== null && needsRerun(baseline, patched);
  const newProof = hasNewProof(newTestsOnBase, patched);
  return {
    patched,
    originalTests,
    newTestsOnBase,
    patchedAgain: differs || newProof ? await run("patched", "verify-patched-again", []) : null,
    baselineAgain: differs ? await run("baseline", "verify-base-again", all) : null,
    newTestsOnBaseAgain: newProof
      ? await run("new tests on base sources", "verify-new-again", sources)
      : null,
  };
}

/** `runSuite` is handed in so that a caller can run suites elsewhere; every copy is made, run and left before the next. */
export function createVerifyPatch(runSuite: RunSuite, tamper: Tamper = tamperReport): VerifyPatch {
  return async (request): Promise<Verdict> => {
    const { suite, setupFailed } = request;
    const runs = suite === null || setupFailed !== null ? NO_RUNS : await runAll(runSuite, request, suite);
    const facts: VerdictFacts = {
      suite,
      setupFailed,
      baseline: request.baseline,
      changes: request.changes,
      baseText: request.baseText,
      patchedText: request.patchedText,
      tampering: await tamper(changedTexts(request)),
      ...runs,
    };
    return decide(facts);
  };
}
