/** Routes of issues: read, list, change, labels, reactions, time line. */

import { created, invalid, notFound, ok, paged } from "../answers.ts";
import { addLabel, editIssue, openIssue, react, removeLabel, setIssueState } from "../issue-actions.ts";
import {
  commentedShape,
  crossReferencedShape,
  eventShape,
  issueShape,
  labelShape,
  REACTIONS,
  reactionShape,
} from "../issue-shapes.ts";
import { isObject, type JsonObject, listOf, textOf } from "../json.ts";
import { param, type RepositoryCall, type Route, repositoryRoute } from "../router.ts";
import type { Issue } from "../state.ts";
import { ISSUE_READ, ISSUE_WRITE, issueOf, refuseLong } from "./issue-access.ts";

const ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}";

export const issueRoutes: readonly Route[] = [
  repositoryRoute("GET", "/repos/{owner}/{repo}/issues", [["issues", "read"]], (call) =>
    paged(
      call.query,
      call.url,
      listed(call).map((issue) => issueShape(call.hub.urls, issue)),
    ),
  ),
  repositoryRoute("POST", "/repos/{owner}/{repo}/issues", [["issues", "write"]], (call) => {
    const title = textOf(call.body, "title");
    if (!title) throw invalid([{ resource: "Issue", field: "title", code: "missing_field" }]);
    const body = textOf(call.body, "body") ?? null;
    if (body) refuseLong(body, "Issue");
    return created(
      issueShape(call.hub.urls, openIssue(call.hub, call.repository, call.actor, { title, body })),
    );
  }),
  repositoryRoute("GET", ISSUE, ISSUE_READ, (call) => ok(issueShape(call.hub.urls, issueOf(call, "read")))),
  repositoryRoute("PATCH", ISSUE, ISSUE_WRITE, (call) => {
    const issue = issueOf(call, "write");
    const [title, body, state] = ["title", "body", "state"].map((key) => textOf(call.body, key));
    if (body) refuseLong(body, "Issue");
    if (title || typeof body === "string")
      editIssue(call.hub, issue, call.actor, {
        ...(title ? { title } : {}),
        ...(typeof body === "string" ? { body } : {}),
      });
    if (state === "open" || state === "closed") setIssueState(call.hub, issue, call.actor, state);
    return ok(issueShape(call.hub.urls, issue));
  }),
  repositoryRoute("GET", `${ISSUE}/timeline`, ISSUE_READ, (call) => {
    const issue = issueOf(call, "read");
    return paged(call.query, call.url, timeline(call, issue));
  }),
  repositoryRoute("GET", `${ISSUE}/labels`, ISSUE_READ, (call) =>
    paged(call.query, call.url, labelsOf(call, issueOf(call, "read"))),
  ),
  repositoryRoute("POST", `${ISSUE}/labels`, ISSUE_WRITE, (call) => {
    const issue = issueOf(call, "write");
    for (const entry of listOf(call.body, "labels")) {
      const name = isObject(entry) ? textOf(entry, "name") : entry;
      if (typeof name !== "string" || name === "")
        throw invalid([{ resource: "Label", field: "name", code: "missing_field" }]);
      addLabel(call.hub, issue, call.actor, name);
    }
    return ok(labelsOf(call, issue));
  }),
  repositoryRoute("DELETE", `${ISSUE}/labels/{name}`, ISSUE_WRITE, (call) => {
    const issue = issueOf(call, "write");
    if (!removeLabel(call.hub, issue, call.actor, param(call, "name"))) throw notFound();
    return ok(labelsOf(call, issue));
  }),
  repositoryRoute("GET", `${ISSUE}/reactions`, ISSUE_READ, (call) =>
    paged(
      call.query,
      call.url,
      issueOf(call, "read").reactions.map((entry) => reactionShape(call.hub.urls, entry)),
    ),
  ),
  repositoryRoute("POST", `${ISSUE}/reactions`, ISSUE_WRITE, (call) =>
    addReaction(call, issueOf(call, "write")),
  ),
];

/** 200 when the same reaction was there before. */
export function addReaction(call: RepositoryCall, target: Parameters<typeof react>[1]) {
  const content = textOf(call.body, "content");
  if (content === null || !REACTIONS.includes(content))
    throw invalid([{ resource: "Reaction", field: "content", code: "invalid" }]);
  const { reaction, added } = react(call.hub, target, call.actor, content);
  const shape = reactionShape(call.hub.urls, reaction);
  return added ? created(shape) : ok(shape);
}

function labelsOf(call: RepositoryCall, issue: Issue): readonly JsonObject[] {
  return [...issue.labels.values()].map((label) => labelShape(call.hub.urls, call.repository, label));
}

/** Newest first, by state (default open) and by labels, all of which must be there; pull requests count as issues, as on GitHub. */
function listed(call: RepositoryCall): readonly Issue[] {
  const state = call.query.get("state") ?? "open";
  const creator = call.query.get("creator");
  const labels = (call.query.get("labels") ?? "").split(",").filter((name) => name !== "");
  return [...call.repository.issues.values()]
    .filter((issue) => !issue.deleted && (state === "all" || issue.state === state))
    .filter((issue) => creator === null || issue.author.login === creator)
    .filter((issue) => labels.every((name) => issue.labels.has(name.toLowerCase())))
    .reverse();
}

function mentions(body: string, number: number): boolean {
  return [...body.matchAll(/#(\d+)\b/g)].some(([, named]) => Number(named) === number);
}

/** Events, comments and mentions by other issues and pull requests in one list, oldest first. */
function timeline(call: RepositoryCall, issue: Issue): readonly JsonObject[] {
  const events = issue.events.map((event) => ({
    id: event.id,
    shape: eventShape(call.hub.urls, issue, event),
  }));
  const comments = [...issue.comments.values()].map((comment) => ({
    id: comment.id,
    shape: commentedShape(call.hub.urls, comment),
  }));
  const references = [...call.repository.issues.values()]
    .filter((other) => other !== issue && mentions(other.body ?? "", issue.number))
    .map((other) => ({ id: other.id, shape: crossReferencedShape(call.hub.urls, other) }));
  return [...events, ...comments, ...references].sort((a, b) => a.id - b.id).map((entry) => entry.shape);
}
