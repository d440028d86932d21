/** Webhooks about the ground that runs stand on (installations, repositories, issues that leave): runs end honestly, and nothing is sent without a right. */

import type { Probot } from "probot";
import type { Reach } from "#src/github/github-app.ts";
import type { GroundLoss } from "#src/run/run.ts";
import type { StoredRun } from "#src/store/store.ts";
import type { Edge } from "./edge.ts";
import {
  INSTALLATION_EVENT,
  type InstallationEvent,
  ISSUE_EVENT,
  type IssueEvent,
  REACH_EVENT,
  REPOSITORY_EVENT,
  type ReachEvent,
  type RepositoryEvent,
} from "./payloads.ts";
import { NOTHING, type Reading, type Route, receive } from "./receive.ts";
import { dropUnreachedSoon } from "./unreached.ts";

const ISSUE_LEFT: Route<IssueEvent & { readonly action?: string }> = {
  schema: ISSUE_EVENT.loose(),
  bots: "heard",
  read: onIssueLeft,
};
const INSTALLATION: Route<InstallationEvent> = {
  schema: INSTALLATION_EVENT,
  bots: "heard",
  read: onInstallation,
};
const REACH: Route<ReachEvent> = { schema: REACH_EVENT, bots: "heard", read: onReach };
const REPOSITORY: Route<RepositoryEvent> = { schema: REPOSITORY_EVENT, bots: "heard", read: onRepository };

/** Registers them; `installation.created` needs nothing, since work begins with a label. */
export function registerGroundRoutes(probot: Probot, edge: Edge): void {
  probot.on(["issues.deleted", "issues.transferred"], (delivery) => receive(edge, delivery, ISSUE_LEFT));
  probot.on(
    ["installation.deleted", "installation.suspend", "installation.unsuspend", "installation.created"],
    (delivery) => receive(edge, delivery, INSTALLATION),
  );
  probot.on(["installation_repositories.added", "installation_repositories.removed"], (delivery) =>
    receive(edge, delivery, REACH),
  );
  probot.on(
    [
      "repository.archived",
      "repository.unarchived",
      "repository.deleted",
      "repository.transferred",
      "repository.renamed",
    ],
    (delivery) => receive(edge, delivery, REPOSITORY),
  );
}

async function onIssueLeft(
  edge: Edge,
  event: IssueEvent & { readonly action?: string },
  deliveryId: string,
): Promise<Reading> {
  const run = await edge.store.latestRun(event.repository.id, event.issue.number);
  if (run === null || run.ended) return NOTHING;
  const why = event.action === "transferred" ? "issue_transferred" : "issue_deleted";
  return lost([run], { why, by: event.sender.login, deliveryId });
}

async function onInstallation(
  edge: Edge,
  { action, installation, sender }: InstallationEvent,
  deliveryId: string,
): Promise<Reading> {
  const reach: Reach = { installationId: installation.id, repositoryId: null };
  const open = await openRunsIn(edge, reach);
  const fact = { by: sender.login, deliveryId };
  switch (action) {
    case "deleted":
      return {
        ...lost(open, { ...fact, why: "app_uninstalled" }),
        afterwards: () => noteLoss(edge, reach, "not_found"),
      };
    case "suspend":
      return {
        ...lost(open, { ...fact, why: "app_suspended" }),
        afterwards: () => noteLoss(edge, reach, "suspended"),
      };
    case "unsuspend":
      return regained(edge, reach, open);
    default:
      edge.log.info({ installation: installation.id }, "the app was installed; it waits for a label");
      return NOTHING;
  }
}

async function onReach(edge: Edge, event: ReachEvent, deliveryId: string): Promise<Reading> {
  const { installation, sender } = event;
  const reachOf = ({ id }: { readonly id: number }): Reach => ({
    installationId: installation.id,
    repositoryId: id,
  });
  const removed = event.repositories_removed.map(reachOf);
  const added = event.repositories_added.map(reachOf);
  const open = (await Promise.all(removed.map((reach) => openRunsIn(edge, reach)))).flat();
  return {
    ...lost(open, { why: "repository_removed", by: sender.login, deliveryId }),
    afterwards: () => {
      for (const reach of removed) noteLoss(edge, reach, "not_found");
      for (const reach of added) edge.app.regained(reach);
    },
  };
}

const REPOSITORY_LOSSES: Readonly<Record<string, GroundLoss>> = {
  archived: "repository_archived",
  deleted: "repository_deleted",
  transferred: "repository_transferred",
};

async function onRepository(
  edge: Edge,
  { action, repository, installation, sender }: RepositoryEvent,
  deliveryId: string,
): Promise<Reading> {
  const reach: Reach = { installationId: installation.id, repositoryId: repository.id };
  const open = await openRunsIn(edge, reach);
  if (action === "unarchived") return regained(edge, reach, open);
  const why = REPOSITORY_LOSSES[action];
  // A new name needs no more than to be known, which every event sees to.
  if (why === undefined) return NOTHING;
  const code = why === "repository_archived" ? "suspended" : "not_found";
  return {
    ...lost(open, { why, by: sender.login, deliveryId }),
    afterwards: () => noteLoss(edge, reach, code),
  };
}

/** Runs there that have not ended, or whose end is not told everywhere yet. */
async function openRunsIn(edge: Edge, reach: Reach): Promise<readonly StoredRun[]> {
  const open = await edge.store.openRuns();
  return open.filter(
    ({ request }) =>
      request.installationId === reach.installationId &&
      (reach.repositoryId === null || request.repository.id === reach.repositoryId),
  );
}

function lost(
  runs: readonly StoredRun[],
  { deliveryId, ...what }: { readonly why: GroundLoss; readonly by: string; readonly deliveryId: string },
): Reading {
  const facts = runs
    .filter(({ ended }) => !ended)
    .map(({ runId }) => ({
      runId,
      key: `ground-${deliveryId}`,
      event: { type: "ground_lost", ...what } as const,
    }));
  return facts.length === 0 ? NOTHING : { receipt: { kind: "facts", facts } };
}

/** Nothing is sent from here on, unless GitHub says that the event is out of date: it may come late, or be asked for again. */
function noteLoss(edge: Edge, reach: Reach, code: "not_found" | "suspended"): void {
  edge.app.lost(reach, code);
  edge.background.run("asking how the app stands", edge.app.standing(reach));
  if (code === "not_found") dropUnreachedSoon(edge);
}

/** What could not be told meanwhile is told now. */
function regained(edge: Edge, reach: Reach, open: readonly StoredRun[]): Reading {
  const afterwards = () => {
    edge.app.regained(reach);
    const pushed = Promise.all(open.map(({ runId }) => edge.queue.push(runId, "desk")));
    edge.background.run("taking runs up again", pushed);
  };
  return { ...NOTHING, afterwards };
}
