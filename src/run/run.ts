/** A run's request, its states and the events of its log; `transition.ts` holds the one function between them. */

import type { StepRecord } from "#src/dag/dag.ts";
import type { PendingIntent } from "./intent.ts";
import type { Proposal } from "./proposal.ts";
import type { Verdict } from "./verdict.ts";

export interface RepositoryRef {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  readonly cloneUrl: string;
  readonly defaultBranch: string;
  readonly private: boolean;
}

/** The issue as it stood in the payload that started the run. */
export interface IssueSnapshot {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly author: string;
  /** When GitHub last changed the issue as of that payload, ms since the epoch; 0: unknown. */
  readonly updatedAt: number;
}

export interface RunRequest {
  readonly runId: string;
  readonly repository: RepositoryRef;
  readonly installationId: number;
  readonly issue: IssueSnapshot;
  /** Login of the person who labelled, or who said `/retry` or `/revise`. */
  readonly askedBy: string;
  /** What the person asked through; `local` is `agent-fix run`. */
  readonly trigger: "label" | "retry" | "revise" | "local";
  /** When the words were said that asked for it, by GitHub's clock, ms since the epoch; left out: a label's moment is the snapshot's, or it is not known. */
  readonly askedAt?: number;
  /** The run this one follows, with the instruction it was given. */
  readonly parent: {
    readonly runId: string;
    readonly instruction: string;
    /** What it goes on from: the patch that the other run kept, or its last checkpoint with the conversation; left out: the base alone. */
    readonly goesOn?: "patch" | "checkpoint";
  } | null;
  /** Money for the model in US dollars; null: the operator's default. */
  readonly budgetUsd: number | null;
  /** A revision of an open pull request of ours: it works on that branch's head, speaks on that pull request and is pushed to it. Left out: the run opens its own. */
  readonly pullRequest?: OpenPullRequest;
  /** What failed on the pull request when the revision was asked for: data for the agent. */
  readonly checks?: readonly FailedCheck[];
  /** The review that asked for the revision; its comments are answered once with what was done. */
  readonly review?: { readonly id: number; readonly comments: readonly number[] };
}

/** A check of the pull request that did not pass, with texts of strangers, bounded. */
export interface FailedCheck {
  readonly name: string;
  readonly conclusion: string;
  readonly summary: string;
  /** `path:line: message` */
  readonly annotations: readonly string[];
}

export interface OpenPullRequest {
  readonly number: number;
  /** Its head branch, which an earlier run made. */
  readonly branch: string;
}

/** Number of the issue or pull request on which a run speaks. */
export function placeOf(request: RunRequest): number {
  return request.pullRequest?.number ?? request.issue.number;
}

export const FAILURE_CODES = [
  "refuted",
  "no_changes",
  "cannot_set_up",
  "cannot_clone",
  "empty_repository",
  "bad_config",
  "budget",
  "model_failed",
  "no_progress",
  "permission",
  "sandbox_unavailable",
  "github_failed",
  "base_conflict",
  "worse_on_new_base",
  "protected_path",
  "already_claimed",
  "publish_refused",
  "internal",
] as const;

/** Why a run ended without a pull request: a closed list. */
export type FailureCode = (typeof FAILURE_CODES)[number];

/** A slash command as parsed by `gate/commands.ts`. */
export type Command =
  | { readonly verb: "approve"; readonly digest: string | null; readonly unverified: boolean }
  | { readonly verb: "revise"; readonly text: string }
  | { readonly verb: "retry"; readonly budgetUsd: number | null }
  | { readonly verb: "cancel" }
  | { readonly verb: "status" }
  | { readonly verb: "help" }
  /** A line that starts like a command and is none; `hint` says what would have been. */
  | { readonly verb: "unclear"; readonly hint: string };

export interface CommandFact {
  readonly command: Command;
  readonly by: string;
  readonly commentId: number;
  /** When it was said, by GitHub's clock, ms since the epoch; left out: not known. */
  readonly at?: number;
  /** Where the repository was then, and by which installation the app reaches it; left out: as the run knows it. */
  readonly from?: { readonly repository: RepositoryRef; readonly installationId: number };
  /** The issue as it stood in the command's payload: what `/retry` works from. Null: it was said on a pull request. */
  readonly issue: { readonly title: string; readonly body: string } | null;
  /** The pull request it was said on; left out: the issue. */
  readonly pullRequest?: number;
  /** It was no comment but a review that asks for changes; `commentId` is the review's id then. */
  readonly review?: true;
}

/** What a command is answered with: a reaction and, with a text, one comment. */
export interface CommandReply {
  readonly commentId: number;
  /** Null: what is answered cannot be reacted to. */
  readonly reaction: "+1" | "confused" | null;
  /** A sentence of the app; null: the reaction says enough. */
  readonly text: string | null;
  /** The pull request where the text belongs; left out: where the run speaks. */
  readonly on?: number;
}

/** What took the ground away from under a run: its issue, its repository or the app's access is gone or may not be written to. */
export const GROUND_LOSSES = [
  "issue_deleted",
  "issue_transferred",
  "app_uninstalled",
  "app_suspended",
  "repository_removed",
  "repository_archived",
  "repository_deleted",
  "repository_transferred",
] as const;

export type GroundLoss = (typeof GROUND_LOSSES)[number];

export type CancelReason =
  | GroundLoss
  | "command"
  | "unlabeled"
  | "issue_closed"
  | "pull_request_closed"
  | "superseded"
  | "shutdown_of_operator";

/** Work phases in order; each is a state of the run. */
export type WorkPhase = "preparing" | "solving" | "verifying";

/** How an effect on GitHub came out; kept under the id of its intent. */
export interface EffectResult {
  /** E.g. a comment id, a sha, a pull request number. */
  readonly id: string;
  readonly url: string | null;
}

export type RunEvent =
  | { readonly type: "requested"; readonly request: RunRequest }
  /** Facts from outside; they change no state by themselves, the lease holder decides. */
  | { readonly type: "command_received"; readonly fact: CommandFact }
  | { readonly type: "label_removed"; readonly by: string; readonly issueUpdatedAt: number }
  | { readonly type: "issue_closed"; readonly by: string }
  | { readonly type: "ground_lost"; readonly why: GroundLoss; readonly by: string }
  | { readonly type: "pull_request_closed"; readonly merged: boolean; readonly by: string }
  | { readonly type: "pull_request_reopened"; readonly by: string }
  /** A suite of checks ended on a commit that the run pushed; recorded, and nothing follows by itself. */
  | {
      readonly type: "checks_concluded";
      readonly headSha: string;
      /** Who runs the suite. */
      readonly name: string;
      /** GitHub's word, such as `success` or `failure`. */
      readonly conclusion: string;
    }
  /** The decision on the fact with that seq; a fact without one is still open. The reply is an intent: its effect is called `reply-<comment id>`. */
  | {
      readonly type: "fact_handled";
      readonly seq: number;
      readonly decision: string;
      readonly reply?: CommandReply;
      /** The instruction as the agent gets it, where it is more than the command's own text. */
      readonly text?: string;
    }
  /** Progress of the step graph. */
  | { readonly type: "step"; readonly record: StepRecord }
  /** Intent and result of one effect on GitHub, under one name per run (e.g. `status-comment`, `plan-comment-1`, `branch`, `pull-request`). */
  | { readonly type: "effect_intended"; readonly effect: string }
  | { readonly type: "effect_done"; readonly effect: string; readonly result: EffectResult }
  /** State changes. */
  | { readonly type: "phase_entered"; readonly phase: WorkPhase }
  /** An agent that has only read has said what it would do; nothing more is done before somebody approves it. */
  | ({ readonly type: "intended" } & PendingIntent)
  | {
      readonly type: "intent_approved";
      readonly by: string;
      readonly digest: string;
      readonly commentId: number;
    }
  | { readonly type: "sent_back"; readonly round: number; readonly feedback: string }
  | {
      readonly type: "proposed";
      readonly proposal: Proposal;
      readonly digest: string;
      readonly verdict: Verdict;
      readonly planCommentId: number;
      readonly planCommentAt: number;
      readonly diffShown: boolean;
    }
  | {
      readonly type: "approved";
      readonly by: string;
      readonly digest: string;
      readonly commentId: number;
      readonly unverified: boolean;
    }
  | { readonly type: "recheck_started"; readonly newBaseSha: string }
  | { readonly type: "publish_started" }
  | {
      readonly type: "published";
      readonly pullRequest: number;
      readonly url: string;
      readonly branch: string;
      readonly commitSha: string;
    }
  | { readonly type: "failed"; readonly code: FailureCode; readonly message: string }
  | {
      readonly type: "cancelled";
      readonly by: string;
      readonly why: CancelReason;
    }
  | { readonly type: "expired" }
  /** After the end: an outcome recorded, no state change. */
  | { readonly type: "outcome"; readonly outcome: "merged" | "closed" | "open" };

/** The plan that awaits approval. */
export interface PendingPlan {
  readonly proposal: Proposal;
  readonly digest: string;
  readonly verdict: Verdict;
  readonly planCommentId: number;
  /** When the plan comment was made, ms since the epoch. */
  readonly planCommentAt: number;
  /** True when the whole diff fitted into the comment. */
  readonly diffShown: boolean;
}

export interface Approval {
  readonly by: string;
  readonly digest: string;
  readonly commentId: number;
  readonly unverified: boolean;
}

export type Run =
  | { readonly state: "queued"; readonly request: RunRequest }
  | { readonly state: "preparing"; readonly request: RunRequest }
  | { readonly state: "awaiting_intent"; readonly request: RunRequest; readonly intent: PendingIntent }
  | { readonly state: "solving"; readonly request: RunRequest; readonly round: number }
  | { readonly state: "verifying"; readonly request: RunRequest; readonly round: number }
  | { readonly state: "awaiting_approval"; readonly request: RunRequest; readonly plan: PendingPlan }
  | {
      readonly state: "approved";
      readonly request: RunRequest;
      readonly plan: PendingPlan;
      readonly approval: Approval;
    }
  | {
      readonly state: "rechecking";
      readonly request: RunRequest;
      readonly plan: PendingPlan;
      readonly approval: Approval;
      readonly newBaseSha: string;
    }
  | {
      readonly state: "publishing";
      readonly request: RunRequest;
      readonly plan: PendingPlan;
      readonly approval: Approval;
    }
  | {
      readonly state: "published";
      readonly request: RunRequest;
      readonly pullRequest: number;
      readonly url: string;
      readonly branch: string;
      readonly commitSha: string;
      readonly outcome: "open" | "merged" | "closed";
    }
  | {
      readonly state: "cancelled";
      readonly request: RunRequest;
      readonly by: string;
      readonly why: CancelReason;
    }
  | { readonly state: "expired"; readonly request: RunRequest }
  | {
      readonly state: "failed";
      readonly request: RunRequest;
      readonly code: FailureCode;
      readonly message: string;
    };

export const ENDED_STATES = ["published", "cancelled", "expired", "failed"] as const;

export function isEnded(run: Run): boolean {
  return (ENDED_STATES as readonly string[]).includes(run.state);
}
