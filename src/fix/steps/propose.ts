/** Step `propose`: turns tree and verdict into a proposal with its digest, and posts the plan that shows it. */

import type { Outcome, StepContext } from "#src/dag/dag.ts";
import { diffWarnings } from "#src/gate/diff-warnings.ts";
import type { PlanFacts } from "#src/gate/plan-comment.ts";
import { renderPlan } from "#src/gate/plan-comment.ts";
import { pullRequestBody, readFinalWords } from "#src/gate/pull-request-text.ts";
import type { GitHubFailure } from "#src/github/github.ts";
import { type Proposal, proposalDigest } from "#src/run/proposal.ts";
import type { Verdict } from "#src/run/verdict.ts";
import { factsOf } from "../agent-observer.ts";
import { PLAN_EFFECT } from "../conversation.ts";
import { noteHold } from "../held-back.ts";
import { instructionsSoFar, roundsAgainst } from "../rounds.ts";
import { asJson, inputOf, type RunContext } from "../run-context.ts";
import { type Collected, DIFF_BLOB } from "./collect.ts";
import type { Prepared } from "./prepare.ts";
import type { Solved } from "./solve.ts";
import type { Verified } from "./verify.ts";

export const PROPOSE_STEP = "propose";
export const PLAN_BLOB = "plan-body";
/** Twice the time after which GitHub's limits begin anew. */
const PATIENCE_MS = 2 * 3_600_000;

export interface ProposedPlan {
  readonly digest: string;
}

export async function propose(context: RunContext, step: StepContext): Promise<Outcome> {
  const prepared = inputOf<Prepared>(step.inputs, "prepare");
  const solved = inputOf<Solved>(step.inputs, "solve");
  const collected = inputOf<Collected>(step.inputs, "collect");
  const verified = inputOf<Verified>(step.inputs, "verify");
  // The agent was sent back: the next drive runs `solve` again, whose input has changed.
  if (verified.sentBack) return { kind: "waiting" };
  // A decision that was under way when this step began is in the log by then; later ones wait for the plan.
  await context.refresh();
  if (instructionsSoFar(context).length > solved.heard) {
    await context.append({ type: "sent_back", round: solved.round + 1, feedback: "" });
    return { kind: "waiting" };
  }
  const { verdict } = verified;
  if (verdict.class === "refuted")
    return { kind: "failed", code: "refuted", message: refusal(roundsAgainst(context)), retry: false };
  const words = readFinalWords(solved.finalText, context.request.issue.title);
  const proposal = makeProposal(context, { prepared, collected, verdict, words });
  const digest = proposalDigest(proposal);
  const diff = (await context.blob(DIFF_BLOB)) ?? "";
  const facts = planFacts({ context, prepared, solved, collected, verdict, proposal, digest, diff });
  // Kept first, so that the comment can be edited to say what became of the plan whenever it stands.
  await context.putBlob(
    PLAN_BLOB,
    withoutMarker(renderPlan({ ...facts, explanation: words.explanation }, "full").body),
  );
  const posted = await context.conversation.plan(context.journal, (size) =>
    renderPlan({ ...facts, explanation: words.explanation }, size),
  );
  if (!posted.ok && isHeldBack(context, posted.error.code)) {
    if (posted.error.code === "rate_limited") noteHold(context, posted.error);
    return { kind: "waiting" };
  }
  if (!posted.ok)
    return {
      kind: "failed",
      code:
        posted.error.code === "permission_missing" || posted.error.code === "forbidden"
          ? "permission"
          : "github_failed",
      message: `The plan could not be posted: ${posted.error.message}`,
      retry: false,
    };
  await context.append({
    type: "proposed",
    proposal,
    digest,
    verdict,
    planCommentId: posted.value.commentId,
    planCommentAt: posted.value.at,
    diffShown: posted.value.diffShown,
  });
  const plan: ProposedPlan = { digest };
  return { kind: "done", output: asJson(plan) };
}

/** The result is kept, and a limit or a suspension passes; who looks at the run again posts it (FAULTS F13). */
function isHeldBack(context: RunContext, code: GitHubFailure["code"]): boolean {
  if (code !== "rate_limited" && code !== "suspended") return false;
  const begun = context
    .events()
    .find(({ event }) => event.type === "effect_intended" && event.effect === PLAN_EFFECT);
  const { clock } = context.ports;
  return clock.now() - (begun?.at ?? clock.now()) < PATIENCE_MS;
}

function withoutMarker(body: string): string {
  return body.slice(body.indexOf("\n") + 1).trimStart();
}

function refusal(rounds: number): string {
  if (rounds === 0) return "The result was checked and does not hold.";
  return `The agent was told what is wrong ${rounds === 1 ? "once" : `${rounds} times`}, and did not mend it.`;
}

interface ProposalParts {
  readonly prepared: Prepared;
  readonly collected: Collected;
  readonly verdict: Verdict;
  readonly words: { readonly title: string; readonly explanation: string };
}

function makeProposal(context: RunContext, parts: ProposalParts): Proposal {
  const { request } = context;
  return {
    repositoryId: request.repository.id,
    issue: request.issue.number,
    runId: context.runId,
    baseSha: parts.prepared.baseSha,
    targetBranch: parts.prepared.targetBranch,
    treeId: parts.collected.treeId,
    files: parts.collected.changes,
    title: parts.words.title,
    body: pullRequestBody({
      issue: request.issue.number,
      explanation: parts.words.explanation,
      verdict: parts.verdict,
      template: parts.prepared.template,
    }),
    verdictClass: parts.verdict.class,
    draft: parts.verdict.class !== "proven",
    labels: [],
  };
}

interface PlanParts {
  readonly context: RunContext;
  readonly prepared: Prepared;
  readonly solved: Solved;
  readonly collected: Collected;
  readonly verdict: Verdict;
  readonly proposal: Proposal;
  readonly digest: string;
  readonly diff: string;
}

function planFacts(parts: PlanParts): Omit<PlanFacts, "explanation"> {
  const { context, solved, verdict, diff } = parts;
  return {
    proposal: parts.proposal,
    digest: parts.digest,
    verdict,
    diff,
    newTests: provingTests(verdict, parts.collected, diff),
    warnings: warningsOf(parts),
    leftOut: parts.collected.leftOut,
    trace: factsOf(solved.spent, solved.toolCalls, solved.retries, solved.status),
    ...(solved.began?.afresh === false ? { goesOn: solved.began.text } : {}),
    tracePlace: context.ports.operator.tracePlace(context.runId),
    pullRequest: context.request.pullRequest?.number ?? null,
    seq: 1,
  };
}

/** The diff of each new or changed test file that proves the fix, to be read first. */
function provingTests(verdict: Verdict, collected: Collected, diff: string): PlanFacts["newTests"] {
  if (verdict.class !== "proven") return [];
  const ids = verdict.by.filter((proof) => proof.source === "new").map((proof) => proof.test);
  return collected.changes
    .filter((change) => ids.some((id) => isOfFile(id, change.path)))
    .map((change) => ({ path: change.path, diff: diffOf(diff, change.path) }))
    .filter((test) => test.diff !== "");
}

/** Ids begin with the file's path; `a.test.js` is no file of `a.test.jsx > works`. */
function isOfFile(id: string, path: string): boolean {
  return id.startsWith(path) && !/^[\w./-]/.test(id.slice(path.length));
}

/** One file's part of a unified git diff, found by the header, since lines of the content may look like one. */
export function diffOf(diff: string, path: string): string {
  const parts = diff.split(/^(?=diff --git )/m);
  return parts.find((part) => newNameOf(part) === `b/${path}`) ?? "";
}

function newNameOf(part: string): string | null {
  const header = part.slice(0, Math.max(0, part.search(/^@@ /m)));
  // Git ends a name that has a blank with a tab, and quotes one that has quotes or control characters.
  const name = /^\+\+\+ (.*?)\t?$/m.exec(header)?.[1];
  if (name === undefined) return null;
  return name.startsWith('"') ? unquote(name.slice(1, -1)) : name;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  t: "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
};

function unquote(name: string): string {
  return name.replace(/\\([0-7]{3}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (ESCAPES[code] ?? code),
  );
}

/** What concerns the bytes to be approved comes first: of many warnings only the first are shown. */
function warningsOf(parts: PlanParts): readonly string[] {
  const { context, prepared, solved, diff, proposal } = parts;
  const { warning } = context.ports.sandbox;
  const { removed, began } = solved;
  return [
    ...(warning === null ? [] : [warning]),
    ...diffWarnings(diff, proposal.files),
    ...(removed.length > 0
      ? [`Hidden text was removed from the issue before the agent read it: ${removed.join(", ")}.`]
      : []),
    ...(solved.status === "done" ? [] : [`The agent did not finish by itself: ${solved.message}`]),
    ...(began?.afresh === true ? [began.text] : []),
    ...(prepared.related ?? []),
    ...prepared.settings.notes,
    ...prepared.detected.notes,
  ];
}
