/** Finds the issue or comment that a route is about, and checks the permission that its kind (issue or pull request) needs. */

import { requireAccess } from "../access.ts";
import { invalid, invalidField, notFound, refuse } from "../answers.ts";
import { textOf } from "../json.ts";
import { param, type RepositoryCall } from "../router.ts";
import type { Comment, Issue } from "../state.ts";

/** Enough for either kind; the exact need is checked once the kind is known. */
export const ISSUE_READ = [
  ["issues", "read"],
  ["pull_requests", "read"],
] as const;
export const ISSUE_WRITE = [
  ["issues", "write"],
  ["pull_requests", "write"],
] as const;

const MAX_BODY_CHARACTERS = 65_536;

export function issueOf(call: RepositoryCall, level: "read" | "write"): Issue {
  const issue = call.repository.issues.get(Number(param(call, "issue_number")));
  if (issue === undefined) throw notFound();
  return accessible(call, issue, level);
}

export function commentOf(call: RepositoryCall, level: "read" | "write"): Comment {
  const id = Number(param(call, "comment_id"));
  for (const issue of call.repository.issues.values()) {
    const comment = issue.comments.get(id);
    if (comment === undefined) continue;
    accessible(call, issue, level);
    return comment;
  }
  throw notFound();
}

/** A pull request's conversation needs another permission than an issue's, although both use the same address. */
function accessible(call: RepositoryCall, issue: Issue, level: "read" | "write"): Issue {
  requireAccess(call.caller, call.repository, [[issue.pull === null ? "issues" : "pull_requests", level]]);
  if (issue.deleted) throw refuse(410, "This issue was deleted");
  return issue;
}

/** A text of an issue, comment or pull request; throws GitHub's 422 for a missing, blank or too long one. */
export function bodyText(call: RepositoryCall, resource: string): string {
  const body = textOf(call.body, "body");
  if (body === null) throw invalidField(resource, "body");
  if (body.trim() === "")
    throw invalid([{ resource, code: "unprocessable", field: "data", message: "Body cannot be blank" }]);
  refuseLong(body, resource);
  return body;
}

/** GitHub counts characters, not bytes: an emoji is one. */
export function refuseLong(body: string, resource: string): void {
  if ([...body].length <= MAX_BODY_CHARACTERS) return;
  const message = `Body is too long (maximum is ${MAX_BODY_CHARACTERS} characters)`;
  throw invalid([{ resource, code: "unprocessable", field: "data", message }]);
}
