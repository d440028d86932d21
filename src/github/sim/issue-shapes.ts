/** Issues, comments, labels, reactions and their time line as GitHub's JSON: pure. */

import { appShape, type Urls, userShape } from "./account-shapes.ts";
import { type JsonObject, nodeId, timeText } from "./json.ts";
import { repositoryApi, repositoryHtml } from "./repository-shapes.ts";
import {
  type Account,
  type Comment,
  type Issue,
  type IssueEvent,
  type Label,
  type Reaction,
  type Repository,
  roleIn,
} from "./state.ts";

export function labelShape(urls: Urls, repository: Repository, label: Label): JsonObject {
  return {
    id: label.id,
    node_id: nodeId("Label", label.id),
    url: `${repositoryApi(urls, repository)}/labels/${encodeURIComponent(label.name)}`,
    name: label.name,
    color: label.color,
    default: false,
    description: label.description,
  };
}

export function issueShape(urls: Urls, issue: Issue): JsonObject {
  const { repository } = issue;
  const api = `${repositoryApi(urls, repository)}/issues/${issue.number}`;
  const html = `${repositoryHtml(urls, repository)}/${issue.pull === null ? "issues" : "pull"}/${issue.number}`;
  return {
    url: api,
    repository_url: repositoryApi(urls, repository),
    labels_url: `${api}/labels{/name}`,
    comments_url: `${api}/comments`,
    events_url: `${api}/events`,
    html_url: html,
    id: issue.id,
    node_id: nodeId("Issue", issue.id),
    number: issue.number,
    title: issue.title,
    user: userShape(urls, issue.author),
    labels: [...issue.labels.values()].map((label) => labelShape(urls, repository, label)),
    state: issue.state,
    locked: issue.locked,
    assignee: null,
    assignees: [],
    milestone: null,
    comments: issue.comments.size,
    created_at: timeText(issue.createdAt),
    updated_at: timeText(issue.updatedAt),
    closed_at: issue.closedAt === null ? null : timeText(issue.closedAt),
    author_association: associationOf(repository, issue.author),
    active_lock_reason: null,
    body: issue.body,
    reactions: reactionsShape(`${api}/reactions`, issue.reactions),
    timeline_url: `${api}/timeline`,
    performed_via_github_app: issue.viaApp === null ? null : appShape(urls, issue.viaApp),
    state_reason: issue.stateReason,
    ...pullLinks(urls, issue),
  };
}

function pullLinks(urls: Urls, issue: Issue): JsonObject {
  if (issue.pull === null) return {};
  const html = `${repositoryHtml(urls, issue.repository)}/pull/${issue.number}`;
  return {
    draft: issue.pull.draft,
    pull_request: {
      url: `${repositoryApi(urls, issue.repository)}/pulls/${issue.number}`,
      html_url: html,
      diff_url: `${html}.diff`,
      patch_url: `${html}.patch`,
      merged_at: issue.pull.merge === null ? null : timeText(issue.pull.merge.at),
    },
  };
}

/** Coarse on purpose: it says nothing about rights, and a program that takes it for one should be found out. */
export function associationOf(repository: Repository, account: Account): string {
  if (repository.owner.id === account.id) return "OWNER";
  if (account.type === "Bot") return "NONE";
  const known = roleIn(repository, account).permission;
  if (!repository.roles.has(account.login.toLowerCase()) || known === "none") return "NONE";
  return repository.owner.type === "Organization" ? "MEMBER" : "COLLABORATOR";
}

export function commentShape(urls: Urls, comment: Comment): JsonObject {
  const { issue } = comment;
  const api = `${repositoryApi(urls, issue.repository)}/issues`;
  const kind = issue.pull === null ? "issues" : "pull";
  return {
    url: `${api}/comments/${comment.id}`,
    html_url: `${repositoryHtml(urls, issue.repository)}/${kind}/${issue.number}#issuecomment-${comment.id}`,
    issue_url: `${api}/${issue.number}`,
    id: comment.id,
    node_id: nodeId("IssueComment", comment.id),
    user: userShape(urls, comment.author),
    created_at: timeText(comment.createdAt),
    updated_at: timeText(comment.updatedAt),
    author_association: associationOf(issue.repository, comment.author),
    body: comment.body,
    reactions: reactionsShape(`${api}/comments/${comment.id}/reactions`, comment.reactions),
    performed_via_github_app: comment.viaApp === null ? null : appShape(urls, comment.viaApp),
  };
}

/** Every reaction GitHub knows, in its order. */
export const REACTIONS: readonly string[] = [
  "+1",
  "-1",
  "laugh",
  "confused",
  "heart",
  "hooray",
  "rocket",
  "eyes",
];

function reactionsShape(url: string, reactions: readonly Reaction[]): JsonObject {
  const counts = REACTIONS.map(
    (content) => [content, reactions.filter((entry) => entry.content === content).length] as const,
  );
  return { url, total_count: reactions.length, ...Object.fromEntries(counts) };
}

export function reactionShape(urls: Urls, reaction: Reaction): JsonObject {
  return {
    id: reaction.id,
    node_id: nodeId("Reaction", reaction.id),
    user: userShape(urls, reaction.user),
    content: reaction.content,
    created_at: timeText(reaction.createdAt),
  };
}

export function eventShape(urls: Urls, issue: Issue, event: IssueEvent): JsonObject {
  const { label, rename } = event;
  return {
    id: event.id,
    node_id: nodeId("IssueEvent", event.id),
    url: `${repositoryApi(urls, issue.repository)}/issues/events/${event.id}`,
    actor: userShape(urls, event.actor),
    event: event.event,
    commit_id: null,
    commit_url: null,
    created_at: timeText(event.createdAt),
    performed_via_github_app: event.viaApp === null ? null : appShape(urls, event.viaApp),
    ...(label === null ? {} : { label: { name: label.name, color: label.color } }),
    ...(rename === null ? {} : { rename: { from: rename.from, to: rename.to } }),
    ...(event.event === "locked" ? { lock_reason: null } : {}),
    ...(event.event === "closed" || event.event === "reopened" ? { state_reason: null } : {}),
  };
}

/** A comment as it stands in the time line. */
export function commentedShape(urls: Urls, comment: Comment): JsonObject {
  return { ...commentShape(urls, comment), event: "commented", actor: userShape(urls, comment.author) };
}

/** That another issue or pull request names this one; such an entry has no id. */
export function crossReferencedShape(urls: Urls, by: Issue): JsonObject {
  return {
    event: "cross-referenced",
    actor: userShape(urls, by.author),
    created_at: timeText(by.createdAt),
    updated_at: timeText(by.updatedAt),
    source: { type: "issue", issue: issueShape(urls, by) },
  };
}
