/** Routes of the comments of issues and pull requests. */

import { created, NO_CONTENT, ok, paged, refuse } from "../answers.ts";
import { addComment, deleteComment, editComment } from "../issue-actions.ts";
import { commentShape } from "../issue-shapes.ts";
import { type Route, repositoryRoute } from "../router.ts";
import { bodyText, commentOf, ISSUE_READ, ISSUE_WRITE, issueOf } from "./issue-access.ts";
import { addReaction } from "./issues.ts";

const OF_ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}/comments";
const ONE = "/repos/{owner}/{repo}/issues/comments/{comment_id}";

export const commentRoutes: readonly Route[] = [
  repositoryRoute("GET", OF_ISSUE, ISSUE_READ, (call) => {
    const comments = [...issueOf(call, "read").comments.values()];
    return paged(
      call.query,
      call.url,
      comments.map((comment) => commentShape(call.hub.urls, comment)),
    );
  }),
  repositoryRoute("POST", OF_ISSUE, ISSUE_WRITE, (call) => {
    const issue = issueOf(call, "write");
    if (issue.locked) throw refuse(403, "Unable to create comment because issue is locked.");
    const body = bodyText(call, "IssueComment");
    return created(commentShape(call.hub.urls, addComment(call.hub, issue, call.actor, body)));
  }),
  repositoryRoute("GET", ONE, ISSUE_READ, (call) => ok(commentShape(call.hub.urls, commentOf(call, "read")))),
  repositoryRoute("PATCH", ONE, ISSUE_WRITE, (call) => {
    const comment = commentOf(call, "write");
    editComment(call.hub, comment, call.actor, bodyText(call, "IssueComment"));
    return ok(commentShape(call.hub.urls, comment));
  }),
  repositoryRoute("DELETE", ONE, ISSUE_WRITE, (call) => {
    deleteComment(call.hub, commentOf(call, "write"), call.actor);
    return NO_CONTENT;
  }),
  repositoryRoute("POST", `${ONE}/reactions`, ISSUE_WRITE, (call) =>
    addReaction(call, commentOf(call, "write")),
  ),
];
