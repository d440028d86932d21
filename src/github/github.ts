/** The GitHub port: only the calls the product makes, authenticated for one repository and one phase. */

import type { Result } from "#src/base/result.ts";

export interface RepoName {
  readonly owner: string;
  readonly name: string;
  /** Numeric id, which tokens are narrowed to. */
  readonly id: number;
}

export interface GitHubFailure {
  readonly code:
    | "not_found"
    | "forbidden"
    /** The installation lacks a permission; `message` names it. */
    | "permission_missing"
    | "unauthorized"
    | "rate_limited"
    | "invalid"
    | "conflict"
    | "too_long"
    | "locked"
    /** The installation is suspended or the repository archived: nothing can be done until a person undoes that. */
    | "suspended"
    | "server_error"
    | "unreachable"
    | "cancelled";
  readonly status: number | null;
  /** A redacted sentence with GitHub's own words. */
  readonly message: string;
  /** How long GitHub asked to wait, when it did. */
  readonly retryAfterMs: number | null;
}

export type GitHubResult<T> = Promise<Result<T, GitHubFailure>>;

export interface IssueComment {
  readonly id: number;
  readonly body: string;
  readonly url: string;
  readonly login: string;
  /** True when our own app wrote it; only then its marker is believed. */
  readonly ours: boolean;
  /** ms since the epoch. */
  readonly createdAt: number;
}

/** A comment on a line of a pull request. */
export interface ReviewComment {
  readonly id: number;
  readonly body: string;
  readonly login: string;
  readonly ours: boolean;
  readonly path: string;
  /** Null when the line is no longer part of the diff. */
  readonly line: number | null;
  /** The review it belongs to. */
  readonly review: number | null;
  /** The comment that it answers. */
  readonly replyTo: number | null;
}

export type Permission = "admin" | "maintain" | "write" | "triage" | "read" | "none";

export type Reaction = "eyes" | "+1" | "-1" | "rocket" | "confused";

export interface TreeEntry {
  readonly path: string;
  readonly mode: "100644" | "100755" | "120000";
  /** Blob sha; null deletes the path. */
  readonly sha: string | null;
}

export interface PullRequest {
  readonly number: number;
  readonly url: string;
  readonly state: "open" | "closed";
  readonly headSha: string;
}

/** Calls on one repository. Reads are retried; writes are sent once and never retried blindly: the caller looks for its marker first. None rejects. */
export interface GitHub {
  issue(number: number): GitHubResult<{
    readonly open: boolean;
    readonly locked: boolean;
    readonly labels: readonly string[];
    readonly title: string;
    readonly body: string;
    readonly createdAt: number;
    readonly updatedAt: number;
    readonly author: string;
  }>;
  defaultBranch(): GitHubResult<string>;
  createIssue(title: string, body: string): GitHubResult<OpenedIssue>;
  /** Open issues that our app opened, at most a hundred, newest first. */
  ownIssues(): GitHubResult<readonly OpenedIssue[]>;
  /** All comments, oldest first. */
  comments(issue: number): GitHubResult<readonly IssueComment[]>;
  createComment(issue: number, body: string): GitHubResult<IssueComment>;
  /** Answers with the comment's id in GraphQL. */
  editComment(commentId: number, body: string): GitHubResult<{ readonly nodeId: string }>;
  reactToIssue(issue: number, reaction: Reaction): GitHubResult<null>;
  reactToComment(commentId: number, reaction: Reaction): GitHubResult<null>;
  /** The person's permission by the collaborator-permission endpoint, custom roles resolved to their base. */
  permission(login: string): GitHubResult<Permission>;
  branchSha(branch: string): GitHubResult<string | null>;
  createBlob(content: Uint8Array): GitHubResult<string>;
  createTree(baseTree: string, entries: readonly TreeEntry[]): GitHubResult<string>;
  commitTree(sha: string): GitHubResult<{ readonly treeSha: string; readonly parents: readonly string[] }>;
  createCommit(message: string, tree: string, parent: string): GitHubResult<string>;
  createBranch(branch: string, sha: string): GitHubResult<null>;
  /** Moves a branch forward, never back or aside: GitHub refuses (`invalid`) when the commit does not follow the head. */
  forwardBranch(branch: string, sha: string): GitHubResult<null>;
  deleteBranch(branch: string): GitHubResult<null>;
  pullRequestOf(branch: string): GitHubResult<PullRequest | null>;
  createPullRequest(request: {
    readonly title: string;
    readonly body: string;
    readonly head: string;
    readonly base: string;
    readonly draft: boolean;
  }): GitHubResult<PullRequest>;
  /** Closing one that is closed changes nothing. */
  closePullRequest(number: number): GitHubResult<null>;
  /** Comments on lines of a pull request, oldest first. */
  reviewComments(pull: number): GitHubResult<readonly ReviewComment[]>;
  answerReviewComment(pull: number, commentId: number, body: string): GitHubResult<null>;
  addLabels(issue: number, labels: readonly string[]): GitHubResult<null>;
  /** Whether the person is an active member of a team of the repository's owner; needs the phase `team`. */
  isTeamMember(team: string, login: string): GitHubResult<boolean>;
  /** What others have done that says it closes the issue, since it was opened or last opened again: open or merged pull requests, commits of the branch. Our own are left out. */
  fixClaims(
    issue: { readonly number: number; readonly createdAt: number },
    branch: string,
  ): GitHubResult<readonly FixClaim[]>;
  /** The check runs of a commit that did not pass, with the first of their annotations; needs the phase `checks`. */
  failedChecks(sha: string): GitHubResult<readonly FailedCheckRun[]>;
  /** Folds a comment away as outdated. */
  minimize(nodeId: string): GitHubResult<null>;
  /** Open issues that carry the label, pull requests left out, lowest number first. */
  labelledIssues(label: string): GitHubResult<readonly LabelledIssue[]>;
  /** What happened to an issue, oldest first; only the kinds that `TimelineEvent` names. */
  timeline(issue: number): GitHubResult<readonly TimelineEvent[]>;
  /** When the body was last edited, ms since the epoch; null when it never was. */
  bodyEditedAt(issue: number): GitHubResult<number | null>;
}

export interface OpenedIssue {
  readonly number: number;
  readonly title: string;
  readonly url: string;
}

export type FixClaim =
  | {
      readonly kind: "pull_request";
      readonly number: number;
      readonly state: "open" | "merged";
      readonly url: string;
    }
  | { readonly kind: "commit"; readonly sha: string; readonly url: string };

/** A check run that did not pass; all its texts are a stranger's. */
export interface FailedCheckRun {
  readonly name: string;
  /** GitHub's word, such as `failure` or `timed_out`. */
  readonly conclusion: string;
  readonly title: string;
  readonly summary: string;
  readonly annotations: readonly CheckAnnotation[];
}

export interface CheckAnnotation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export interface LabelledIssue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly author: string;
  /** ms since the epoch. */
  readonly updatedAt: number;
}

export interface TimelineEvent {
  /** An event's or a comment's id. */
  readonly id: number;
  readonly kind: "labeled" | "renamed" | "commented";
  readonly login: string;
  /** A bot or an app did it. */
  readonly bot: boolean;
  /** Our own app did it. */
  readonly ours: boolean;
  /** ms since the epoch, in whole seconds. */
  readonly at: number;
  /** Of `labeled`. */
  readonly label: string | null;
}

/** One attempt of GitHub's at delivering a webhook; attempts at the same delivery share a guid. */
export interface HookAttempt {
  readonly id: number;
  readonly guid: string;
  readonly event: string;
  /** ms since the epoch. */
  readonly at: number;
  /** It was answered with a status of 200 to 299. */
  readonly arrived: boolean;
}

export interface Installation {
  readonly id: number;
  /** Login of the account it is on. */
  readonly account: string;
  readonly suspended: boolean;
  /** ms since the epoch. */
  readonly createdAt: number;
}

/** Where a repository is now. */
export interface RepositoryPlace extends RepoName {
  readonly cloneUrl: string;
}

export interface InstalledRepository extends RepositoryPlace {
  readonly defaultBranch: string;
  readonly private: boolean;
  readonly archived: boolean;
}

/** An installation, or one repository of it. */
export interface Reach {
  readonly installationId: number;
  /** Null: all of its repositories. */
  readonly repositoryId: number | null;
}

/** `read`: metadata, contents and issues read + issues write for comments. `discuss`: pull requests write too, which comments on them need. `write`: contents write too. `look`: reading issues and pull requests. `team` and `checks`: reading those alone, which an installation may not grant. */
export type TokenPhase = "read" | "look" | "discuss" | "write" | "team" | "checks";

/** The app itself: identities, tokens, and what it may do. */
export interface GitHubApp {
  repository(installationId: number, repo: RepoName, phase: TokenPhase, signal?: AbortSignal): GitHub;
  /** A token for git over https, for that one repository with contents:read; `renew` after a 401. */
  gitToken(installationId: number, repo: RepoName, renew: boolean): GitHubResult<string>;
  /** The app's bot login (`slug[bot]`), its id and the account that owns it. Cached. */
  identity(): GitHubResult<{
    readonly appId: number;
    readonly slug: string;
    readonly botLogin: string;
    readonly owner: string | null;
  }>;
  /** What an installation grants, such as `contents: write`. Asked as the app itself, so that looking makes no token that could write. */
  permissions(installationId: number): GitHubResult<Readonly<Record<string, string>>>;
  /** Attempts at delivering the app's webhooks since that instant (ms since the epoch), newest first; at most 2,000. */
  hookAttempts(since: number): GitHubResult<readonly HookAttempt[]>;
  /** Asks GitHub to deliver once more what that attempt carried. */
  redeliver(attemptId: number): GitHubResult<null>;
  installations(): GitHubResult<readonly Installation[]>;
  repositories(installationId: number): GitHubResult<readonly InstalledRepository[]>;
  /** GitHub said that the app may not act there any more: kept tokens are forgotten, and for ten minutes every call is refused without being sent. */
  lost(reach: Reach, why: Extract<GitHubFailure["code"], "not_found" | "suspended">): void;
  /** GitHub said that the app may act there again. */
  regained(reach: Reach): void;
  /** GitHub said where a repository is; later calls go there, whatever name they are made by. */
  located(place: RepositoryPlace): void;
  /** Where GitHub last said a repository is; null when it said nothing since the start. */
  placeOf(repositoryId: number): RepositoryPlace | null;
}
