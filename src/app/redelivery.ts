/** Asks GitHub again for webhooks that did not arrive, by its own record of the app's deliveries. */

import type { HookAttempt } from "#src/github/github-app.ts";
import type { Edge } from "./edge.ts";

/** Each guid is tried so often, GitHub's own attempt counted; after that, what stops it is no passing trouble. */
const MAX_ATTEMPTS = 3;
/** In one round; the next goes on. */
const MAX_ASKED = 200;
/** Only what people said. What became of installations and repositories is found out by the next call to them, and an old word on it would be wrong by now. */
const ASKED_FOR: readonly string[] = ["issues", "issue_comment", "pull_request", "pull_request_review"];

/**
 * Asks for every delivery since `since` (ms since the epoch) that never arrived and is not on record, oldest first.
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

/** One attempt of each delivery of which none arrived, oldest first. */
function missingOf(attempts: readonly HookAttempt[]): readonly HookAttempt[] {
  const byGuid = Map.groupBy(attempts, ({ guid }) => guid);
  return [...byGuid.values()]
    .filter((tried) => !tried.some(({ arrived }) => arrived) && tried.length < MAX_ATTEMPTS)
    .flatMap((tried) => tried.at(-1) ?? [])
    .filter(({ event }) => ASKED_FOR.includes(event))
    .sort((a, b) => a.at - b.at || a.id - b.id);
}
