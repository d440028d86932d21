/**
 * The order of a verification. First, at the same time: the patched tree, the original tests over the patched sources, the new
 * tests over the base's sources. Then second looks, in the suite and alone, where two sides differ; then the verdict.
 */

import { type Ids, systemIds } from "#src/base/ids.ts";
import type { FailedCheck, Verdict } from "#src/run/verdict.ts";
import { caseMap, compare, needsRerun } from "./compare.ts";
import { controlFinding } from "./control-run.ts";
import { fileOfId } from "./reports.ts";
import { changedTexts, type Tamper, tamperReport } from "./tamper/report.ts";
import { isTestCode, isTestPath } from "./test-files.ts";
import { decide } from "./verdict.ts";
import { createRuns, type Runs } from "./verification-runs.ts";
import type {
  DetectedSuite,
  RunSuite,
  SuiteResult,
  VerdictFacts,
  VerifyPatch,
  VerifyRequest,
} from "./verify.ts";

/** A suite that takes longer on the base is worth a fast answer from the tests that the patch touches. */
const LARGE_MS = 20_000;

type Found = Pick<
  VerdictFacts,
  | "patched"
  | "patchedAgain"
  | "baselineAgain"
  | "affected"
  | "originalTests"
  | "newTestsOnBase"
  | "newTestsOnBaseAgain"
  | "alone"
  | "failedChecks"
>;

const NOTHING: Found = {
  patched: null,
  patchedAgain: null,
  baselineAgain: null,
  affected: null,
  originalTests: null,
  newTestsOnBase: null,
  newTestsOnBaseAgain: null,
  alone: { base: [], patched: [] },
  failedChecks: [],
};

/** What the patch changes, as a verification sees it. */
interface Parts {
  readonly all: readonly string[];
  readonly tests: readonly string[];
  readonly sources: readonly string[];
  /** The test files that the original tests are run for; null: all of them, since shared support was changed. */
  readonly original: readonly string[] | null;
  /** The test files that the patch brings; null: all of them. */
  readonly brought: readonly string[] | null;
  readonly changesOld: boolean;
  readonly bringsTests: boolean;
}

function partsOf(request: VerifyRequest): Parts {
  const all = request.changes.map((change) => change.path);
  const tests = request.changes.filter((change) => isTestPath(change.path));
  const paths = tests.map((change) => change.path);
  const support = tests.some((change) => !isTestCode(change.path) || /conftest\.py$/.test(change.path));
  const old = tests.filter((change) => change.status !== "added");
  const brought = tests.filter((change) => change.status !== "deleted");
  const only = (changes: typeof tests) => (support ? null : changes.map((change) => change.path));
  return {
    all,
    tests: paths,
    sources: all.filter((path) => !paths.includes(path)),
    original: only(old),
    brought: only(brought),
    changesOld: old.length > 0,
    bringsTests: brought.length > 0,
  };
}

/** Files of the tests that fail on the base and pass with the patch; a long list is not worth a run of its own. */
function filesOf(ids: readonly string[]): readonly string[] {
  return [...new Set(ids.map(fileOfId))].slice(0, 20);
}

/** Ids that a new test proves something by, unless a second look says otherwise. */
function newProofs(onBase: SuiteResult | null, patched: SuiteResult): readonly string[] {
  const passing = caseMap(patched);
  return (onBase?.cases ?? [])
    .filter((one) => one.outcome === "fail" && passing.get(one.id)?.outcome === "pass")
    .map((one) => one.id);
}

/** Second looks at what differs: alone where the runner can be told, and in the suite where something broke or alone is not possible. */
async function secondLooks(runs: Runs, request: VerifyRequest, parts: Parts, found: Found): Promise<Found> {
  const { baseline } = request;
  const { patched } = found;
  if (patched === null || patched.evidence.stopped !== null) return found;
  const differs = baseline !== null && needsRerun(baseline, patched);
  const seen = differs ? compare({ first: baseline, again: null }, { first: patched, again: null }) : null;
  const proofs = newProofs(found.newTestsOnBase, patched);
  const files = filesOf([...(seen?.fixed ?? []), ...(seen?.newlyFailing ?? []), ...proofs]);
  const [base, now, newTestsOnBaseAgain] = await Promise.all([
    differs ? runs.alone({ label: "baseline", name: "verify-base-alone", except: parts.all, files }) : null,
    runs.alone({ label: "patched", name: "verify-patched-alone", except: [], files }),
    proofs.length > 0
      ? runs.suite({
          label: "new tests on base sources",
          name: "verify-new-again",
          except: parts.sources,
          files: parts.brought,
        })
      : null,
  ]);
  const only = (result: SuiteResult | null) =>
    result !== null && result.cases.length > 0 && result.evidence.stopped === null ? [result] : [];
  const alone = { base: only(base), patched: only(now) };
  const needed = differs || proofs.length > 0;
  const again =
    needed && (worseThan(seen) || alone.patched.length === 0 || (differs && alone.base.length === 0));
  const [patchedAgain, baselineAgain] = again
    ? await Promise.all([
        runs.suite({ label: "patched", name: "verify-patched-again", except: [], files: null }),
        differs
          ? runs.suite({ label: "baseline", name: "verify-base-again", except: parts.all, files: null })
          : null,
      ])
    : [null, null];
  return { ...found, patchedAgain, baselineAgain, newTestsOnBaseAgain, alone };
}

/** Something besides fixed tests differs: tests that broke or are gone, or an exit code that turned without one. */
function worseThan(seen: ReturnType<typeof compare> | null): boolean {
  if (seen === null) return false;
  const worse = [seen.newlyFailing, seen.addedFailing, seen.missing].some((ids) => ids.length > 0);
  return worse || seen.fixed.length === 0;
}

/** True when tests that the patch brings fail on the patched tree twice: the whole suite could not make that good. */
async function failsAtOnce(runs: Runs, request: VerifyRequest, parts: Parts): Promise<SuiteResult | null> {
  const { baseline } = request;
  if (baseline === null || baseline.evidence.durationMs < LARGE_MS || !parts.bringsTests) return null;
  const label = "affected tests on the patched tree" as const;
  const wanted = { label, except: [], files: parts.brought };
  const first = await runs.alone({ ...wanted, name: "verify-affected" });
  if (first === null || first.evidence.counts.failed === 0) return null;
  const again = await runs.alone({ ...wanted, name: "verify-affected-again" });
  const old = caseMap(baseline);
  const twice = caseMap(again);
  const fails = first.cases.some(
    ({ id, outcome }) =>
      outcome === "fail" && twice.get(id)?.outcome === "fail" && old.get(id)?.outcome !== "fail",
  );
  return fails ? first : null;
}

async function runAll(runSuite: RunSuite, request: VerifyRequest, suite: DetectedSuite): Promise<Found> {
  const parts = partsOf(request);
  const runs = createRuns(runSuite, request, suite);
  const failing = await failsAtOnce(runs, request, parts);
  if (failing !== null) return { ...NOTHING, affected: failing };
  // The first to be asked for is the first to run: the others wait for a free core.
  const stop = new AbortController();
  const signal = AbortSignal.any([request.signal, stop.signal]);
  const others = createRuns(runSuite, { ...request, signal, parallel: request.parallel - 1 }, suite);
  const beside = request.parallel > 1;
  const first = runs.suite({ label: "patched", name: "verify-patched", except: [], files: null });
  const rest = async (): Promise<Pick<Found, "originalTests" | "newTestsOnBase">> => {
    const [originalTests, newTestsOnBase] = await Promise.all([
      parts.changesOld
        ? others.suite({
            label: "original tests on patched sources",
            name: "verify-original",
            except: parts.tests,
            files: parts.original,
          })
        : null,
      parts.bringsTests
        ? others.suite({
            label: "new tests on base sources",
            name: "verify-new",
            except: parts.sources,
            files: parts.brought,
          })
        : null,
    ]);
    return { originalTests, newTestsOnBase };
  };
  const besides = beside ? rest() : null;
  const patched = await first;
  // A tree whose suite does not end or start would cost the same time again for nothing.
  if (patched === null || patched.evidence.stopped !== null) {
    stop.abort(new Error("the patched suite did not end"));
    await besides;
    return { ...NOTHING, patched };
  }
  const found = { ...NOTHING, patched, ...(await (besides ?? rest())) };
  const checked: Promise<readonly FailedCheck[]> = runs.checks(parts.all);
  return { ...(await secondLooks(runs, request, parts, found)), failedChecks: await checked };
}

const MOST_READ = 20;

/** Texts of the test files that fail on the base and that the patch leaves alone. */
async function failingTests(request: VerifyRequest): Promise<readonly string[]> {
  const changed = new Set(request.changes.map((change) => change.path));
  const failing = (request.baseline?.cases ?? []).filter((one) => one.outcome === "fail");
  const files = filesOf(failing.map((one) => one.id)).filter((path) => !changed.has(path));
  const texts: string[] = [];
  for (const path of files.slice(0, MOST_READ)) {
    const text = (await request.readBase?.(path)) ?? null;
    if (text !== null) texts.push(text);
  }
  return texts;
}

/** A proof is tried before it counts: where it is a forgery, the verdict changes. */
async function tried(
  verdict: Verdict,
  facts: VerdictFacts,
  work: { readonly runSuite: RunSuite; readonly request: VerifyRequest; readonly nonce: string },
): Promise<Verdict> {
  const { request, runSuite, nonce } = work;
  if (verdict.class !== "proven" || facts.suite === null) return verdict;
  const finding = await controlFinding(createRuns(runSuite, request, facts.suite), {
    files: filesOf(verdict.by.map((proof) => proof.test)),
    sources: partsOf(request).sources,
    nonce,
    signal: request.signal,
  });
  return finding === null ? verdict : decide({ ...facts, tampering: [...facts.tampering, finding] });
}

/** `runSuite` and `tamper` are handed in so that a caller can run suites and parse texts elsewhere. */
export function createVerifyPatch(
  runSuite: RunSuite,
  tamper: Tamper = tamperReport,
  ids: Ids = systemIds,
): VerifyPatch {
  return async (request) => {
    const { suite, setupFailed } = request;
    const tampering = failingTests(request).then((texts) => tamper(changedTexts(request), texts));
    const found = suite === null || setupFailed !== null ? NOTHING : await runAll(runSuite, request, suite);
    const facts: VerdictFacts = {
      suite,
      setupFailed,
      baseline: request.baseline,
      changes: request.changes,
      baseText: request.baseText,
      patchedText: request.patchedText,
      tampering: await tampering,
      ...found,
    };
    return tried(decide(facts), facts, { runSuite, request, nonce: ids.hex(6) });
  };
}
