/** The webhook events of issues, pull requests and comments, put together from their present state. */

import { type Actor, announce, type Hub } from "./hub.ts";
import { commentShape, issueShape } from "./issue-shapes.ts";
import type { JsonObject } from "./json.ts";
import { fullPullShape } from "./pull-shapes.ts";
import type { Comment, Issue } from "./state.ts";

/** The action and what it adds to the payload, such as `label` or `changes`. */
export type AnnouncedEvent = JsonObject & { readonly action: string };

/** An `issues` event, or its `pull_request` counterpart. */
export function announceIssue(hub: Hub, issue: Issue, actor: Actor, event: AnnouncedEvent): void {
  const { repository, pull } = issue;
  if (pull === null) {
    const payload = { issue: issueShape(hub.urls, issue), ...event };
    announce(hub, repository, actor, { name: "issues", action: event.action, payload });
    return;
  }
  const payload = {
    number: issue.number,
    pull_request: fullPullShape(hub.urls, issue, pull),
    ...event,
  };
  announce(hub, repository, actor, { name: "pull_request", action: event.action, payload });
}

export function announceComment(hub: Hub, comment: Comment, actor: Actor, event: AnnouncedEvent): void {
  const payload = {
    issue: issueShape(hub.urls, comment.issue),
    comment: commentShape(hub.urls, comment),
    ...event,
  };
  announce(hub, comment.issue.repository, actor, { name: "issue_comment", action: event.action, payload });
}
