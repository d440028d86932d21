/** How suites of checks, and commit statuses, came out on commits that we pushed: recorded with the run that pushed them, and never more than that. */

import type { RunEvent } from "#src/run/run.ts";
import type { NewFact, StoredRun } from "#src/store/store.ts";
import type { Edge } from "./edge.ts";
import { runOfBranch } from "./our-branch.ts";
import { CHECK_SUITE_EVENT, type CheckSuiteEvent, STATUS_EVENT, type StatusEvent } from "./payloads.ts";
import { NOTHING, type Reading, type Route } from "./receive.ts";

export const CHECKED: Route<CheckSuiteEvent> = {
  schema: CHECK_SUITE_EVENT,
  bots: "heard",
  read: onChecked,
};

export const STATUS_SET: Route<StatusEvent> = {
  schema: STATUS_EVENT,
  bots: "heard",
  read: onStatus,
};

/** More outcomes of one run tell nobody anything, and each costs an edit of the status comment. */
const MOST_RECORDED = 200;

/** A suite that is run again has its id still, so the time belongs to the key. */
async function onChecked(edge: Edge, event: CheckSuiteEvent): Promise<Reading> {
  const { check_suite: suite, repository } = event;
  const { id, conclusion, head_sha: headSha, updated_at: at } = suite;
  if (conclusion === null || conclusion === undefined) return NOTHING;
  const name = suite.app?.name ?? suite.app?.slug ?? "checks";
  const runs: StoredRun[] = [];
  for (const { number } of suite.pull_requests)
    runs.push(...(await edge.store.runsOfPullRequest(repository.id, number)));
  return recorded(edge, runs, `checks-${id}-${at}-${conclusion}`, { headSha, name, conclusion });
}

/** The event names no pull request; a branch of ours leads to the run that opened it. */
async function onStatus(edge: Edge, event: StatusEvent): Promise<Reading> {
  const { id, sha: headSha, state: conclusion, context: name, branches, repository } = event;
  if (conclusion === "pending") return NOTHING;
  const runs: StoredRun[] = [];
  for (const branch of branches) {
    const runId = runOfBranch(branch.name);
    const opened = runId === null ? null : await edge.store.run(runId);
    if (opened === null || opened.request.repository.id !== repository.id) continue;
    const pullRequest = await pullRequestOf(edge, opened.runId);
    if (pullRequest !== null) runs.push(...(await edge.store.runsOfPullRequest(repository.id, pullRequest)));
  }
  return recorded(edge, runs, `status-${id}`, { headSha, name, conclusion });
}

async function pullRequestOf(edge: Edge, runId: string): Promise<number | null> {
  for (const { event } of await edge.store.events(runId))
    if (event.type === "published") return event.pullRequest;
  return null;
}

type Outcome = Omit<Extract<RunEvent, { type: "checks_concluded" }>, "type">;

/** A fact of each run that pushed the commit, unless the log says that already. */
async function recorded(
  edge: Edge,
  runs: readonly StoredRun[],
  key: string,
  outcome: Outcome,
): Promise<Reading> {
  const facts: NewFact[] = [];
  for (const { runId } of runs)
    if (await isNews(edge, runId, outcome))
      facts.push({ runId, key, event: { type: "checks_concluded", ...outcome } });
  return facts.length === 0 ? NOTHING : { receipt: { kind: "facts", facts } };
}

async function isNews(edge: Edge, runId: string, { headSha, name, conclusion }: Outcome): Promise<boolean> {
  const events = (await edge.store.events(runId)).map(({ event }) => event);
  const isPushed = events.some((event) => event.type === "published" && event.commitSha === headSha);
  const known = events.filter((event) => event.type === "checks_concluded");
  const last = known.findLast((event) => event.headSha === headSha && event.name === name);
  return isPushed && known.length < MOST_RECORDED && last?.conclusion !== conclusion;
}
