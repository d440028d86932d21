/** Step `publish`: opens the pull request of exactly what was approved, after asking once more who approved it. */

import type { Outcome, StepContext } from "#src/dag/dag.ts";
import { commitMessage, footer } from "#src/gate/pull-request-text.ts";
import { mayDecide, ruling, type WhoFacts } from "#src/gate/who.ts";
import { branchName } from "#src/publish/publish.ts";
import { proposalDigest } from "#src/run/proposal.ts";
import { asJson, inputOf, type RunContext } from "../run-context.ts";
import { factsAbout } from "../who.ts";
import type { Rechecked } from "./recheck.ts";

const PAUSE_MS = 1_000;
/** How long after the approval GitHub is asked again whether what it did not answer to has come about. */
const PATIENCE_MS = 3_600_000;

export async function publish(context: RunContext, step: StepContext): Promise<Outcome> {
  const run = context.run();
  if (run.state !== "approved" && run.state !== "rechecking" && run.state !== "publishing")
    throw new Error(`publish was reached in state ${run.state}`);
  const { plan, approval } = run;
  const { proposal } = plan;
  if (proposalDigest(proposal) !== approval.digest) throw new Error("the proposal is not the approved one");
  const patient = context.ports.clock.now() - approvedAt(context) < PATIENCE_MS;
  const who = await factsAbout(context, approval.by, "approve");
  // No answer is a no for now; an earlier visit may have published, so that nothing else can be said yet.
  if (who.permission === "unknown" && patient) return { kind: "waiting" };
  if (!ruling(who, "approve").allow) return failed("permission", notPublished(context, who));
  await context.append({ type: "publish_started" });
  const { ports } = context;
  const published = await ports.publish({
    github: context.conversation.publisher(),
    journal: context.journal,
    proposal,
    content: (path) =>
      ports.workspaces.readTreeFile(context.runId, proposal.repositoryId, proposal.treeId, path),
    branch: branchOf(context),
    pullRequest: context.request.pullRequest?.number ?? null,
    commitMessage: commitMessage(proposal.title, proposal.issue, context.runId),
    body:
      proposal.body +
      footer({
        approvedBy: approval.by,
        digest: approval.digest,
        runId: context.runId,
        recheck: inputOf<Rechecked>(step.inputs, "recheck").sentence,
      }),
    pause: (attempt) => ports.clock.sleep(PAUSE_MS * 2 ** (attempt - 1), step.signal),
  });
  if (!published.ok) {
    const { code, message, certain } = published.error;
    context.trace.emit(
      "github",
      { effect: "pull-request", outcome: "failed", id: null },
      { step: "publish" },
    );
    // To say that it failed while a pull request may stand would be a guess: the next visit looks.
    return code === "github_failed" && !certain && patient ? { kind: "waiting" } : failed(code, message);
  }
  const { pullRequest, url, branch, commitSha, notes } = published.value;
  for (const note of notes) ports.log.warn({ run: context.runId, pullRequest }, note);
  context.trace.emit("github", { effect: "pull-request", outcome: "done", id: url }, { step: "publish" });
  await context.append({ type: "published", pullRequest, url, branch, commitSha });
  return { kind: "done", output: asJson(published.value) };
}

function branchOf({ request, runId }: RunContext): string {
  return request.pullRequest?.branch ?? branchName(request.issue.number, runId);
}

function notPublished(context: RunContext, { permission }: WhoFacts): string {
  const run = context.run();
  const who = "approval" in run ? run.approval.by : "whoever approved";
  const begun = context.journal.intended("branch");
  const left = `the branch ${branchOf(context)} and its pull request may stand`;
  return `${who}, who approved, ${permission === "unknown" ? "could not be looked up again" : mayDecide(permission) ? "is no longer among those who approve here" : "no longer has write access"}; ${begun ? left : "nothing was published"}. Another maintainer can say /retry.`;
}

function approvedAt(context: RunContext): number {
  return context.events().findLast(({ event }) => event.type === "approved")?.at ?? 0;
}

function failed(code: string, message: string): Outcome {
  return { kind: "failed", code, message, retry: false };
}
