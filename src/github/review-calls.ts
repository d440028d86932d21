/** The calls on the comments that reviews put on lines of a pull request. */

import { type CallContext, everyPage, isOurs, nothing, PAGE, pageOf } from "./calls.ts";
import type { GitHub, GitHubResult, ReviewComment } from "./github.ts";

export function reviewCalls(context: CallContext): Pick<GitHub, "reviewComments" | "answerReviewComment"> {
  const { octokit, repo, write } = context;
  return {
    reviewComments: (pull) => allReviewComments(context, pull),
    answerReviewComment: (pull, commentId, body) =>
      write(
        (send) =>
          octokit.request("POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies", {
            ...repo,
            pull_number: pull,
            comment_id: commentId,
            body,
            ...send,
          }),
        nothing,
      ),
  };
}

async function allReviewComments(context: CallContext, pull: number): GitHubResult<readonly ReviewComment[]> {
  const identity = await context.identity();
  if (!identity.ok) return identity;
  return everyPage((page) =>
    context.read(
      (send) =>
        context.octokit.request("GET /repos/{owner}/{repo}/pulls/{pull_number}/comments", {
          ...context.repo,
          pull_number: pull,
          per_page: PAGE,
          page,
          ...send,
        }),
      (comments, answer) =>
        pageOf(
          comments.map((comment) => ({
            id: Number(comment.id),
            body: comment.body,
            login: comment.user?.login ?? "ghost",
            ours: isOurs(comment, identity.value),
            path: comment.path,
            line: comment.line ?? comment.original_line ?? null,
            review: comment.pull_request_review_id === null ? null : Number(comment.pull_request_review_id),
            replyTo: comment.in_reply_to_id === undefined ? null : Number(comment.in_reply_to_id),
          })),
          answer,
        ),
    ),
  );
}
