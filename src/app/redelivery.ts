/** Asks GitHub again for webhooks that did not arrive, by its own record of the app's deliveries. */

import type { HookAttempt } from "#src/github/github-app.ts";
import type { Edge } from "./edge.ts";

/** Each guid is tried so often, GitHub's own attempt counted; after that, what stops it is no passing trouble. */
const MAX_ATTEMPTS = 3;
/** In one round; the next goes on. */
const MAX_ASKED = 200;
const SAID_BY_PEOPLE = [
  ...["issues.labeled", "issues.unlabeled", "issues.closed", "issues.deleted", "issues.transferred"],
  ...["issue_comment.created", "pull_request_review.submitted"],
  ...["pull_request.closed", "pull_request.reopened"],
];
const ABOUT_THE_GROUND = [
  ...["installation.deleted", "installation.suspend", "installation.unsuspend"],
  ...["installation_repositories.added", "installation_repositories.removed"],
  ...["repository.archived", "repository.unarchived", "repository.deleted", "repository.transferred"],
  "repository.renamed",
];
const SAID_BY_PROGRAMS = ["check_suite.completed", "status"];

/** Every event that the routes act on, what matters most first: where a round cannot ask for all, programs do not crowd people out. */
export const ASKED_FOR: readonly (readonly string[])[] = [SAID_BY_PEOPLE, ABOUT_THE_GROUND, SAID_BY_PROGRAMS];

/**
 * Asks for every delivery since `since` (ms since the epoch) that never arrived and is not on record: people's words, then
 * what became of the ground, then checks; each oldest first.
 * Returns how many it asked for; null when GitHub did not show its record.
 */
export async function askAgain(edge: Edge, since: number): Promise<number | null> {
  const attempts = await edge.app.hookAttempts(since);
  if (!attempts.ok) {
    edge.log.warn({ reason: attempts.error.message }, "GitHub did not show its record of webhooks");
    return null;
  }
  const missing = missingOf(attempts.value);
  const known = await edge.store.knownDeliveries(missing.map(({ guid }) => guid));
  const wanted = missing.filter(({ guid }) => !known.has(guid)).slice(0, MAX_ASKED);
  let asked = 0;
  for (const { id, guid } of wanted) {
    const again = await edge.app.redeliver(id);
    if (again.ok) asked++;
    else edge.log.warn({ delivery: guid, reason: again.error.message }, "a webhook was not sent again");
    if (!again.ok && again.error.code === "rate_limited") break;
  }
  if (asked > 0) edge.log.info({ asked }, "asked GitHub again for webhooks that did not arrive");
  return asked;
}

/** One attempt of each delivery of which none arrived, in the order in which they are asked for. */
function missingOf(attempts: readonly HookAttempt[]): readonly HookAttempt[] {
  const byGuid = Map.groupBy(attempts, ({ guid }) => guid);
  return [...byGuid.values()]
    .filter((tried) => !tried.some(({ arrived }) => arrived) && tried.length < MAX_ATTEMPTS)
    .flatMap((tried) => tried.at(-1) ?? [])
    .filter((attempt) => rankOf(attempt) >= 0)
    .sort((a, b) => rankOf(a) - rankOf(b) || a.at - b.at || a.id - b.id);
}

/** -1: nobody acts on it. */
function rankOf({ event }: HookAttempt): number {
  return ASKED_FOR.findIndex((events) => events.includes(event));
}
