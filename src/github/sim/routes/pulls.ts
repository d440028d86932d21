/** Routes of pull requests: list, read, open, change. */

import {
  type Answer,
  created,
  invalid,
  invalidField,
  notFound,
  ok,
  paged,
  unprocessable,
} from "../answers.ts";
import { gitOf } from "../hub.ts";
import { editIssue, setIssueState } from "../issue-actions.ts";
import { textOf } from "../json.ts";
import { openPull } from "../pull-actions.ts";
import { fullPullShape, pullShape } from "../pull-shapes.ts";
import { answerReviewComment } from "../review-actions.ts";
import { reviewCommentShape } from "../review-shapes.ts";
import { param, type RepositoryCall, type Route, repositoryRoute } from "../router.ts";
import type { Issue, Pull } from "../state.ts";
import { bodyText, refuseLong } from "./issue-access.ts";

const READ = [["pull_requests", "read"]] as const;
const WRITE = [["pull_requests", "write"]] as const;
const PULLS = "/repos/{owner}/{repo}/pulls";

export const pullRoutes: readonly Route[] = [
  repositoryRoute("GET", PULLS, READ, (call) =>
    paged(
      call.query,
      call.url,
      listed(call).map(({ issue, pull }) => pullShape(call.hub.urls, issue, pull)),
    ),
  ),
  repositoryRoute("POST", PULLS, WRITE, createPull),
  repositoryRoute("GET", `${PULLS}/{pull_number}`, READ, (call) => {
    const { issue, pull } = pullOf(call);
    return ok(fullPullShape(call.hub.urls, issue, pull));
  }),
  repositoryRoute("PATCH", `${PULLS}/{pull_number}`, WRITE, (call) => {
    const { issue, pull } = pullOf(call);
    const [title, body, state] = ["title", "body", "state"].map((key) => textOf(call.body, key));
    if (body) refuseLong(body, "PullRequest");
    if (title || typeof body === "string")
      editIssue(call.hub, issue, call.actor, {
        ...(title ? { title } : {}),
        ...(typeof body === "string" ? { body } : {}),
      });
    if (state === "open" || state === "closed") setIssueState(call.hub, issue, call.actor, state);
    return ok(fullPullShape(call.hub.urls, issue, pull));
  }),
  repositoryRoute("GET", `${PULLS}/{pull_number}/comments`, READ, (call) => {
    const { issue, pull } = pullOf(call);
    return paged(
      call.query,
      call.url,
      pull.reviewComments.map((comment) => reviewCommentShape(call.hub.urls, issue, comment)),
    );
  }),
  repositoryRoute("POST", `${PULLS}/{pull_number}/comments/{comment_id}/replies`, WRITE, (call) => {
    const { issue, pull } = pullOf(call);
    const to = pull.reviewComments.find(({ id }) => id === Number(param(call, "comment_id")));
    if (to === undefined) throw notFound();
    if (to.replyTo !== null) throw unprocessable("Replies to replies are not supported");
    const answer = { to, body: bodyText(call, "PullRequestReviewComment") };
    const made = answerReviewComment(call.hub, pull, call.actor, answer);
    return created(reviewCommentShape(call.hub.urls, issue, made));
  }),
];

interface Found {
  readonly issue: Issue;
  readonly pull: Pull;
}

function all(call: RepositoryCall): readonly Found[] {
  return [...call.repository.issues.values()].flatMap((issue) =>
    issue.pull === null || issue.deleted ? [] : [{ issue, pull: issue.pull }],
  );
}

function pullOf(call: RepositoryCall): Found {
  const found = all(call).find(({ issue }) => issue.number === Number(param(call, "pull_number")));
  if (found === undefined) throw notFound();
  return found;
}

/** Newest first. A `head` that is not `owner:branch` is ignored, as GitHub does. */
function listed(call: RepositoryCall): readonly Found[] {
  const state = call.query.get("state") ?? "open";
  const base = call.query.get("base");
  const head = /^([^:]+):(.+)$/.exec(call.query.get("head") ?? "");
  return all(call)
    .filter(({ issue }) => state === "all" || issue.state === state)
    .filter(({ pull }) => base === null || pull.baseBranch === base)
    .filter(({ pull }) => head === null || headIs(call, pull, head[1] ?? "", head[2] ?? ""))
    .reverse();
}

function headIs(call: RepositoryCall, pull: Pull, owner: string, branch: string): boolean {
  return pull.headBranch === branch && call.repository.owner.login.toLowerCase() === owner.toLowerCase();
}

async function createPull(call: RepositoryCall): Promise<Answer> {
  const git = gitOf(call.hub, call.repository);
  const title = textOf(call.body, "title");
  const body = textOf(call.body, "body");
  const headBranch = (textOf(call.body, "head") ?? "").replace(/^[^:]+:/, "");
  const baseBranch = textOf(call.body, "base") ?? "";
  if (title === null || title.trim() === "") throw invalidField("PullRequest", "title");
  if (body !== null) refuseLong(body, "PullRequest");
  const refs = await git.refs();
  const headSha = refs.get(`refs/heads/${headBranch}`);
  const baseSha = refs.get(`refs/heads/${baseBranch}`);
  if (headSha === undefined) throw invalidField("PullRequest", "head", "invalid");
  if (baseSha === undefined) throw invalidField("PullRequest", "base", "invalid");
  const owner = call.repository.owner.login;
  if ((await git.countCommits(baseSha, headSha)) === 0)
    throw custom(`No commits between ${owner}:${baseBranch} and ${owner}:${headBranch}`);
  const open = all(call).find(
    ({ issue, pull }) =>
      issue.state === "open" && pull.headBranch === headBranch && pull.baseBranch === baseBranch,
  );
  if (open !== undefined) throw custom(`A pull request already exists for ${owner}:${headBranch}.`);
  const draft = call.body.draft === true;
  const content = { title, body, headBranch, headSha, baseBranch, baseSha, draft };
  const issue = await openPull(call.hub, call.repository, call.actor, content);
  if (issue.pull === null) throw new Error("an opened pull request has no branches");
  return created(fullPullShape(call.hub.urls, issue, issue.pull));
}

function custom(message: string) {
  return invalid([{ resource: "PullRequest", code: "custom", message }]);
}
