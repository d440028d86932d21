/** The gate itself: pure functions from facts to a decision with its reason. */

import { shortDigest } from "#src/run/proposal.ts";
import type { Command, Run } from "#src/run/run.ts";
import { ruling, type WhoFacts } from "./who.ts";

export interface CommandFacts {
  readonly command: Command;
  /** Who said it. */
  readonly who: WhoFacts;
  readonly commentId: number;
  readonly run: Run;
  /** The pull request the command was said on; null: the issue. */
  readonly pullRequest: number | null;
  /** True when an earlier run of the issue has shown a plan or an intent, or this one an intent before its plan: then a bare `/approve` could mean that one. */
  readonly hasEarlierPlan: boolean;
  /** How the comment of the plan or intent that waits stands; only asked for a bare `/approve`. */
  readonly offer: OfferStanding;
  /** The digest of the run's intent once it is approved; null: there is none, or not yet. */
  readonly approvedIntent: string | null;
  /** True while the plan is being posted: then it is too late to give the agent more to do, and too early to revise the plan. */
  readonly isProposing: boolean;
  /** True when checks of the pull request, on the commit that the run pushed, did not pass. */
  readonly checksFailed: boolean;
  /** When it was said, ms since the epoch; where nobody knows, now. A word that comes late was meant for what stood then. */
  readonly saidAt: number;
  /** Dollars a `/retry budget=` may ask for at most. */
  readonly ceilingUsd: number | null;
}

/** `restored`: somebody had edited it, and it is back as it was posted. `unknown`: GitHub gave no answer. */
export type OfferStanding = "as_posted" | "edited" | "restored" | "deleted" | "unknown";

export type Decision =
  | { readonly act: "approve"; readonly digest: string; readonly unverified: boolean }
  | { readonly act: "approve_intent"; readonly digest: string }
  | { readonly act: "cancel" }
  /** Closes the run's pull request, and deletes its branch while the head is ours. */
  | { readonly act: "close_pull_request" }
  | {
      readonly act: "new_run";
      readonly trigger: "retry" | "revise";
      readonly instruction: string;
      readonly budgetUsd: number | null;
    }
  | { readonly act: "instruct"; readonly text: string }
  | { readonly act: "answer"; readonly topic: "status" | "help" }
  | { readonly act: "acknowledge" }
  /** To be decided anew in a moment; nothing is recorded or answered yet. */
  | { readonly act: "wait" }
  | { readonly act: "refuse"; readonly because: string };

const SETTLE_MS = 60_000;

/** Decides one command on one run. Everything that is not allowed is `refuse` with a sentence for the person. */
export function decideCommand(facts: CommandFacts): Decision {
  const { command, run } = facts;
  if (command.verb === "unclear") return refuse(command.hint);
  if (command.verb === "help") return { act: "answer", topic: "help" };
  if (command.verb === "status") return { act: "answer", topic: "status" };
  const may = ruling(facts.who, "decide");
  if (!may.allow) return refuse(may.because);
  switch (command.verb) {
    case "approve":
      return decideApproval(facts, command, run);
    case "cancel":
      return decideCancel(facts);
    case "retry":
      return decideRetry(facts, command.budgetUsd);
    case "revise":
      return decideRevision(facts, command.text);
  }
}

function refuse(because: string): Decision {
  return { act: "refuse", because };
}

type ApproveCommand = Extract<Command, { verb: "approve" }>;

function decideApproval(facts: CommandFacts, command: ApproveCommand, run: Run): Decision {
  switch (run.state) {
    case "queued":
    case "preparing":
    case "solving":
    case "verifying":
      return beforeThePlan(facts, command);
    case "awaiting_intent": {
      const { digest, commentId, commentAt, shown } = run.intent;
      const stale = staleness(facts, command, {
        ...{ name: "intent", digest, commentId, at: commentAt, shown },
        line: `/approve ${shortDigest(digest)}`,
      });
      return stale ?? { act: "approve_intent", digest };
    }
    case "approved":
    case "rechecking":
    case "publishing":
      return { act: "acknowledge" };
    case "awaiting_approval":
      return decideAwaiting(facts, command, run);
    default:
      return refuse(`There is nothing to approve: ${howItEnded(run)}`);
  }
}

/** Somebody who approves the intent a second time, by its digest, has what they want. */
function beforeThePlan({ approvedIntent }: CommandFacts, { digest }: ApproveCommand): Decision {
  if (approvedIntent === null)
    return refuse("There is no plan yet to approve; I post it when the work is done.");
  if (digest !== null && approvedIntent.startsWith(digest)) return { act: "acknowledge" };
  return refuse(
    "The intent is approved already; there is no plan yet to approve. I post it when the work is done.",
  );
}

function decideAwaiting(
  facts: CommandFacts,
  command: ApproveCommand,
  { plan }: Extract<Run, { state: "awaiting_approval" }>,
): Decision {
  const { digest, planCommentId: commentId, planCommentAt: at, diffShown: shown } = plan;
  const unproven = plan.verdict.class === "unproven";
  const line = `/approve ${shortDigest(digest)}${unproven ? " unverified" : ""}`;
  const stale = staleness(facts, command, { name: "plan", digest, commentId, at, shown, line });
  if (stale !== null) return stale;
  if (unproven && !command.unverified)
    return refuse(`This plan is not proven. If you want the pull request all the same, answer \`${line}\`.`);
  return { act: "approve", digest, unverified: command.unverified };
}

/** What stands for approval: the newest plan or intent. */
interface Offer {
  readonly name: "plan" | "intent";
  readonly digest: string;
  readonly commentId: number;
  readonly at: number;
  /** All of it stands in its comment. */
  readonly shown: boolean;
  /** The answer that leaves no doubt. */
  readonly line: string;
}

/** Why a command does not approve what is offered; null: it does. */
function staleness(facts: CommandFacts, command: ApproveCommand, offer: Offer): Decision | null {
  const { name, line } = offer;
  const may = ruling(facts.who, "approve");
  if (!may.allow) return refuse(may.because);
  if (facts.commentId <= offer.commentId)
    return refuse(`That was written before the newest ${name}. To approve it, answer \`${line}\`.`);
  if (command.digest !== null && !offer.digest.startsWith(command.digest))
    return refuse(
      `The digest \`${command.digest}\` is not the newest ${name}'s. To approve that one, answer \`${line}\`.`,
    );
  if (command.digest === null && facts.offer !== "as_posted")
    return refuse(`${ALTERED[facts.offer](name)} If you want exactly that, name its digest: \`${line}\`.`);
  if (command.digest === null && !offer.shown)
    return refuse(
      name === "plan"
        ? `The whole diff did not fit into the plan, so please name its digest: \`${line}\`.`
        : `The intent did not fit into its comment, so please name its digest: \`${line}\`.`,
    );
  if (command.digest === null && facts.hasEarlierPlan && facts.saidAt - offer.at < SETTLE_MS)
    return refuse(
      `There is an earlier plan or intent, and the newest one was less than a minute old then. Please name its digest: \`${line}\`.`,
    );
  return null;
}

/** What stands in the log is approved, and nothing else; who says no digest has read the comment (FAULTS H03). */
const ALTERED: Readonly<Record<Exclude<OfferStanding, "as_posted">, (name: string) => string>> = {
  edited: (name) =>
    `The ${name} was edited after I posted it, so I do not know what you have read; I only approve what I have on record.`,
  restored: (name) =>
    `The ${name} was edited after I posted it, so I do not know what you had read. I have put it back; please read it again.`,
  deleted: (name) =>
    `The ${name} was deleted, so I do not know what you have read; I only approve what I have on record.`,
  unknown: (name) => `I could not look whether the ${name} still stands as I posted it.`,
};

function decideCancel({ run, pullRequest }: CommandFacts): Decision {
  switch (run.state) {
    case "approved":
    case "publishing":
      return refuse("It was approved first and is being published; close the pull request instead.");
    case "published":
      if (pullRequest !== null && run.outcome === "open") return { act: "close_pull_request" };
      return refuse(`There is nothing to cancel: ${howItEnded(run)}`);
    case "cancelled":
    case "expired":
    case "failed":
      return refuse(`There is nothing to cancel: ${howItEnded(run)}`);
    default:
      return { act: "cancel" };
  }
}

function decideRetry(facts: CommandFacts, budgetUsd: number | null): Decision {
  const { run, ceilingUsd } = facts;
  if (budgetUsd !== null && ceilingUsd !== null && budgetUsd > ceilingUsd)
    return refuse(`The operator allows at most $${ceilingUsd} a run (BUDGET_USD).`);
  switch (run.state) {
    case "queued":
    case "preparing":
    case "solving":
    case "verifying":
    case "rechecking":
      return refuse("A run is at work on this issue. Say `/cancel` first.");
    case "approved":
    case "publishing":
      return refuse("The approved plan is being published.");
    case "published":
      if (facts.pullRequest !== null)
        return refuse(
          "Say `/revise <text>` to have this pull request changed, or `/retry` on the issue for a new one.",
        );
      return { act: "new_run", trigger: "retry", instruction: "", budgetUsd };
    default:
      return { act: "new_run", trigger: "retry", instruction: "", budgetUsd };
  }
}

function decideRevision(facts: CommandFacts, text: string): Decision {
  if (text === "" && !facts.checksFailed) return refuse("Say what to do differently: `/revise <text>`.");
  switch (facts.run.state) {
    case "queued":
    case "preparing":
    case "solving":
      return { act: "instruct", text };
    case "verifying":
      return facts.isProposing ? { act: "wait" } : { act: "instruct", text };
    case "approved":
    case "rechecking":
    case "publishing":
      return refuse("The approved plan is being published.");
    case "published":
      if (facts.pullRequest !== null && facts.run.outcome !== "open")
        return refuse(
          `This pull request is ${facts.run.outcome}. Say \`/retry\` on the issue for a new one.`,
        );
      return { act: "new_run", trigger: "revise", instruction: text, budgetUsd: null };
    default:
      return { act: "new_run", trigger: "revise", instruction: text, budgetUsd: null };
  }
}

/** One sentence about a run that has ended, for answers. */
export function howItEnded(run: Run): string {
  switch (run.state) {
    case "published":
      return `the run ended with pull request #${run.pullRequest}.`;
    case "cancelled":
      return run.why === "command"
        ? `the run was cancelled by ${run.by}.`
        : `the run was cancelled (${run.why.replaceAll("_", " ")}).`;
    case "expired":
      return "the plan expired after 14 days without an answer.";
    case "failed":
      return `the run ended without a result (${run.code.replaceAll("_", " ")}).`;
    default:
      return "the run has not ended.";
  }
}
