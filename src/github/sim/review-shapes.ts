/** Reviews of pull requests and their comments as GitHub's JSON: pure. */

import { type Urls, userShape } from "./account-shapes.ts";
import { associationOf } from "./issue-shapes.ts";
import { type JsonObject, nodeId, timeText } from "./json.ts";
import { repositoryApi, repositoryHtml } from "./repository-shapes.ts";
import type { Issue, Review, ReviewComment } from "./state.ts";

function placesOf(urls: Urls, issue: Issue): { readonly api: string; readonly html: string } {
  return {
    api: `${repositoryApi(urls, issue.repository)}/pulls`,
    html: `${repositoryHtml(urls, issue.repository)}/pull/${issue.number}`,
  };
}

/** As the webhook carries it. */
export function reviewShape(urls: Urls, issue: Issue, review: Review): JsonObject {
  const { api, html } = placesOf(urls, issue);
  const pull = `${api}/${issue.number}`;
  const own = `${html}#pullrequestreview-${review.id}`;
  return {
    id: review.id,
    node_id: nodeId("PullRequestReview", review.id),
    user: userShape(urls, review.author),
    body: review.body,
    commit_id: review.commitSha,
    submitted_at: timeText(review.createdAt),
    state: review.state,
    html_url: own,
    pull_request_url: pull,
    author_association: associationOf(issue.repository, review.author),
    _links: { html: { href: own }, pull_request: { href: pull } },
  };
}

export function reviewCommentShape(urls: Urls, issue: Issue, comment: ReviewComment): JsonObject {
  const { api, html } = placesOf(urls, issue);
  const own = `${api}/comments/${comment.id}`;
  const pull = `${api}/${issue.number}`;
  const page = `${html}#discussion_r${comment.id}`;
  return {
    url: own,
    id: comment.id,
    node_id: nodeId("PullRequestReviewComment", comment.id),
    pull_request_review_id: comment.reviewId,
    diff_hunk: `@@ -${comment.line},1 +${comment.line},1 @@`,
    path: comment.path,
    commit_id: comment.commitSha,
    original_commit_id: comment.commitSha,
    ...(comment.replyTo === null ? {} : { in_reply_to_id: comment.replyTo }),
    user: userShape(urls, comment.author),
    body: comment.body,
    created_at: timeText(comment.createdAt),
    updated_at: timeText(comment.createdAt),
    html_url: page,
    pull_request_url: pull,
    author_association: associationOf(issue.repository, comment.author),
    _links: { self: { href: own }, html: { href: page }, pull_request: { href: pull } },
    start_line: null,
    original_start_line: null,
    start_side: null,
    line: comment.line,
    original_line: comment.line,
    side: "RIGHT",
    subject_type: "line",
  };
}
