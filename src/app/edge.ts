/** What the GitHub edge is made of: it records events, reacts, and leaves every decision to the lease holder of a run. */

import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import type { GitHubApp } from "#src/github/github-app.ts";
import type { Queue } from "#src/queue/queue.ts";
import type { Store } from "#src/store/store.ts";
import type { RepositoryCaches } from "./unreached.ts";

export interface Edge {
  readonly store: Store;
  readonly queue: Queue;
  readonly app: GitHubApp;
  /** Lower-case logins whose repositories are served; null: only the account that owns the app. */
  readonly allowedOwners: readonly string[] | null;
  /** True: labels start nothing. */
  readonly paused: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Work that outlives the webhook's answer; the server waits for it before it closes. */
  readonly background: Background;
  /** What runs keep of repositories; left out: nothing is kept. */
  readonly caches?: RepositoryCaches;
}

export interface Background {
  run(what: string, work: Promise<unknown>): void;
  /** Resolves when all of it is done, or after `deadlineMs`. */
  settled(deadlineMs: number): Promise<void>;
}

export function createBackground(log: Log, clock: Clock): Background {
  const open = new Set<Promise<unknown>>();
  return {
    run: (what, work) => {
      const guarded = work.catch((error: unknown) => log.warn({ err: error }, `${what} failed`));
      open.add(guarded);
      guarded.finally(() => open.delete(guarded)).catch(() => undefined);
    },
    settled: (deadlineMs) =>
      new Promise((resolve, reject) => {
        const cancel = clock.timer(deadlineMs, resolve);
        const drain = async () => {
          while (open.size > 0) await Promise.all(open);
          cancel();
        };
        drain().then(resolve, reject);
      }),
  };
}

/** Whether repositories of this account are served. Unset, only the app's own account is; a failed look-up is a no. */
export async function servesOwner(edge: Edge, owner: string): Promise<boolean> {
  if (edge.allowedOwners !== null) return edge.allowedOwners.includes(owner.toLowerCase());
  const identity = await edge.app.identity();
  if (identity.ok) {
    if (identity.value.owner === null) return true;
    return identity.value.owner.toLowerCase() === owner.toLowerCase();
  }
  edge.log.error(
    { owner, reason: identity.error.message },
    "GitHub did not say which account owns the app; set ALLOWED_OWNERS to the accounts whose repositories are served",
  );
  return false;
}
