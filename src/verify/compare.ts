/** Compares two suites test by test: what was fixed, what broke, what vanished, and what gave two answers to one question. */

import { fileOfId, isWholeFile } from "./reports.ts";
import type { SuiteResult, TestCase } from "./verify.ts";

export type CaseMap = ReadonlyMap<string, TestCase>;

/** One tree's runs: the first, and the second where one was needed. */
export interface Side {
  readonly first: SuiteResult;
  readonly again: SuiteResult | null;
  /** Runs of some of its test files alone. */
  readonly alone?: readonly SuiteResult[];
}

export interface Comparison {
  /** Failed before in every run, and passes after in every run. Whole files are not counted: see `loads`. */
  readonly fixed: readonly string[];
  /** Failed before and after. */
  readonly stillFailing: readonly string[];
  /** Passed or was skipped before, fails after in every run. */
  readonly newlyFailing: readonly string[];
  /** Fails after and did not exist before. */
  readonly addedFailing: readonly string[];
  /** Ran before in every run, and is not there after in any. */
  readonly missing: readonly string[];
  /** Ran before, is skipped after. */
  readonly newlySkipped: readonly string[];
  /** Two runs of one tree disagreed. */
  readonly flaky: readonly string[];
  /** Files that could not be loaded before and can be now: no proof, since nothing of theirs was seen to fail for its reason. */
  readonly loads: readonly string[];
}

export function caseMap(result: SuiteResult | null): CaseMap {
  return new Map((result?.cases ?? []).map((one) => [one.id, one]));
}

function flakyOf(side: Side): readonly string[] {
  const others = [side.again, ...(side.alone ?? [])].flatMap((run) => (run === null ? [] : [caseMap(run)]));
  return side.first.cases
    .filter(({ id, outcome }) =>
      others.some((run) => {
        const second = run.get(id);
        return second !== undefined && second.outcome !== outcome;
      }),
    )
    .map((one) => one.id);
}

/** Files of which a case says that the file as a whole failed. */
function brokenFiles(cases: CaseMap): ReadonlySet<string> {
  return new Set(
    [...cases.values()].filter((one) => isWholeFile(one.id) && one.outcome === "fail").map((one) => one.id),
  );
}

function filesWithTests(cases: CaseMap): ReadonlySet<string> {
  return new Set([...cases.keys()].filter((id) => !isWholeFile(id)).map(fileOfId));
}

/** Tests of `before` that should be there after and are not; ids that do not repeat (a name with a time in it) are nobody's loss. */
function missingOf(before: Side, after: Side, now: CaseMap): readonly string[] {
  const beforeAgain = before.again === null ? null : caseMap(before.again);
  const afterAgain = caseMap(after.again);
  const broken = brokenFiles(now);
  const alive = filesWithTests(now);
  return before.first.cases
    .filter(({ id, outcome }) => {
      if (now.has(id) || afterAgain.has(id) || beforeAgain?.has(id) === false) return false;
      // Its file fails as a whole now, which is told as that failure; or it failed so before, and runs now.
      if (broken.has(fileOfId(id))) return false;
      return !(isWholeFile(id) && (outcome === "fail" || alive.has(id)));
    })
    .map((one) => one.id);
}

/** Order of the ids is that of the runs. Stopped runs must not be compared for `missing`; the caller looks at `stopped` first. */
export function compare(before: Side, after: Side): Comparison {
  const old = caseMap(before.first);
  const now = caseMap(after.first);
  const flaky = new Set([...flakyOf(before), ...flakyOf(after)]);
  const wasBroken = brokenFiles(old);
  const broken = brokenFiles(now);
  const alive = filesWithTests(now);
  const lists = {
    fixed: [] as string[],
    stillFailing: [] as string[],
    newlyFailing: [] as string[],
    addedFailing: [] as string[],
    newlySkipped: [] as string[],
  };
  for (const one of now.values()) {
    const then = old.get(one.id);
    if (flaky.has(one.id)) continue;
    if (one.outcome === "fail") {
      const unseen = then === undefined && wasBroken.has(fileOfId(one.id));
      if (then?.outcome === "fail" || unseen) lists.stillFailing.push(one.id);
      else if (then === undefined && !isWholeFile(one.id)) lists.addedFailing.push(one.id);
      else lists.newlyFailing.push(one.id);
    }
    if (one.outcome === "skip" && then !== undefined && then.outcome !== "skip")
      lists.newlySkipped.push(one.id);
    if (one.outcome === "pass" && then?.outcome === "fail" && !isWholeFile(one.id)) lists.fixed.push(one.id);
  }
  return {
    ...lists,
    missing: missingOf(before, after, now).filter((id) => !flaky.has(id)),
    flaky: [...flaky],
    loads: [...wasBroken].filter(
      (file) => !broken.has(file) && (alive.has(file) || now.get(file)?.outcome === "pass"),
    ),
  };
}

/** True when the two runs differ in anything a second look could explain: a test that changed sides, or one that is gone. */
export function needsRerun(baseline: SuiteResult, patched: SuiteResult): boolean {
  const stopped = baseline.evidence.stopped !== null || patched.evidence.stopped !== null;
  if (stopped) return false;
  const seen = compare({ first: baseline, again: null }, { first: patched, again: null });
  const exitTurned = baseline.evidence.exitCode === 0 && patched.evidence.exitCode !== 0;
  return (
    exitTurned ||
    [seen.fixed, seen.newlyFailing, seen.addedFailing, seen.missing].some((ids) => ids.length > 0)
  );
}
