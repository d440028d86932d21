/** Step `baseline`: the suite on the base commit, once, in its own copy, at the same time as the agent works. */

import { sha256 } from "#src/base/canonical-json.ts";
import { messageOf } from "#src/base/result.ts";
import type { Outcome, StepContext } from "#src/dag/dag.ts";
import type { SuiteEvidence } from "#src/run/verdict.ts";
import type { DetectedSuite, SuiteResult } from "#src/verify/verify.ts";
import { fetchedPackages } from "../package-managers.ts";
import type { Proving } from "../proving.ts";
import { asJson, inputOf, type RunContext } from "../run-context.ts";
import { gitFailed, type Prepared } from "./prepare.ts";
import type { SetUp } from "./setup.ts";

export interface Baseline {
  /** Blob that holds the `SuiteResult`; null when there is no suite or set-up failed. */
  readonly blob: string | null;
  /** Paths that a run of the suite leaves changed: noise, left out of the patch. */
  readonly noise: readonly string[];
}

export const BASELINE_BLOB = "baseline";

export async function baseline(context: RunContext, step: StepContext): Promise<Outcome> {
  const prepared = inputOf<Prepared>(step.inputs, "prepare");
  const setUp = inputOf<SetUp>(step.inputs, "setup");
  const suite = prepared.detected.test;
  if (suite === null || setUp.failure !== null) return done({ blob: null, noise: setUp.noise });
  const { workspaces } = context.ports;
  const key = keyOf(context, prepared, suite);
  const kept = await readKept(context, key);
  if (kept !== null) {
    await context.putBlob(BASELINE_BLOB, JSON.stringify(kept.result));
    traceSuite(context, kept.result, "baseline");
    return done({ blob: BASELINE_BLOB, noise: [...new Set([...setUp.noise, ...kept.noise])] });
  }
  const copy = await workspaces.copy(context.runId, setUp.directory, "baseline");
  if (!copy.ok) return gitFailed(copy.error);
  const result = await runSuiteIn(context, {
    directory: copy.value,
    suite,
    label: "baseline",
    phase: "baseline",
    cache: setUp.cache,
    filter: null,
    image: prepared.image,
    signal: step.signal,
  });
  if (!result.ok) return result.outcome;
  await context.putBlob(BASELINE_BLOB, JSON.stringify(result.value));
  const dirty = await workspaces.dirtyPaths({
    runId: context.runId,
    repositoryId: context.request.repository.id,
    baseSha: prepared.baseSha,
    directory: copy.value,
  });
  if (!dirty.ok) return gitFailed(dirty.error);
  await keep(context, key, { result: result.value, noise: dirty.value });
  return done({ blob: BASELINE_BLOB, noise: [...new Set([...setUp.noise, ...dirty.value])] });
}

interface Kept {
  readonly result: SuiteResult;
  readonly noise: readonly string[];
}

/** Raised when a suite's results are read differently, so that older baselines are made anew. */
const READING = 2;

/** Everything that a baseline depends on. */
function keyOf(context: RunContext, prepared: Prepared, suite: DetectedSuite): string {
  const { sandbox, operator } = context.ports;
  return sha256(
    JSON.stringify([
      READING,
      context.request.repository.id,
      prepared.baseSha,
      [prepared.detected.setup, prepared.settings.networkAllow],
      [suite.command, suite.directory, suite.runner],
      prepared.image ?? null,
      [sandbox.name, operator.limits],
    ]),
  );
}

async function readKept(context: RunContext, key: string): Promise<Kept | null> {
  const text = (await context.ports.baselines?.read(key)) ?? null;
  if (text === null) return null;
  const { log } = context.ports;
  try {
    const kept = JSON.parse(text) as Partial<Kept> | null;
    if (kept?.result?.evidence !== undefined && Array.isArray(kept.result.cases) && Array.isArray(kept.noise))
      return { result: kept.result, noise: kept.noise };
    log.warn({ run: context.runId }, "a kept baseline is not one, and is made anew");
  } catch (error) {
    log.warn({ run: context.runId }, `a kept baseline is torn and made anew: ${messageOf(error)}`);
  }
  return null;
}

/** Only a suite that ended with results per test says something that another run can rely on. */
async function keep(context: RunContext, key: string, kept: Kept): Promise<void> {
  const { evidence, mismatch, strength } = kept.result;
  if (evidence.stopped === null && mismatch === null && strength === "report")
    await context.ports.baselines?.write(key, JSON.stringify(kept));
}

function done(output: Baseline): Outcome {
  return { kind: "done", output: asJson(output) };
}

export interface SuiteRun {
  readonly directory: string;
  readonly suite: DetectedSuite;
  readonly label: SuiteEvidence["label"];
  readonly phase: "baseline" | "verify";
  /** What set-up fetched (`SetUp.cache`). */
  readonly cache: string | null;
  readonly filter: string | null;
  readonly image: Prepared["image"];
  readonly signal: AbortSignal;
}

/** One run of the suite in a session of its own, its reports outside the workspace. */
export async function runSuiteIn(
  context: Proving,
  run: SuiteRun,
): Promise<{ ok: true; value: SuiteResult } | { ok: false; outcome: Outcome }> {
  const { sandbox, workspaces, operator, runSuite } = context.ports;
  const reports = await workspaces.scratch(
    context.runId,
    `reports-${run.phase}-${run.label.replaceAll(" ", "-")}`,
  );
  const fetched = fetchedPackages(run.cache);
  const session = await sandbox.open({
    runId: context.runId,
    phase: run.phase,
    workspace: run.directory,
    mounts: [{ source: reports, target: "/reports", mode: "rw" }, ...fetched.mounts],
    network: { kind: "none" },
    limits: operator.limits,
    image: run.image,
    env: fetched.env,
  });
  if (!session.ok)
    return {
      ok: false,
      outcome: { kind: "failed", code: "sandbox_unavailable", message: session.error.message, retry: false },
    };
  try {
    const { suite, label, filter, signal } = run;
    const result = await runSuite({
      session: session.value,
      suite,
      label,
      reports,
      filter,
      timeoutMs: operator.suiteTimeoutMs,
      signal,
    });
    traceSuite(context, result, run.phase);
    return { ok: true, value: result };
  } finally {
    await session.value.close();
  }
}

export function traceSuite(context: Pick<Proving, "trace">, result: SuiteResult, step: string): void {
  const { label, command, directory, exitCode, stopped, counts, strength, durationMs } = result.evidence;
  context.trace.emit(
    "suite",
    { label, command, directory, exitCode, stopped, ...counts, strength, ms: durationMs },
    { step },
  );
}
