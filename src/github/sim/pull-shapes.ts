/** Pull requests as GitHub's JSON: pure. */

import { type Urls, userShape } from "./account-shapes.ts";
import { associationOf, labelShape } from "./issue-shapes.ts";
import { type JsonObject, nodeId, timeText } from "./json.ts";
import { repositoryApi, repositoryHtml, repositoryShape } from "./repository-shapes.ts";
import type { Issue, Pull } from "./state.ts";

/** The form of lists. */
export function pullShape(urls: Urls, issue: Issue, pull: Pull): JsonObject {
  const { repository } = issue;
  const api = `${repositoryApi(urls, repository)}/pulls/${issue.number}`;
  const issueApi = `${repositoryApi(urls, repository)}/issues/${issue.number}`;
  const html = `${repositoryHtml(urls, repository)}/pull/${issue.number}`;
  const statuses = `${repositoryApi(urls, repository)}/statuses/${pull.headSha}`;
  const reviewComment = `${repositoryApi(urls, repository)}/pulls/comments{/number}`;
  const links = {
    self: api,
    html,
    issue: issueApi,
    comments: `${issueApi}/comments`,
    review_comments: `${api}/comments`,
    review_comment: reviewComment,
    commits: `${api}/commits`,
    statuses,
  };
  return {
    url: api,
    id: pull.id,
    node_id: nodeId("PullRequest", pull.id),
    html_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    issue_url: issueApi,
    number: issue.number,
    state: issue.state,
    locked: issue.locked,
    title: issue.title,
    user: userShape(urls, issue.author),
    body: issue.body,
    created_at: timeText(issue.createdAt),
    updated_at: timeText(issue.updatedAt),
    closed_at: issue.closedAt === null ? null : timeText(issue.closedAt),
    merged_at: pull.merge === null ? null : timeText(pull.merge.at),
    merge_commit_sha: pull.merge?.sha ?? null,
    assignee: null,
    assignees: [],
    requested_reviewers: [],
    requested_teams: [],
    labels: [...issue.labels.values()].map((label) => labelShape(urls, repository, label)),
    milestone: null,
    draft: pull.draft,
    commits_url: links.commits,
    review_comments_url: links.review_comments,
    review_comment_url: reviewComment,
    comments_url: links.comments,
    statuses_url: statuses,
    head: endShape(urls, issue, pull.headBranch, pull.headSha),
    base: endShape(urls, issue, pull.baseBranch, pull.baseSha),
    _links: Object.fromEntries(Object.entries(links).map(([name, href]) => [name, { href }])),
    author_association: associationOf(repository, issue.author),
    auto_merge: null,
    active_lock_reason: null,
  };
}

function endShape(urls: Urls, issue: Issue, ref: string, sha: string): JsonObject {
  const { repository } = issue;
  return {
    label: `${repository.owner.login}:${ref}`,
    ref,
    sha,
    user: userShape(urls, repository.owner),
    // Whole in REST answers; webhook payloads allow the merge settings here too.
    repo: { ...repositoryShape(urls, repository), ...mergeSettings() },
  };
}

function mergeSettings(): JsonObject {
  return {
    allow_squash_merge: true,
    allow_merge_commit: true,
    allow_rebase_merge: true,
    allow_auto_merge: false,
    delete_branch_on_merge: false,
  };
}

/** The form of a single pull request and of webhook payloads. */
export function fullPullShape(urls: Urls, issue: Issue, pull: Pull): JsonObject {
  const { facts } = pull;
  return {
    ...pullShape(urls, issue, pull),
    merged: pull.merge !== null,
    mergeable: facts.mergeable,
    rebaseable: facts.mergeable,
    mergeable_state: facts.mergeable === null ? "unknown" : facts.mergeable ? "clean" : "dirty",
    merged_by: pull.merge === null ? null : userShape(urls, pull.merge.by),
    comments: issue.comments.size,
    review_comments: 0,
    maintainer_can_modify: false,
    commits: facts.commits,
    additions: facts.additions,
    deletions: facts.deletions,
    changed_files: facts.files,
  };
}
