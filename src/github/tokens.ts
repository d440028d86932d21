/** Installation tokens in memory, one per repository and purpose, for ten minutes at most; a refused one is replaced once. */

import type { Clock } from "#src/base/clock.ts";
import { ok } from "#src/base/result.ts";
import type { GitHubResult } from "./github.ts";
import type { Purpose } from "./permissions.ts";

export interface MintedToken {
  readonly token: string;
  /** ms since the epoch. */
  readonly expiresAt: number;
}

export interface TokenScope {
  readonly installationId: number;
  /** Null: all repositories of the installation; only for listing them. */
  readonly repositoryId: number | null;
  readonly purpose: Purpose;
}

export interface Tokens {
  /** A kept token, or a new one when there is none, it is old, or it is the one in `refused`. Calls at the same time share one mint. */
  get(scope: TokenScope, refused: string | null): GitHubResult<MintedToken>;
  /** Forgets the kept token of that scope. */
  forget(scope: TokenScope): void;
  /** Forgets every kept token of an installation. */
  forgetAll(installationId: number): void;
}

const KEEP_MS = 10 * 60_000;
/** A token about to end would end in the middle of a fetch. */
const END_MARGIN_MS = 60_000;

export function createTokens(clock: Clock, mint: (scope: TokenScope) => GitHubResult<MintedToken>): Tokens {
  const kept = new Map<string, { readonly minted: MintedToken; readonly until: number }>();
  const minting = new Map<string, GitHubResult<MintedToken>>();

  const dropOld = () => {
    for (const [key, entry] of kept) if (entry.until <= clock.now()) kept.delete(key);
  };

  const mintOnce = async (key: string, scope: TokenScope): GitHubResult<MintedToken> => {
    const minted = await mint(scope);
    minting.delete(key);
    if (minted.ok) {
      const until = Math.min(clock.now() + KEEP_MS, minted.value.expiresAt - END_MARGIN_MS);
      kept.set(key, { minted: minted.value, until });
    }
    return minted;
  };

  return {
    get: async (scope, refused) => {
      dropOld();
      const key = keyOf(scope);
      const entry = kept.get(key);
      if (entry !== undefined && entry.minted.token !== refused) return ok(entry.minted);
      kept.delete(key);
      const running = minting.get(key) ?? mintOnce(key, scope);
      minting.set(key, running);
      return running;
    },
    forget: (scope) => {
      kept.delete(keyOf(scope));
    },
    forgetAll: (installationId) => {
      for (const key of kept.keys()) if (key.startsWith(`${installationId}/`)) kept.delete(key);
    },
  };
}

function keyOf(scope: TokenScope): string {
  return `${scope.installationId}/${scope.repositoryId}/${scope.purpose}`;
}
