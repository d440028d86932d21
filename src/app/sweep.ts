/** Looks for labels whose webhook never came: an issue that carries one newer than every run of it gets its run, or is asked to be labelled anew. */

import { ok } from "#src/base/result.ts";
import { LABEL } from "#src/gate/label.ts";
import { parseMarker } from "#src/gate/marker.ts";
import { renderAnswer } from "#src/gate/status-comment.ts";
import type { GitHub, GitHubResult } from "#src/github/github.ts";
import type { Installation, InstalledRepository } from "#src/github/github-app.ts";
import type { LabelledIssue, TimelineEvent } from "#src/github/surroundings.ts";
import type { RunRequest } from "#src/run/run.ts";
import type { StoredRun } from "#src/store/store.ts";
import { type Edge, servesOwner } from "./edge.ts";

/** A label that has stood longer was seen by somebody, or is no longer waited for. */
const MAX_AGE_MS = 7 * 24 * 3_600_000;

const RELABEL = `I missed the label, and the issue was changed after it was set. I work on what a maintainer has seen: please take the label \`${LABEL}\` off and set it again.`;

interface Place {
  readonly edge: Edge;
  readonly installation: Installation;
  readonly repository: InstalledRepository;
  readonly github: GitHub;
}

/** One round over every installation. Never rejects for what GitHub refuses; that is logged, and the next round looks again. */
export async function sweepLabels(edge: Edge): Promise<void> {
  if (edge.paused) return;
  const installations = await edge.app.installations();
  if (!installations.ok) return skipped(edge, "installations", installations.error.message);
  for (const installation of installations.value) {
    if (installation.suspended || !(await servesOwner(edge, installation.account))) continue;
    const repositories = await edge.app.repositories(installation.id);
    if (!repositories.ok) {
      skipped(edge, installation.account, repositories.error.message);
      continue;
    }
    for (const repository of repositories.value) {
      if (repository.archived) continue;
      const github = edge.app.repository(installation.id, repository, "read");
      const swept = await sweepRepository({ edge, installation, repository, github });
      if (!swept.ok) skipped(edge, `${repository.owner}/${repository.name}`, swept.error.message);
      // A limit holds for the whole installation.
      if (!swept.ok && swept.error.code === "rate_limited") break;
    }
  }
}

function skipped(edge: Edge, where: string, reason: string): void {
  edge.log.warn({ where, reason }, "missed labels could not be looked for here; the next round looks again");
}

async function sweepRepository(place: Place): GitHubResult<null> {
  const issues = await place.github.labelledIssues(LABEL);
  if (!issues.ok) return issues;
  for (const issue of issues.value) {
    const looked = await sweepIssue(place, issue);
    if (!looked.ok) return looked;
  }
  return ok(null);
}

async function sweepIssue(place: Place, issue: LabelledIssue): GitHubResult<null> {
  const { edge, repository, github } = place;
  const before = await edge.store.runsOf(repository.id, issue.number);
  // Nothing has happened to it since the last run was asked for.
  if (before.some((run) => !run.ended || momentOf(run) >= issue.updatedAt)) return ok(null);
  const timeline = await github.timeline(issue.number);
  if (!timeline.ok) return timeline;
  const label = missedLabel(place, timeline.value);
  // Read again: the webhook may have come meanwhile.
  const runs = await edge.store.runsOf(repository.id, issue.number);
  if (label === null || runs.some((run) => !run.ended || momentOf(run) >= label.at)) return ok(null);
  const edited = await changedSince(place, issue, { timeline: timeline.value, label });
  if (!edited.ok) return edited;
  if (edited.value) return askToRelabel(place, issue, label);
  const created = await edge.store.createRun(requestOf(place, issue, label));
  if (created.ok) {
    edge.log.info(
      { run: created.value.runId, issue: issue.number },
      "a label whose webhook never came starts a run",
    );
    await edge.queue.push(created.value.runId, "desk");
  }
  return ok(null);
}

/** Until when labels are accounted for by a run: one that is set while it is at work starts nothing. GitHub's clock and ours may differ. */
function momentOf({ updatedAt, request }: StoredRun): number {
  return Math.max(updatedAt, request.issue.updatedAt);
}

/** The newest setting of the label, unless it is old, from before the app came, a bot's, or one that the app has answered since. */
function missedLabel(
  { edge, installation }: Place,
  timeline: readonly TimelineEvent[],
): TimelineEvent | null {
  const label = timeline.findLast((event) => event.kind === "labeled" && event.label === LABEL);
  if (label === undefined || label.bot) return null;
  if (label.at < installation.createdAt || label.at < edge.clock.now() - MAX_AGE_MS) return null;
  const answered = timeline.some((event) => event.kind === "commented" && event.ours && event.at >= label.at);
  return answered ? null : label;
}

/** Whether title or body are other than they were when the label was set (FAULTS H01); within the same second nobody can tell, so that counts too. */
async function changedSince(
  { github }: Place,
  issue: LabelledIssue,
  seen: { readonly timeline: readonly TimelineEvent[]; readonly label: TimelineEvent },
): GitHubResult<boolean> {
  const { label, timeline } = seen;
  if (timeline.some((event) => event.kind === "renamed" && event.at >= label.at)) return ok(true);
  const edited = await github.bodyEditedAt(issue.number);
  if (!edited.ok) return edited;
  return ok(edited.value !== null && edited.value >= label.at);
}

/** Asked once per label: the answer carries the label event's id. */
async function askToRelabel(place: Place, issue: LabelledIssue, label: TimelineEvent): GitHubResult<null> {
  const { github, edge } = place;
  const comments = await github.comments(issue.number);
  if (!comments.ok) return comments;
  const asked = comments.value.some(({ ours, body }) => ours && parseMarker(body)?.forComment === label.id);
  if (asked) return ok(null);
  const body = renderAnswer({ runId: null, commentId: label.id, text: RELABEL });
  const made = await github.createComment(issue.number, body);
  if (!made.ok) return made;
  edge.log.info({ issue: issue.number }, "asked for the label anew, since the issue was changed after it");
  return ok(null);
}

function requestOf(place: Place, issue: LabelledIssue, label: TimelineEvent): RunRequest {
  const { edge, installation, repository } = place;
  const { id, owner, name, cloneUrl, defaultBranch, private: isPrivate } = repository;
  const { number, title, body, author, updatedAt } = issue;
  return {
    runId: edge.ids.runId(edge.clock.now()),
    repository: { id, owner, name, cloneUrl, defaultBranch, private: isPrivate },
    installationId: installation.id,
    issue: { number, title, body, author, updatedAt },
    askedBy: label.login,
    trigger: "label",
    parent: null,
    budgetUsd: null,
  };
}
