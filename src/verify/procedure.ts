/**
 * The order of a verification. First, at the same time: the patched tree, the original tests over the patched sources, the new
 * tests over the base's sources. Then second looks where two sides differ, with the trial of what may prove; then the verdict.
 */

import { type Ids, systemIds } from "#src/base/ids.ts";
import type { FailedCheck, Verdict } from "#src/run/verdict.ts";
import { caseMap } from "./compare.ts";
import { type Parts, partsOf } from "./patch-parts.ts";
import { beginTrial, filesOf, type Looks, secondLooks } from "./second-looks.ts";
import { changedTexts, type Tamper, tamperReport } from "./tamper/report.ts";
import { decide } from "./verdict.ts";
import { begun, createRuns, type Runs } from "./verification-runs.ts";
import type { RunSuite, SuiteResult, VerdictFacts, VerifyPatch, VerifyRequest } from "./verify.ts";

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

interface RunAll {
  readonly runs: Runs;
  readonly request: VerifyRequest;
  readonly parts: Parts;
  readonly nonce: string;
}

async function runAll({ runs, request, parts, nonce }: RunAll): Promise<Found & Pick<Looks, "trial">> {
  const nothing = { ...NOTHING, trial: null };
  const failing = await failsAtOnce(runs, request, parts);
  if (failing !== null) return { ...nothing, affected: failing };
  const stop = new AbortController();
  const signal = AbortSignal.any([request.signal, stop.signal]);
  // The first to be asked for is the first to run: the others wait for a free core.
  const first = runs.suite({ label: "patched", name: "verify-patched", except: [], files: null });
  const newTests = parts.bringsTests
    ? begun(
        runs.suite({
          label: "new tests on base sources",
          name: "verify-new",
          except: parts.sources,
          files: parts.brought,
          signal,
        }),
      )
    : Promise.resolve(null);
  const original = parts.changesOld
    ? begun(
        runs.suite({
          label: "original tests on patched sources",
          name: "verify-original",
          except: parts.tests,
          files: parts.original,
          signal,
        }),
      )
    : null;
  const patched = await first;
  // A tree whose suite does not end or start would cost the same time again for nothing.
  if (patched === null || patched.evidence.stopped !== null) {
    stop.abort(new Error("the patched suite did not end"));
    await Promise.all([newTests, original]);
    return { ...nothing, patched };
  }
  const newTestsOnBase = await newTests;
  const looks = begun(secondLooks(runs, { request, parts, patched, newTestsOnBase, nonce }));
  const checks: Promise<readonly FailedCheck[]> = begun(runs.checks(parts.all));
  return {
    ...nothing,
    patched,
    newTestsOnBase,
    originalTests: await original,
    ...(await looks),
    failedChecks: await checks,
  };
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
  { trial, ...work }: RunAll & Pick<Looks, "trial">,
): Promise<Verdict> {
  if (verdict.class !== "proven") {
    trial?.stop();
    await trial?.controlled;
    return verdict;
  }
  const proofs = verdict.by.map(({ test, failedWith }) => ({ id: test, message: failedWith }));
  const files = filesOf(proofs.map((proof) => proof.id));
  const fits = trial !== null && files.every((file) => trial.files.includes(file));
  const controlled = await (fits ? trial : beginTrial(work.runs, work, proofs))?.controlled;
  const finding = controlled?.finding ?? null;
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
    const tampering = begun(failingTests(request).then((texts) => tamper(changedTexts(request), texts)));
    const work =
      suite === null || setupFailed !== null
        ? null
        : {
            runs: createRuns(runSuite, request, suite),
            request,
            parts: partsOf(request.changes),
            nonce: ids.hex(6),
          };
    const { trial, ...found } = work === null ? { ...NOTHING, trial: null } : await runAll(work);
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
    const verdict = decide(facts);
    return work === null ? verdict : tried(verdict, facts, { ...work, trial });
  };
}
