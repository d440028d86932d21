/** The evidence of a verdict as JSON: what was run on what, how it ended, and how each test fared in each run. Pure. */

import { canonicalJson, type Json, sha256 } from "#src/base/canonical-json.ts";
import type { Verdict } from "#src/run/verdict.ts";
import type { DetectedCommand, SuiteResult } from "#src/verify/verify.ts";

/** Raised when a reader of older files would misread a newer one. */
const VERSION = 1;

export interface EvidenceParts {
  readonly base: string;
  readonly tree: string;
  /** Unified diff from base to tree. */
  readonly diff: string;
  readonly setup: DetectedCommand | null;
  /** Sandbox and limits. */
  readonly environment: Readonly<Record<string, Json>>;
  readonly verdict: Verdict;
  /** In the order in which they ended; the first of a label is the one that counts, later ones are second looks. */
  readonly results: readonly SuiteResult[];
}

/** Outcomes of one test, by the run's place in `suites`; null: it was not there. */
function matrix(results: readonly SuiteResult[]): Json {
  const maps = results.map((result) => new Map(result.cases.map((one) => [one.id, one.outcome])));
  const ids = [...new Set(results.flatMap((result) => result.cases.map((one) => one.id)))];
  return ids.map((id) => ({ id, outcomes: maps.map((map) => map.get(id) ?? null) }));
}

function suite(result: SuiteResult): Json {
  const { label, command, directory, exitCode, stopped, counts, strength, durationMs } = result.evidence;
  const { reportSha256 = null } = result.evidence;
  return {
    ...{ label, command, directory, exitCode, stopped, counts: { ...counts }, strength, durationMs },
    reportSha256,
    mismatch: result.mismatch,
  };
}

/** Ends with a line break. Digests are lower-case hex SHA-256: of the diff's bytes, and of the environment's canonical JSON. */
export function evidenceFile(parts: EvidenceParts): string {
  const { verdict, setup, environment } = parts;
  const { tampering, flaky, fixed, newlyFailing, stillFailing, notes, failedChecks } = verdict.evidence;
  const file = {
    version: VERSION,
    base: parts.base,
    tree: parts.tree,
    patchSha256: sha256(parts.diff),
    environment: { ...environment, network: "none", digest: sha256(canonicalJson(environment)) },
    setup: setup === null ? null : { command: setup.command, directory: setup.directory },
    verdict: {
      class: verdict.class,
      ...(verdict.class === "unproven" ? { reason: verdict.reason, detail: verdict.detail } : {}),
      ...(verdict.class === "passing" || verdict.class === "refuted" ? { because: verdict.because } : {}),
    },
    ...{ fixed, newlyFailing, stillFailing, flaky, tampering, failedChecks: failedChecks ?? [], notes },
    suites: parts.results.map(suite),
    tests: matrix(parts.results),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}
