/** What people do to issues, comments and pull requests of the embedded GitHub, for demos and tests; each sends its webhook. */

import type { Actor, Hub } from "./hub.ts";
import {
  addComment,
  addLabel,
  deleteComment,
  deleteIssue,
  editComment,
  editIssue,
  openIssue,
  removeLabel,
  setIssueState,
  setLocked,
} from "./issue-actions.ts";
import { mergePull } from "./pull-actions.ts";
import { type ReviewContent, submitReview } from "./review-actions.ts";
import {
  addAccount,
  type Comment,
  findRepository,
  type Issue,
  type Pull,
  type Repository,
  type ReviewComment,
} from "./state.ts";

/** A comment as a person sees it. */
export interface CommentView {
  readonly id: number;
  readonly login: string;
  readonly body: string;
  /** Contents of the reactions, e.g. `eyes`. */
  readonly reactions: readonly string[];
  /** Folded away as outdated. */
  readonly minimized?: true;
}

/** An issue or pull request as a person sees it. */
export interface IssueView {
  readonly number: number;
  readonly title: string;
  readonly body: string | null;
  readonly login: string;
  readonly state: "open" | "closed";
  readonly locked: boolean;
  readonly labels: readonly string[];
  readonly reactions: readonly string[];
  readonly pull: {
    readonly head: string;
    readonly headSha: string;
    readonly base: string;
    /** The base branch's commit that the pull request was last compared with. */
    readonly baseSha: string;
    readonly draft: boolean;
    readonly merged: boolean;
  } | null;
}

/** `repo` is `owner/name`, `by` a login (made as a user when it is new). Unknown issues, comments and repositories throw. */
export interface IssueControls {
  /** Returns the number. */
  openIssue(
    repo: string,
    by: string,
    content: { readonly title: string; readonly body?: string | null },
  ): number;
  editIssue(
    repo: string,
    issue: number,
    by: string,
    change: { readonly title?: string; readonly body?: string | null },
  ): void;
  label(repo: string, issue: number, by: string, name: string): void;
  unlabel(repo: string, issue: number, by: string, name: string): void;
  /** Works on pull requests too. */
  closeIssue(repo: string, issue: number, by: string): void;
  reopenIssue(repo: string, issue: number, by: string): void;
  deleteIssue(repo: string, issue: number, by: string): void;
  lock(repo: string, issue: number, by: string): void;
  unlock(repo: string, issue: number, by: string): void;
  /** Returns the comment's id. */
  comment(repo: string, issue: number, by: string, body: string): number;
  editComment(repo: string, comment: number, by: string, body: string): void;
  deleteComment(repo: string, comment: number, by: string): void;
  /** Returns the merge commit; rejects when it conflicts or is not open. */
  mergePullRequest(repo: string, number: number, by: string): Promise<string>;
  /** Submits a review of a pull request; returns its id and those of its comments. */
  review(
    repo: string,
    number: number,
    by: string,
    content: ReviewContent,
  ): { readonly id: number; readonly comments: readonly number[] };
  /** Comments on lines, answers among them, oldest first. */
  reviewComments(repo: string, number: number): readonly ReviewComment[];
  issue(repo: string, number: number): IssueView;
  /** Oldest first. */
  comments(repo: string, issue: number): readonly CommentView[];
  /** Oldest first, closed ones included, without deleted ones and pull requests. */
  issues(repo: string): readonly IssueView[];
  /** Oldest first, closed ones included. */
  pullRequests(repo: string): readonly IssueView[];
}

export function repositoryNamed(hub: Hub, repo: string): Repository {
  const [owner = "", name = ""] = repo.split("/");
  const found = findRepository(hub.state, owner, name);
  if (found === null) throw new Error(`the embedded GitHub has no repository ${repo}`);
  return found;
}

export function person(hub: Hub, login: string): Actor {
  return { account: addAccount(hub.state, login, "User"), app: null };
}

export function createIssueControls(hub: Hub): IssueControls {
  const issueOf = (repo: string, number: number): Issue => {
    const issue = repositoryNamed(hub, repo).issues.get(number);
    if (issue === undefined) throw new Error(`${repo} has no issue #${number}`);
    return issue;
  };
  const commentOf = (repo: string, id: number): Comment => {
    for (const issue of repositoryNamed(hub, repo).issues.values()) {
      const comment = issue.comments.get(id);
      if (comment !== undefined) return comment;
    }
    throw new Error(`${repo} has no comment ${id}`);
  };
  return {
    openIssue: (repo, by, { title, body = null }) =>
      openIssue(hub, repositoryNamed(hub, repo), person(hub, by), { title, body }).number,
    editIssue: (repo, issue, by, change) => editIssue(hub, issueOf(repo, issue), person(hub, by), change),
    label: (repo, issue, by, name) => addLabel(hub, issueOf(repo, issue), person(hub, by), name),
    unlabel: (repo, issue, by, name) => {
      removeLabel(hub, issueOf(repo, issue), person(hub, by), name);
    },
    closeIssue: (repo, issue, by) => setIssueState(hub, issueOf(repo, issue), person(hub, by), "closed"),
    reopenIssue: (repo, issue, by) => setIssueState(hub, issueOf(repo, issue), person(hub, by), "open"),
    deleteIssue: (repo, issue, by) => deleteIssue(hub, issueOf(repo, issue), person(hub, by)),
    lock: (repo, issue, by) => setLocked(hub, issueOf(repo, issue), person(hub, by), true),
    unlock: (repo, issue, by) => setLocked(hub, issueOf(repo, issue), person(hub, by), false),
    comment: (repo, issue, by, body) => addComment(hub, issueOf(repo, issue), person(hub, by), body).id,
    editComment: (repo, comment, by, body) =>
      editComment(hub, commentOf(repo, comment), person(hub, by), body),
    deleteComment: (repo, comment, by) => deleteComment(hub, commentOf(repo, comment), person(hub, by)),
    mergePullRequest: (repo, number, by) => mergePull(hub, issueOf(repo, number), person(hub, by)),
    review: (repo, number, by, content) => {
      const of = pullOf(issueOf(repo, number));
      const { review, comments } = submitReview(hub, of, person(hub, by), content);
      return { id: review.id, comments: comments.map(({ id }) => id) };
    },
    reviewComments: (repo, number) => [...pullOf(issueOf(repo, number)).pull.reviewComments],
    issue: (repo, number) => issueView(issueOf(repo, number)),
    comments: (repo, issue) => [...issueOf(repo, issue).comments.values()].map(commentView),
    issues: (repo) =>
      [...repositoryNamed(hub, repo).issues.values()]
        .filter((issue) => issue.pull === null && !issue.deleted)
        .map(issueView),
    pullRequests: (repo) =>
      [...repositoryNamed(hub, repo).issues.values()].filter((issue) => issue.pull !== null).map(issueView),
  };
}

function pullOf(issue: Issue): { readonly issue: Issue; readonly pull: Pull } {
  if (issue.pull === null) throw new Error(`#${issue.number} is no pull request`);
  return { issue, pull: issue.pull };
}

function commentView(comment: Comment): CommentView {
  return {
    id: comment.id,
    login: comment.author.login,
    body: comment.body,
    reactions: comment.reactions.map((reaction) => reaction.content),
    ...(comment.minimized === null ? {} : { minimized: true }),
  };
}

function issueView(issue: Issue): IssueView {
  const { pull } = issue;
  return {
    number: issue.number,
    title: issue.title,
    body: issue.body,
    login: issue.author.login,
    state: issue.state,
    locked: issue.locked,
    labels: [...issue.labels.values()].map((label) => label.name),
    reactions: issue.reactions.map((reaction) => reaction.content),
    pull:
      pull === null
        ? null
        : {
            head: pull.headBranch,
            headSha: pull.headSha,
            base: pull.baseBranch,
            baseSha: pull.baseSha,
            draft: pull.draft,
            merged: pull.merge !== null,
          },
  };
}
