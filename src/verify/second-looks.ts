/**
 * Second looks at what differs, all at the same time as far as there are cores: alone where the runner can be told, in the suite where
 * something broke or alone is not possible, and with tests that must fail, which try the proofs there may be.
 */

import { caseMap, compare, needsRerun } from "./compare.ts";
import { type Controlled, type ControlRequest, tryProofs } from "./control-run.ts";
import type { Parts } from "./patch-parts.ts";
import { carriesProof } from "./proof.ts";
import { fileOfId } from "./reports.ts";
import { begun, type Runs } from "./verification-runs.ts";
import type { SuiteResult, VerdictFacts, VerifyRequest } from "./verify.ts";

export interface Looks
  extends Pick<VerdictFacts, "patchedAgain" | "baselineAgain" | "newTestsOnBaseAgain" | "alone"> {
  /** Under way or done; null: no proof is possible. */
  readonly trial: Trial | null;
}

export interface Trial {
  readonly files: readonly string[];
  readonly controlled: Promise<Controlled>;
  /** Ends it where its result is not needed. */
  readonly stop: () => void;
}

/** Files of the tests that fail on the base and pass with the patch; a long list is not worth a run of its own. */
export function filesOf(ids: readonly string[]): readonly string[] {
  return [...new Set(ids.map(fileOfId))].slice(0, 20);
}

/** Ids that a new test proves something by, unless a second look says otherwise. */
function newProofs(onBase: SuiteResult | null, patched: SuiteResult): readonly string[] {
  const passing = caseMap(patched);
  return (onBase?.cases ?? [])
    .filter((one) => one.outcome === "fail" && passing.get(one.id)?.outcome === "pass")
    .map((one) => one.id);
}

interface LooksRequest {
  readonly request: VerifyRequest;
  readonly parts: Parts;
  readonly patched: SuiteResult;
  readonly newTestsOnBase: SuiteResult | null;
  /** Lower-case hex that no patch can know. */
  readonly nonce: string;
}

export async function secondLooks(runs: Runs, work: LooksRequest): Promise<Looks> {
  const { parts, patched } = work;
  const { baseline } = work.request;
  const differs = baseline !== null && needsRerun(baseline, patched);
  const seen = differs ? compare({ first: baseline, again: null }, { first: patched, again: null }) : null;
  const proofs = newProofs(work.newTestsOnBase, patched);
  const better = [...(seen?.fixed ?? []), ...proofs];
  const files = filesOf([...better, ...(seen?.newlyFailing ?? [])]);
  const worse = worseThan(seen);
  const messages = new Map([...caseMap(baseline), ...caseMap(work.newTestsOnBase)]);
  const baseAlone = differs
    ? begun(runs.alone({ label: "baseline", name: "verify-base-alone", except: parts.all, files }))
    : null;
  const patchedAlone = begun(
    runs.alone({ label: "patched", name: "verify-patched-alone", except: [], files }),
  );
  const newAgain =
    proofs.length > 0
      ? begun(
          runs.suite({
            label: "new tests on base sources",
            name: "verify-new-again",
            except: parts.sources,
            files: parts.brought,
          }),
        )
      : null;
  const trial =
    worse || !carriesProof(patched)
      ? null
      : beginTrial(
          runs,
          work,
          better.map((id) => ({ id, message: messages.get(id)?.message ?? "" })),
        );
  const only = (result: SuiteResult | null) =>
    result !== null && result.cases.length > 0 && result.evidence.stopped === null ? [result] : [];
  const alone = { base: only(await baseAlone), patched: only(await patchedAlone) };
  const needed = differs || proofs.length > 0;
  const again = needed && (worse || alone.patched.length === 0 || (differs && alone.base.length === 0));
  const [patchedAgain, baselineAgain] = again
    ? await Promise.all([
        patchedOnceMore(runs, trial, better),
        differs
          ? runs.suite({ label: "baseline", name: "verify-base-again", except: parts.all, files: null })
          : null,
      ])
    : [null, null];
  return { patchedAgain, baselineAgain, newTestsOnBaseAgain: await newAgain, alone, trial };
}

/** Begins at once for what may be proven, so that the verdict need not wait for it afterwards; null: there is nothing to try. */
export function beginTrial(
  runs: Runs,
  { request, parts, nonce }: Pick<LooksRequest, "request" | "parts" | "nonce">,
  proofs: readonly { readonly id: string; readonly message: string }[],
): Trial | null {
  const files = filesOf(proofs.map((proof) => proof.id));
  if (files.length === 0 || parts.sources.length === 0) return null;
  const stopped = new AbortController();
  const signal = AbortSignal.any([request.signal, stopped.signal]);
  const controlled = begun(
    tryProofs(runs, { files, proofs: byFile(proofs), sources: parts.sources, nonce, signal }),
  );
  return { files, controlled, stop: () => stopped.abort(new Error("there is no proof to try")) };
}

function byFile(proofs: Parameters<typeof beginTrial>[2]): ControlRequest["proofs"] {
  const named = proofs.map(({ id, message }) => ({ id, message, name: id.split(" > ").at(-1) ?? id }));
  return Map.groupBy(named, (proof) => fileOfId(proof.id));
}

/** The whole suite with tests that must fail is as good a second look at the others, if it ran them all. */
async function patchedOnceMore(
  runs: Runs,
  trial: Trial | null,
  wanted: readonly string[],
): Promise<SuiteResult | null> {
  const again = trial === null ? null : (await trial.controlled).again;
  const ran = caseMap(again);
  if (again !== null && wanted.every((id) => ran.has(id))) return again;
  return runs.suite({ label: "patched", name: "verify-patched-again", except: [], files: null });
}

/** Something besides fixed tests differs: tests that broke or are gone, or an exit code that turned without one. */
function worseThan(seen: ReturnType<typeof compare> | null): boolean {
  if (seen === null) return false;
  const worse = [seen.newlyFailing, seen.addedFailing, seen.missing].some((ids) => ids.length > 0);
  return worse || seen.fixed.length === 0;
}
