/** The calls on issues, comments, reactions, labels and people of one repository. */

import { ok } from "#src/base/result.ts";
import { type CallContext, everyPage, isOurs, nothing, PAGE, pageOf } from "./calls.ts";
import type { GitHub, GitHubResult, IssueComment, OpenedIssue } from "./github.ts";
import { roleOf } from "./permissions.ts";

type IssueCalls = Pick<
  GitHub,
  | "issue"
  | "defaultBranch"
  | "createIssue"
  | "ownIssues"
  | "comments"
  | "createComment"
  | "editComment"
  | "isEdited"
  | "reactToIssue"
  | "reactToComment"
  | "permission"
  | "addLabels"
>;

export function issueCalls(context: CallContext): IssueCalls {
  const { octokit, repo, read, write } = context;
  return {
    issue: (number) =>
      read(
        (send) =>
          octokit.request("GET /repos/{owner}/{repo}/issues/{issue_number}", {
            ...repo,
            issue_number: number,
            ...send,
          }),
        toIssue,
      ),
    defaultBranch: () =>
      read(
        (send) => octokit.request("GET /repos/{owner}/{repo}", { ...repo, ...send }),
        (repository) => repository.default_branch,
      ),
    createIssue: (title, body) =>
      write(
        (send) => octokit.request("POST /repos/{owner}/{repo}/issues", { ...repo, title, body, ...send }),
        toOpened,
      ),
    ownIssues: async () => {
      const identity = await context.identity();
      if (!identity.ok) return identity;
      const { appId, botLogin } = identity.value;
      return read(
        (send) =>
          octokit.request("GET /repos/{owner}/{repo}/issues", {
            ...repo,
            creator: botLogin,
            state: "open",
            per_page: PAGE,
            ...send,
          }),
        (issues) => issues.filter((issue) => isOurs(issue, { appId, botLogin })).map(toOpened),
      );
    },
    comments: (issue) => allComments(context, issue),
    ...commentCalls(context),
    permission: async (login) => {
      const role = await read(
        (send) =>
          octokit.request("GET /repos/{owner}/{repo}/collaborators/{username}/permission", {
            ...repo,
            username: login,
            ...send,
          }),
        roleOf,
      );
      return !role.ok && role.error.status === 404 ? ok("none") : role;
    },
    addLabels: (issue, labels) =>
      write(
        (send) =>
          octokit.request("POST /repos/{owner}/{repo}/issues/{issue_number}/labels", {
            ...repo,
            issue_number: issue,
            labels: [...labels],
            ...send,
          }),
        nothing,
      ),
    ...reactionCalls(context),
  };
}

function commentCalls(context: CallContext): Pick<GitHub, "createComment" | "editComment" | "isEdited"> {
  const { octokit, repo, read, write } = context;
  return {
    createComment: async (issue, body) => {
      const created = await write(
        (send) =>
          octokit.request("POST /repos/{owner}/{repo}/issues/{issue_number}/comments", {
            ...repo,
            issue_number: issue,
            body,
            ...send,
          }),
        (comment) => toComment(comment),
      );
      // The answer to our own POST is ours whatever it says.
      return created.ok ? ok({ ...created.value, ours: true }) : created;
    },
    editComment: (commentId, body) =>
      write(
        (send) =>
          octokit.request("PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}", {
            ...repo,
            comment_id: commentId,
            body,
            ...send,
          }),
        ({ node_id: nodeId }) => ({ nodeId }),
      ),
    isEdited: (commentId) =>
      read(
        (send) =>
          octokit.request("GET /repos/{owner}/{repo}/issues/comments/{comment_id}", {
            ...repo,
            comment_id: commentId,
            ...send,
          }),
        ({ created_at: made, updated_at: edited }) => Date.parse(edited) > Date.parse(made),
      ),
  };
}

function reactionCalls(context: CallContext): Pick<GitHub, "reactToIssue" | "reactToComment"> {
  const { octokit, repo, write } = context;
  return {
    reactToIssue: (issue, reaction) =>
      write(
        (send) =>
          octokit.request("POST /repos/{owner}/{repo}/issues/{issue_number}/reactions", {
            ...repo,
            issue_number: issue,
            content: reaction,
            ...send,
          }),
        nothing,
      ),
    reactToComment: (commentId, reaction) =>
      write(
        (send) =>
          octokit.request("POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions", {
            ...repo,
            comment_id: commentId,
            content: reaction,
            ...send,
          }),
        nothing,
      ),
  };
}

async function allComments(context: CallContext, issue: number): GitHubResult<readonly IssueComment[]> {
  const identity = await context.identity();
  if (!identity.ok) return identity;
  return everyPage((page) =>
    context.read(
      (send) =>
        context.octokit.request("GET /repos/{owner}/{repo}/issues/{issue_number}/comments", {
          ...context.repo,
          issue_number: issue,
          per_page: PAGE,
          page,
          ...send,
        }),
      (comments, answer) =>
        pageOf(
          comments.map((comment) => toComment(comment, identity.value)),
          answer,
        ),
    ),
  );
}

interface CommentAnswer {
  /** The client's types allow a bigint; GitHub's ids are far below 2^53. */
  readonly id: number | bigint;
  readonly body?: string | null | undefined;
  readonly html_url: string;
  readonly user: { readonly login: string; readonly type: string } | null;
  readonly created_at: string;
  readonly performed_via_github_app?: { readonly id: number | bigint } | null | undefined;
}

function toComment(
  comment: CommentAnswer,
  app?: { readonly appId: number; readonly botLogin: string },
): IssueComment {
  return {
    id: Number(comment.id),
    body: comment.body ?? "",
    url: comment.html_url,
    login: comment.user?.login ?? "ghost",
    ours: app !== undefined && isOurs(comment, app),
    createdAt: Date.parse(comment.created_at),
  };
}

function toIssue(issue: {
  readonly state: string;
  readonly locked: boolean;
  readonly labels: readonly (string | { readonly name?: string })[];
  readonly title: string;
  readonly body?: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly user: { readonly login: string } | null;
}) {
  return {
    open: issue.state === "open",
    locked: issue.locked,
    labels: issue.labels.map((label) => (typeof label === "string" ? label : (label.name ?? ""))),
    title: issue.title,
    body: issue.body ?? "",
    createdAt: Date.parse(issue.created_at),
    updatedAt: Date.parse(issue.updated_at),
    author: issue.user?.login ?? "ghost",
  };
}

function toOpened(issue: {
  readonly number: number;
  readonly title: string;
  readonly html_url: string;
}): OpenedIssue {
  return { number: issue.number, title: issue.title, url: issue.html_url };
}
