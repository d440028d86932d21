/** How suites of checks came out on commits that we pushed: recorded with the run that pushed them, and never more than that. */

import type { RunEvent } from "#src/run/run.ts";
import type { NewFact } from "#src/store/store.ts";
import type { Edge } from "./edge.ts";
import { CHECK_SUITE_EVENT, type CheckSuiteEvent } from "./payloads.ts";
import { NOTHING, type Reading, type Route } from "./receive.ts";

export const CHECKED: Route<CheckSuiteEvent> = {
  schema: CHECK_SUITE_EVENT,
  bots: "heard",
  read: onChecked,
};

/** A suite that is run again has its id still, so the time belongs to the key. */
async function onChecked(edge: Edge, event: CheckSuiteEvent): Promise<Reading> {
  const { check_suite: suite, repository } = event;
  const { id, conclusion, head_sha: headSha, updated_at: at } = suite;
  if (conclusion === null || conclusion === undefined) return NOTHING;
  const name = suite.app?.name ?? suite.app?.slug ?? "checks";
  const concluded: RunEvent = { type: "checks_concluded", headSha, name, conclusion };
  const facts: NewFact[] = [];
  for (const { number } of suite.pull_requests)
    for (const { runId } of await edge.store.runsOfPullRequest(repository.id, number))
      if (await pushed(edge, runId, headSha))
        facts.push({ runId, key: `checks-${id}-${at}-${conclusion}`, event: concluded });
  return facts.length === 0 ? NOTHING : { receipt: { kind: "facts", facts } };
}

async function pushed(edge: Edge, runId: string, sha: string): Promise<boolean> {
  const events = await edge.store.events(runId);
  return events.some(({ event }) => event.type === "published" && event.commitSha === sha);
}
