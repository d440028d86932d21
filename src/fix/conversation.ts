/** The conversation of a run with people: who may start it, and the comments it writes. One writer: the run's lease holder. */

import type { Result } from "#src/base/result.ts";
import type { OfferStanding } from "#src/gate/decide.ts";
import type { RenderedIntent } from "#src/gate/intent-comment.ts";
import type { RenderedPlan } from "#src/gate/plan-comment.ts";
import type { KnownPermission } from "#src/gate/who.ts";
import type { GitHub, GitHubFailure, Reaction, ReviewComment } from "#src/github/github.ts";
import type { FailedCheckRun, FixClaim } from "#src/github/surroundings.ts";
import type { EffectJournal } from "#src/publish/publish.ts";
import type { FailureCode, GroundLoss } from "#src/run/run.ts";

/** The effect under which the plan comment is kept in a run's journal. */
export const PLAN_EFFECT = "plan-comment";

/** Whether a run may begin, asked right before it costs anything. */
export type StartCheck =
  /** `createdAt`: when the issue was opened, ms since the epoch; left out: it was not looked at. */
  | { readonly go: true; readonly createdAt?: number }
  | {
      readonly go: false;
      readonly end: "cancelled";
      readonly by: string;
      readonly why: "unlabeled" | "issue_closed" | "pull_request_closed";
    }
  | { readonly go: false; readonly end: "failed"; readonly code: FailureCode; readonly message: string }
  /** A rate limit kept the question from being asked: nothing is wrong with the run. */
  | { readonly go: false; readonly end: "held_back"; readonly failure: GitHubFailure };

/** The effect under which the intent comment is kept. */
export const INTENT_EFFECT = "intent-comment";

export interface PlanPlace {
  readonly commentId: number;
  /** When it was made, ms since the epoch. */
  readonly at: number;
  readonly diffShown: boolean;
}

export interface IntentPlace {
  readonly commentId: number;
  /** When it was made, ms since the epoch. */
  readonly at: number;
  readonly shown: boolean;
}

export interface Answer {
  readonly commentId: number;
  /** Null: none. */
  readonly reaction: Reaction | null;
  readonly body: string | null;
  /** Issue or pull request where the body belongs. */
  readonly on: number;
}

const PASSING: readonly GitHubFailure["code"][] = [
  "server_error",
  "unreachable",
  "rate_limited",
  "cancelled",
  "suspended",
];

/** True for a failure that may be gone later; any other answer of GitHub's is its last word. */
export function isPassing({ code }: GitHubFailure): boolean {
  return PASSING.includes(code);
}

export interface Conversation {
  /** Reacts to the label, so that whoever set it sees that it was noticed; harmless when repeated. */
  welcome(): Promise<Result<null, GitHubFailure>>;
  mayStart(): Promise<StartCheck>;
  /** The permission of a person at this moment. */
  permission(login: string): Promise<KnownPermission>;
  /** Whether GitHub says that the person is an active member of `org/team` at this moment; without an answer: no. */
  isMember(team: string, login: string): Promise<boolean>;
  /** True when GitHub says now that the ground which an event told to be lost is there: events come in any order. Without an answer the event is believed. */
  groundStands(why: GroundLoss): Promise<boolean>;
  /** True when the issue carries the label and was last changed at that instant (ms since the epoch) or later: a removal of then is out of date. */
  labelledAfter(instant: number): Promise<boolean>;
  /** Creates or edits the one status comment. A failure is returned for the trace; it never stops a run. */
  status(journal: EffectJournal, body: string): Promise<Result<null, GitHubFailure>>;
  /** Posts the plan once; a repeated call finds what stands. */
  plan(
    journal: EffectJournal,
    render: (size: "full" | "short") => RenderedPlan,
  ): Promise<Result<PlanPlace, GitHubFailure>>;
  /** Posts the intent once; `shown` says whether all of it stands in the comment. */
  intent(
    journal: EffectJournal,
    render: (size: "full" | "short") => RenderedIntent,
  ): Promise<Result<IntentPlace, GitHubFailure>>;
  /** Posts the comment of a run that ends without a pull request. */
  result(
    journal: EffectJournal,
    render: (size: "full" | "short") => string,
  ): Promise<Result<null, GitHubFailure>>;
  /** Puts what became of the plan or the intent into its comment; a null id: the comment is looked for by the body's marker, and may not exist. Answers with the comment's id in GraphQL. */
  concludePlan(commentId: number | null, body: string): Promise<Result<string | null, GitHubFailure>>;
  /** How our comment stands: whoever approves without a digest approves what they read there. */
  standing(commentId: number): Promise<OfferStanding>;
  /** Folds a comment away as outdated; harmless when repeated. */
  fold(nodeId: string): Promise<Result<null, GitHubFailure>>;
  /** What others have done that says it closes the issue; `createdAt` as `mayStart` gave it. */
  fixClaims(createdAt: number): Promise<Result<readonly FixClaim[], GitHubFailure>>;
  /** Check runs and commit statuses of a commit that did not pass; what the installation does not grant counts as none. */
  failedChecks(sha: string): Promise<Result<readonly FailedCheckRun[], GitHubFailure>>;
  /** Acknowledges a command by a reaction and, when a body is given, one answer under that comment's marker. */
  answer(journal: EffectJournal, answer: Answer): Promise<Result<null, GitHubFailure>>;
  /** Comments on lines that belong to a review of the pull request. */
  reviewComments(
    pullRequest: number,
    review: number,
  ): Promise<Result<readonly ReviewComment[], GitHubFailure>>;
  /** Answers a comment on a line once; a repeated call finds what stands. */
  answerReviewComment(
    journal: EffectJournal,
    answer: { readonly pullRequest: number; readonly commentId: number; readonly body: string },
  ): Promise<Result<null, GitHubFailure>>;
  /** Closes our pull request, and deletes its branch if the head is still our commit (FAULTS E07): `kept` when it is not. Repeating it is harmless. */
  closePullRequest(pull: {
    readonly number: number;
    readonly branch: string;
    readonly commitSha: string;
  }): Promise<Result<{ readonly branch: "deleted" | "kept" }, GitHubFailure>>;
  /** The head of a branch now; null when it is gone. */
  branchHead(branch: string): Promise<Result<string | null, GitHubFailure>>;
  /** Calls with the rights to publish; only asked for after an approval. */
  publisher(): GitHub;
}
