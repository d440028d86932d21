/** The GitHub port: only the calls the product makes, authenticated for one repository and one phase. */

import type { Result } from "#src/base/result.ts";
import type { Surroundings } from "./surroundings.ts";

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
export interface GitHub extends Surroundings {
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
  /** Whether a comment was edited since it was made, in whole seconds; `not_found` when it is gone. */
  isEdited(commentId: number): GitHubResult<boolean>;
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
  /** Folds a comment away as outdated. */
  minimize(nodeId: string): GitHubResult<null>;
}

export interface OpenedIssue {
  readonly number: number;
  readonly title: string;
  readonly url: string;
}
