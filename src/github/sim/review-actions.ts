/** Reviewing a pull request, and answering a comment of a review. */

import { type Actor, announce, type Hub } from "./hub.ts";
import { pullShape } from "./pull-shapes.ts";
import { reviewShape } from "./review-shapes.ts";
import { type Issue, type Pull, type Review, type ReviewComment, takeId } from "./state.ts";

export interface ReviewContent {
  readonly state: Review["state"];
  readonly body?: string | null;
  readonly comments?: readonly { readonly path: string; readonly line: number; readonly body: string }[];
}

/** Submits a review with its comments; sends the one webhook that apps hear of it by. */
export function submitReview(
  hub: Hub,
  { issue, pull }: { readonly issue: Issue; readonly pull: Pull },
  actor: Actor,
  content: ReviewContent,
): { readonly review: Review; readonly comments: readonly ReviewComment[] } {
  const at = { author: actor.account, commitSha: pull.headSha, createdAt: hub.clock.now() };
  const review: Review = { id: takeId(hub.state), state: content.state, body: content.body ?? null, ...at };
  const comments = (content.comments ?? []).map((comment) => ({
    ...{ id: takeId(hub.state), reviewId: review.id, replyTo: null },
    ...comment,
    ...at,
  }));
  pull.reviewComments.push(...comments);
  const payload = {
    review: reviewShape(hub.urls, issue, review),
    pull_request: pullShape(hub.urls, issue, pull),
  };
  announce(hub, issue.repository, actor, { name: "pull_request_review", action: "submitted", payload });
  return { review, comments };
}

export function answerReviewComment(
  hub: Hub,
  pull: Pull,
  actor: Actor,
  answer: { readonly to: ReviewComment; readonly body: string },
): ReviewComment {
  const { to, body } = answer;
  const comment: ReviewComment = {
    id: takeId(hub.state),
    reviewId: takeId(hub.state),
    replyTo: to.replyTo ?? to.id,
    author: actor.account,
    path: to.path,
    line: to.line,
    body,
    commitSha: pull.headSha,
    createdAt: hub.clock.now(),
  };
  pull.reviewComments.push(comment);
  return comment;
}
