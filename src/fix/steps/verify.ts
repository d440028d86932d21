/** Step `verify`: has the verdict established in fresh copies, and sends the agent back while rounds and budget are left, or when a maintainer asked for more meanwhile. */

import { err, ok } from "#src/base/result.ts";
import { protectingGlob } from "#src/config/protected-paths.ts";
import type { Outcome, StepContext } from "#src/dag/dag.ts";
import type { Verdict } from "#src/run/verdict.ts";
import type { SuiteResult } from "#src/verify/verify.ts";
import type { ChangedFile } from "#src/workspace/workspace.ts";
import { evidenceFile } from "../evidence-file.ts";
import { feedbackFor } from "../feedback.ts";
import { fetchedPackages } from "../package-managers.ts";
import type { Proving } from "../proving.ts";
import { instructionsSoFar, roundsAgainst } from "../rounds.ts";
import { asJson, inputOf, lastOutput, type RunContext } from "../run-context.ts";
import { type Baseline, traceSuite } from "./baseline.ts";
import { type Collected, DIFF_BLOB } from "./collect.ts";
import type { Prepared } from "./prepare.ts";
import type { SetUp } from "./setup.ts";
import type { Solved } from "./solve.ts";

export interface Verified {
  readonly verdict: Verdict;
  /** The tree it is about. */
  readonly treeId: string;
  /** The agent was sent back: this verdict is not the last word. */
  readonly sentBack: boolean;
}

export async function verify(context: RunContext, step: StepContext): Promise<Outcome> {
  const prepared = inputOf<Prepared>(step.inputs, "prepare");
  const setUp = inputOf<SetUp>(step.inputs, "setup");
  const solved = inputOf<Solved>(step.inputs, "solve");
  const collected = inputOf<Collected>(step.inputs, "collect");
  const { blob } = inputOf<Baseline>(step.inputs, "baseline");
  await context.enter("verifying");
  const protectedPath = firstProtected(collected.changes, prepared);
  const { treeId } = collected;
  const before = lastOutput<Verified>(context, "verify");
  // Sent back, the agent changed nothing: what was found stands, and saying it again would only cost.
  const insists = before !== null && before.treeId === treeId;
  const stored = blob === null || insists ? null : await context.blob(blob);
  const baseline = stored === null ? null : (JSON.parse(stored) as SuiteResult);
  const results: SuiteResult[] = baseline === null ? [] : [baseline];
  const verdict = insists
    ? before.verdict
    : await establish(context, {
        prepared,
        setUp,
        baseline,
        observe: (result) => results.push(result),
        treeId,
        changes: collected.changes,
        signal: step.signal,
        step: "verify",
        checks: checksOf(prepared),
      });
  if (step.signal.aborted) return { kind: "failed", code: "cancelled", message: "stopped", retry: true };
  traceVerdict(context, verdict, "verify");
  if (!insists) await keepEvidence(context, { prepared, collected, verdict, results });
  const feedback = feedbackFor(verdict, protectedPath);
  const roundsLeft = !insists && roundsAgainst(context) < context.ports.operator.maxRounds;
  const mend = feedback !== null && roundsLeft && solved.status === "done" ? feedback : null;
  if (mend !== null || instructionsSoFar(context).length > solved.heard) {
    await context.append({ type: "sent_back", round: solved.round + 1, feedback: mend ?? "" });
    return { kind: "done", output: asJson({ verdict, treeId, sentBack: true } satisfies Verified) };
  }
  if (protectedPath !== null)
    return {
      kind: "failed",
      code: "protected_path",
      message: `The change touches ${protectedPath}, which is protected here. The operator can allow it with PROTECTED_EXCEPT; changing workflows also needs the app's permission for workflows.`,
      retry: false,
    };
  return { kind: "done", output: asJson({ verdict, treeId, sentBack: false } satisfies Verified) };
}

/** Those of the repository file that are set. */
export function checksOf(prepared: Pick<Prepared, "settings">): Establishing["checks"] {
  return Object.entries(prepared.settings.checks).flatMap(([name, command]) =>
    command === null || command.trim() === "" ? [] : [{ name, command }],
  );
}

interface Established {
  readonly prepared: Prepared;
  readonly collected: Collected;
  readonly verdict: Verdict;
  readonly results: readonly SuiteResult[];
}

async function keepEvidence(context: RunContext, established: Established): Promise<void> {
  const { ports, runId } = context;
  const { prepared, collected, verdict, results } = established;
  const text = evidenceFile({
    base: prepared.baseSha,
    tree: collected.treeId,
    diff: (await context.blob(DIFF_BLOB)) ?? "",
    setup: prepared.detected.setup,
    environment: { sandbox: ports.sandbox.name, limits: { ...ports.operator.limits } },
    verdict,
    results,
  });
  await ports.keepEvidence?.(runId, text);
}

function firstProtected(changes: readonly ChangedFile[], prepared: Prepared): string | null {
  const { protectedPaths } = prepared.settings;
  return changes.find((change) => protectingGlob(change.path, protectedPaths) !== null)?.path ?? null;
}

export interface Establishing {
  readonly prepared: Pick<Prepared, "baseSha" | "detected" | "image">;
  readonly setUp: SetUp;
  readonly baseline: SuiteResult | null;
  readonly treeId: string;
  readonly changes: readonly ChangedFile[];
  readonly signal: AbortSignal;
  /** For the trace. */
  readonly step: string;
  /** The repository's own checks besides tests, by their keys. */
  readonly checks: readonly { readonly name: string; readonly command: string }[];
  /** Told of each finished run besides the trace. */
  readonly observe?: (result: SuiteResult) => void;
}

/** The verdict on a tree over a base, in copies the agent never touched. */
export async function establish(context: Proving, work: Establishing): Promise<Verdict> {
  const { ports, runId } = context;
  const { workspaces, sandbox, operator } = ports;
  const { baseSha } = work.prepared;
  const repositoryId = context.request.repository.id;
  const texts = await readTexts(context, work);
  return ports.verifyPatch({
    suite: work.prepared.detected.test,
    setupFailed: work.setUp.failure,
    baseline: work.baseline,
    changes: work.changes,
    baseText: (path) => texts.base.get(path) ?? null,
    patchedText: (path) => texts.patched.get(path) ?? null,
    copy: async (label, except) => {
      const copy = await workspaces.copy(runId, work.setUp.directory, `${work.step}-${nameOf(label)}`);
      if (!copy.ok) return err(copy.error.message);
      const directory = copy.value;
      const tree = { runId, repositoryId, directory, baseSha, treeId: work.treeId, except };
      const applied = await workspaces.applyTree(tree);
      return applied.ok ? ok(directory) : err(applied.error.message);
    },
    open: async (directory, label) => {
      const reports = await workspaces.scratch(runId, `reports-${work.step}-${nameOf(label)}`);
      const fetched = fetchedPackages(work.setUp.cache);
      const session = await sandbox.open({
        runId,
        phase: "verify",
        workspace: directory,
        mounts: [{ source: reports, target: "/reports", mode: "rw" }, ...fetched.mounts],
        network: { kind: "none" },
        limits: operator.limits,
        image: work.prepared.image,
        env: fetched.env,
      });
      return session.ok ? ok({ session: session.value, reports }) : err(session.error.message);
    },
    readBase: async (path) => {
      const bytes = await workspaces.files(repositoryId, baseSha).read(path);
      return bytes === null ? null : Buffer.from(bytes).toString("utf8");
    },
    checks: work.checks,
    timeoutMs: operator.suiteTimeoutMs,
    parallel: operator.parallelSuites,
    signal: work.signal,
    observe: (result) => {
      traceSuite(context, result, work.step);
      work.observe?.(result);
    },
  });
}

function nameOf(label: string): string {
  return label.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase();
}

interface Texts {
  readonly base: ReadonlyMap<string, string>;
  readonly patched: ReadonlyMap<string, string>;
}

/** Both sides of every changed file, for the comparison of tests by their text. */
async function readTexts(context: Proving, work: Establishing): Promise<Texts> {
  const { workspaces } = context.ports;
  const repositoryId = context.request.repository.id;
  const files = workspaces.files(repositoryId, work.prepared.baseSha);
  const base = new Map<string, string>();
  const patched = new Map<string, string>();
  for (const { path, status } of work.changes) {
    const before = status === "added" ? null : await files.read(path);
    if (before !== null) base.set(path, Buffer.from(before).toString("utf8"));
    const after =
      status === "deleted"
        ? null
        : await workspaces.readTreeFile(context.runId, repositoryId, work.treeId, path);
    if (after !== null) patched.set(path, Buffer.from(after).toString("utf8"));
  }
  return { base, patched };
}

export function traceVerdict(context: Pick<Proving, "trace">, verdict: Verdict, step: string): void {
  context.trace.emit(
    "verdict",
    {
      class: verdict.class,
      reason: verdict.class === "unproven" ? verdict.reason : null,
      fixed: verdict.evidence.fixed.map((proof) => proof.test),
      newlyFailing: verdict.evidence.newlyFailing,
      tampering: verdict.evidence.tampering.map((finding) => `${finding.kind} ${finding.path}`),
    },
    { step },
  );
}
