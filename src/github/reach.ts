/** What GitHub said about where the app may act and where repositories are: kept in memory, and for a while only, since events can come out of order. */

import type { Clock } from "#src/base/clock.ts";
import type { GitHubFailure } from "./github.ts";
import type { GitHubApp, Reach, RepositoryPlace } from "./github-app.ts";

export interface Reaches extends Pick<GitHubApp, "lost" | "regained" | "located" | "placeOf"> {
  /** Why calls there are not sent; null: they are. */
  refusal(reach: Reach): GitHubFailure | null;
}

const KEEP_MS = 10 * 60_000;

const SENTENCES = {
  not_found: "The app is not installed there any more; nothing was sent.",
  suspended: "The installation is suspended or the repository archived; nothing was sent.",
} as const;

export function createReaches(clock: Clock, forgetTokens: (installationId: number) => void): Reaches {
  const losses = new Map<string, { readonly code: keyof typeof SENTENCES; readonly until: number }>();
  const places = new Map<number, RepositoryPlace>();
  const lossOf = (key: string) => {
    const found = losses.get(key);
    if (found === undefined || found.until > clock.now()) return found;
    losses.delete(key);
    return undefined;
  };
  return {
    lost: (reach, code) => {
      losses.set(keyOf(reach), { code, until: clock.now() + KEEP_MS });
      forgetTokens(reach.installationId);
    },
    regained: (reach) => {
      losses.delete(keyOf(reach));
    },
    located: (place) => {
      const { id, owner, name, cloneUrl } = place;
      places.set(id, { id, owner, name, cloneUrl });
    },
    placeOf: (repositoryId) => places.get(repositoryId) ?? null,
    refusal: (reach) => {
      const found = lossOf(keyOf({ ...reach, repositoryId: null })) ?? lossOf(keyOf(reach));
      if (found === undefined) return null;
      return { code: found.code, status: null, message: SENTENCES[found.code], retryAfterMs: null };
    },
  };
}

function keyOf({ installationId, repositoryId }: Reach): string {
  return `${installationId}/${repositoryId ?? "*"}`;
}
