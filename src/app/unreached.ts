/** Drops what is kept of repositories that the app does not reach any more: mirrors and package caches go when their owners take the app away. */

import type { Edge } from "./edge.ts";

/** What is kept on this machine between the runs of a repository. */
export interface RepositoryCaches {
  /** Of which repositories something is kept, the rest of a drop that was cut off too. */
  cached(): Promise<readonly number[]>;
  /** Removes all of it. `isFree` is asked when nobody can begin to use it; false: not everything is gone yet. */
  dropCached(repositoryId: number, isFree: () => Promise<boolean>): Promise<boolean>;
}

/** The runs there end within seconds; what is left after this many looks is found by the hourly one. */
const LOOKS = 6;
const LOOK_AGAIN_MS = 10_000;
const RUNS_READ = 1_000;

/** Looks now, and again while runs have not ended; in the edge's background. */
export function dropUnreachedSoon(edge: Edge, looks = LOOKS): void {
  const work = dropUnreached(edge).then((done) => {
    if (done || looks <= 1) return;
    edge.clock.timer(LOOK_AGAIN_MS, () => dropUnreachedSoon(edge, looks - 1));
  });
  edge.background.run("dropping what is kept of repositories that are gone", work);
}

/**
 * True when nothing is left to be dropped soon. It goes by what GitHub says now, and not by events, so that a lost event, a lost
 * drop and an event out of order come to the same; where GitHub says nothing, nothing is dropped.
 */
export async function dropUnreached(edge: Edge): Promise<boolean> {
  const { caches, log } = edge;
  const kept = (await caches?.cached()) ?? [];
  if (caches === undefined || kept.length === 0) return true;
  const reach = await reachOf(edge);
  if (reach === null) return true;
  let done = true;
  for (const id of kept.filter((repository) => !reach.repositories.has(repository))) {
    if (!(await isLost(edge, id, reach.unknown))) continue;
    const dropped = await caches
      .dropCached(id, async () => !(await hasOpenRun(edge, id)))
      .catch((error: unknown) => {
        // One that cannot be removed keeps no other from being dropped.
        log.warn(
          { err: error, repository: id },
          "what is kept of a repository that is gone could not be dropped",
        );
        return false;
      });
    if (dropped)
      log.info({ repository: id }, "dropped what was kept of a repository that is not reached any more");
    done &&= dropped;
  }
  return done;
}

interface Reached {
  readonly repositories: ReadonlySet<number>;
  /** Installations whose repositories GitHub does not show now: suspended ones, and those that it gave no answer on. */
  readonly unknown: ReadonlySet<number>;
}

/** Null: GitHub gave no answer. */
async function reachOf({ app }: Edge): Promise<Reached | null> {
  const installations = await app.installations();
  if (!installations.ok) return null;
  const repositories = new Set<number>();
  const unknown = new Set<number>();
  for (const { id, suspended } of installations.value) {
    const listed = suspended ? null : await app.repositories(id);
    if (listed === null || !listed.ok) unknown.add(id);
    else for (const repository of listed.value) repositories.add(repository.id);
  }
  return { repositories, unknown };
}

/** The newest run there tells whose it was; what no run on GitHub used (a local checkout) is not the app's to judge. */
async function isLost(edge: Edge, repositoryId: number, unknown: ReadonlySet<number>): Promise<boolean> {
  const runs = await edge.store.runs({ limit: RUNS_READ });
  const run = runs.find(({ request }) => request.repository.id === repositoryId);
  if (run === undefined || run.request.trigger === "local") return false;
  return !unknown.has(run.request.installationId);
}

async function hasOpenRun({ store }: Edge, repositoryId: number): Promise<boolean> {
  const open = await store.openRuns();
  return open.some(({ request, ended }) => !ended && request.repository.id === repositoryId);
}
