/** What people and apps do to issues and comments: each changes the state and announces it, whoever asked. */

import { announceComment, announceIssue } from "./announcements.ts";
import type { Actor, Hub } from "./hub.ts";
import { labelShape } from "./issue-shapes.ts";
import {
  type Comment,
  type Issue,
  type IssueEvent,
  type Label,
  type Pull,
  type Reaction,
  type Repository,
  takeId,
} from "./state.ts";

/** Makes the record only; the caller announces what it is. */
export function newIssue(
  hub: Hub,
  repository: Repository,
  actor: Actor,
  content: { readonly title: string; readonly body: string | null; readonly pull: Pull | null },
): Issue {
  const now = hub.clock.now();
  const issue: Issue = {
    id: takeId(hub.state),
    number: repository.nextNumber++,
    repository,
    author: actor.account,
    viaApp: actor.app,
    title: content.title,
    body: content.body,
    state: "open",
    stateReason: null,
    locked: false,
    deleted: false,
    labels: new Map(),
    comments: new Map(),
    reactions: [],
    events: [],
    createdAt: now,
    updatedAt: now,
    closedAt: null,
    bodyEditedAt: null,
    pull: content.pull,
  };
  repository.issues.set(issue.number, issue);
  return issue;
}

export function openIssue(
  hub: Hub,
  repository: Repository,
  actor: Actor,
  content: { readonly title: string; readonly body: string | null },
): Issue {
  const issue = newIssue(hub, repository, actor, { ...content, pull: null });
  announceIssue(hub, issue, actor, { action: "opened" });
  return issue;
}

export function editIssue(
  hub: Hub,
  issue: Issue,
  actor: Actor,
  change: { readonly title?: string; readonly body?: string | null },
): void {
  const changes = {
    ...(change.title === undefined ? {} : { title: { from: issue.title } }),
    ...(change.body === undefined ? {} : { body: { from: issue.body ?? "" } }),
  };
  if (change.title !== undefined && change.title !== issue.title)
    addEvent(hub, issue, actor, { event: "renamed", rename: { from: issue.title, to: change.title } });
  issue.title = change.title ?? issue.title;
  if (change.body !== undefined) {
    issue.body = change.body;
    issue.bodyEditedAt = hub.clock.now();
  }
  issue.updatedAt = hub.clock.now();
  announceIssue(hub, issue, actor, { action: "edited", changes });
}

/** Makes the label in the repository when it is new there; does nothing when the issue has it. */
export function addLabel(hub: Hub, issue: Issue, actor: Actor, name: string): void {
  const key = name.toLowerCase();
  if (issue.labels.has(key)) return;
  const label = repositoryLabel(hub, issue.repository, name);
  issue.labels.set(key, label);
  addEvent(hub, issue, actor, { event: "labeled", label });
  announceIssue(hub, issue, actor, {
    action: "labeled",
    label: labelShape(hub.urls, issue.repository, label),
  });
}

/** False when the issue does not have the label. */
export function removeLabel(hub: Hub, issue: Issue, actor: Actor, name: string): boolean {
  const label = issue.labels.get(name.toLowerCase());
  if (label === undefined) return false;
  issue.labels.delete(name.toLowerCase());
  addEvent(hub, issue, actor, { event: "unlabeled", label });
  announceIssue(hub, issue, actor, {
    action: "unlabeled",
    label: labelShape(hub.urls, issue.repository, label),
  });
  return true;
}

export function repositoryLabel(hub: Hub, repository: Repository, name: string): Label {
  const known = repository.labels.get(name.toLowerCase());
  if (known !== undefined) return known;
  const label: Label = { id: takeId(hub.state), name, color: "ededed", description: null };
  repository.labels.set(name.toLowerCase(), label);
  return label;
}

/** Closing what is closed, or opening what is open, does nothing. */
export function setIssueState(hub: Hub, issue: Issue, actor: Actor, state: Issue["state"]): void {
  if (issue.state === state) return;
  issue.state = state;
  issue.closedAt = state === "closed" ? hub.clock.now() : null;
  issue.stateReason = state === "closed" ? "completed" : "reopened";
  addEvent(hub, issue, actor, { event: state === "closed" ? "closed" : "reopened" });
  announceIssue(hub, issue, actor, { action: state === "closed" ? "closed" : "reopened" });
}

export function setLocked(hub: Hub, issue: Issue, actor: Actor, locked: boolean): void {
  if (issue.locked === locked) return;
  issue.locked = locked;
  addEvent(hub, issue, actor, { event: locked ? "locked" : "unlocked" });
  announceIssue(hub, issue, actor, { action: locked ? "locked" : "unlocked" });
}

export function deleteIssue(hub: Hub, issue: Issue, actor: Actor): void {
  issue.deleted = true;
  announceIssue(hub, issue, actor, { action: "deleted" });
}

export function addComment(hub: Hub, issue: Issue, actor: Actor, body: string): Comment {
  const now = hub.clock.now();
  const comment: Comment = {
    id: takeId(hub.state),
    issue,
    author: actor.account,
    viaApp: actor.app,
    body,
    minimized: null,
    createdAt: now,
    updatedAt: now,
    reactions: [],
  };
  issue.comments.set(comment.id, comment);
  issue.updatedAt = now;
  announceComment(hub, comment, actor, { action: "created" });
  return comment;
}

export function editComment(hub: Hub, comment: Comment, actor: Actor, body: string): void {
  const from = comment.body;
  comment.body = body;
  comment.updatedAt = hub.clock.now();
  announceComment(hub, comment, actor, { action: "edited", changes: { body: { from } } });
}

export function deleteComment(hub: Hub, comment: Comment, actor: Actor): void {
  comment.issue.comments.delete(comment.id);
  announceComment(hub, comment, actor, { action: "deleted" });
}

/** The same reaction of the same account counts once, as on GitHub; `added` tells whether it is new. GitHub sends no event for it. */
export function react(
  hub: Hub,
  target: Issue | Comment,
  actor: Actor,
  content: string,
): { readonly reaction: Reaction; readonly added: boolean } {
  const known = target.reactions.find(
    (entry) => entry.content === content && entry.user.id === actor.account.id,
  );
  if (known !== undefined) return { reaction: known, added: false };
  const reaction: Reaction = {
    id: takeId(hub.state),
    content,
    user: actor.account,
    createdAt: hub.clock.now(),
  };
  target.reactions.push(reaction);
  return { reaction, added: true };
}

export function addEvent(
  hub: Hub,
  issue: Issue,
  actor: Actor,
  event: Pick<IssueEvent, "event"> & Partial<Pick<IssueEvent, "label" | "rename">>,
): void {
  issue.updatedAt = hub.clock.now();
  issue.events.push({
    id: takeId(hub.state),
    event: event.event,
    actor: actor.account,
    viaApp: actor.app,
    createdAt: hub.clock.now(),
    label: event.label ?? null,
    rename: event.rename ?? null,
  });
}
