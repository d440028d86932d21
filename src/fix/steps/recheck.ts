/** Step `recheck`: when the base has moved since the plan, merges in memory and verifies again; the result is never published, only believed. */

import type { Outcome, StepContext } from "#src/dag/dag.ts";
import type { Proposal } from "#src/run/proposal.ts";
import type { Verdict } from "#src/run/verdict.ts";
import { holdBack, watchedToken } from "../held-back.ts";
import { asJson, type RunContext } from "../run-context.ts";
import { runSuiteIn } from "./baseline.ts";
import { gitFailed, type Prepared } from "./prepare.ts";
import { buildSetUp } from "./setup.ts";
import { establish, traceVerdict } from "./verify.ts";

const RECHECK_STEP = "recheck";

export interface Rechecked {
  /** For the pull request's footer; null when the base had not moved. */
  readonly sentence: string | null;
}

export async function recheck(context: RunContext, step: StepContext): Promise<Outcome> {
  const run = context.run();
  if (run.state !== "approved" && run.state !== "rechecking" && run.state !== "publishing")
    throw new Error(`recheck was reached in state ${run.state}`);
  const { proposal } = run.plan;
  const head = await context.conversation.branchHead(proposal.targetBranch);
  if (!head.ok && head.error.code === "rate_limited")
    return holdBack(context, RECHECK_STEP, head.error, "The target branch could not be read");
  if (!head.ok)
    return failed(
      "github_failed",
      `The target branch could not be read: ${head.error.message}. Say /retry later.`,
    );
  if (head.value === null)
    return failed(
      "base_conflict",
      `The branch ${proposal.targetBranch} is gone. Say /retry once that is settled.`,
    );
  if (head.value === proposal.baseSha || run.state === "publishing") return done(null);
  if (context.request.pullRequest !== undefined)
    return failed(
      "base_conflict",
      `Somebody has pushed to ${proposal.targetBranch} since the plan, so nothing was pushed. Say /revise again to have it done on the new head.`,
    );
  await context.append({ type: "recheck_started", newBaseSha: head.value });
  return recheckOn(context, step, proposal, run.plan.verdict);
}

async function recheckOn(
  context: RunContext,
  step: StepContext,
  proposal: Proposal,
  approved: Verdict,
): Promise<Outcome> {
  const { workspaces } = context.ports;
  const { repository } = context.request;
  const source = { id: repository.id, cloneUrl: repository.cloneUrl };
  const git = watchedToken(context.ports.gitToken(context.request));
  const fetched = await workspaces.fetch(source, proposal.targetBranch, git.token, step.signal);
  const held = git.heldBack();
  if (!fetched.ok && held !== null)
    return holdBack(context, RECHECK_STEP, held, "The moved base could not be fetched");
  if (!fetched.ok) return gitFailed(fetched.error);
  const newBase = fetched.value.headSha;
  const merged = await workspaces.merge({
    runId: context.runId,
    repositoryId: repository.id,
    baseSha: proposal.baseSha,
    treeId: proposal.treeId,
    ontoSha: newBase,
  });
  if (!merged.ok) {
    if (merged.error.code !== "conflict") return gitFailed(merged.error);
    return failed(
      "base_conflict",
      `${proposal.targetBranch} has moved to ${newBase.slice(0, 12)} and conflicts with this change: ${merged.error.message}. Say /retry to have it done on the new base.`,
    );
  }
  if (!merged.value.adds)
    return failed(
      "no_changes",
      `${proposal.targetBranch} has moved to ${newBase.slice(0, 12)}, which holds this change already: nothing to propose.`,
    );
  const verdict = await verdictOnNewBase(context, step, { newBase, treeId: merged.value.treeId, proposal });
  if (!verdict.ok) return verdict.outcome;
  traceVerdict(context, verdict.value, "recheck");
  if (isWorse(verdict.value, approved))
    return failed(
      "worse_on_new_base",
      `${proposal.targetBranch} has moved to ${newBase.slice(0, 12)}, and merged with it the change is ${verdict.value.class}, not ${approved.class} as approved. Say /retry to have it done on the new base.`,
    );
  return done(
    `The base had moved to ${newBase.slice(0, 12)}; merged with it, the change was tested again: ${verdict.value.class}.`,
  );
}

interface NewBase {
  readonly newBase: string;
  readonly treeId: string;
  readonly proposal: Proposal;
}

async function verdictOnNewBase(
  context: RunContext,
  step: StepContext,
  { newBase, treeId, proposal }: NewBase,
): Promise<{ ok: true; value: Verdict } | { ok: false; outcome: Outcome }> {
  const prepared = preparedOf(context);
  const onNew = { ...prepared, baseSha: newBase };
  const setUp = await buildSetUp(context, onNew, "recheck-base", step.signal);
  if (!setUp.ok) return setUp;
  const suite = prepared.detected.test;
  let baseline = null;
  if (suite !== null && setUp.value.failure === null) {
    const copy = await context.ports.workspaces.copy(
      context.runId,
      setUp.value.directory,
      "recheck-baseline",
    );
    if (!copy.ok) return { ok: false, outcome: gitFailed(copy.error) };
    const directory = copy.value;
    const ran = await runSuiteIn(context, {
      directory,
      suite,
      label: "baseline",
      phase: "baseline",
      cache: setUp.value.cache,
      filter: null,
      image: prepared.image,
      signal: step.signal,
    });
    if (!ran.ok) return ran;
    baseline = ran.value;
  }
  const verdict = await establish(context, {
    prepared: onNew,
    setUp: setUp.value,
    baseline,
    treeId,
    changes: proposal.files,
    signal: step.signal,
    step: "recheck",
    checks: [],
  });
  return { ok: true, value: verdict };
}

function preparedOf(context: RunContext): Prepared {
  const record = context.stepLog
    .records()
    .findLast((entry) => entry.kind === "done" && entry.step === "prepare");
  if (record?.kind !== "done") throw new Error("the run was never prepared");
  return record.output as unknown as Prepared;
}

const RANK = { proven: 3, passing: 2, unproven: 1, refuted: 0 } as const;

/** On the new base a proven fix may have become merely passing when somebody else added the same test; a class lower than that is worse. */
function isWorse(now: Verdict, approved: Verdict): boolean {
  const floor = approved.class === "proven" ? RANK.passing : RANK[approved.class];
  return RANK[now.class] < floor;
}

function done(sentence: string | null): Outcome {
  return { kind: "done", output: asJson({ sentence } satisfies Rechecked) };
}

function failed(code: string, message: string): Outcome {
  return { kind: "failed", code, message, retry: false };
}
