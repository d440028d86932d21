/** The GitHub port, third part: the app itself, its installations, its webhooks' deliveries and its tokens. */

import type { GitHub, GitHubFailure, GitHubResult, RepoName } from "./github.ts";

/** One attempt of GitHub's at delivering a webhook; attempts at the same delivery share a guid. */
export interface HookAttempt {
  readonly id: number;
  readonly guid: string;
  /** Event and action, such as `issues.labeled`; the event alone where it has no action. */
  readonly event: string;
  /** ms since the epoch. */
  readonly at: number;
  /** It was answered with a status of 200 to 299. */
  readonly arrived: boolean;
}

export interface Installation {
  readonly id: number;
  /** Login of the account it is on. */
  readonly account: string;
  readonly suspended: boolean;
  /** ms since the epoch. */
  readonly createdAt: number;
}

/** Where a repository is now. */
export interface RepositoryPlace extends RepoName {
  readonly cloneUrl: string;
}

export interface InstalledRepository extends RepositoryPlace {
  readonly defaultBranch: string;
  readonly private: boolean;
  readonly archived: boolean;
}

/** An installation, or one repository of it. */
export interface Reach {
  readonly installationId: number;
  /** Null: all of its repositories. */
  readonly repositoryId: number | null;
}

export type Standing = "stands" | Extract<GitHubFailure["code"], "not_found" | "suspended">;

/** `read`: metadata, contents and issues read + issues write for comments. `discuss`: pull requests write too, which comments on them need. `write`: contents write too. `look`: reading issues and pull requests. `team`, `checks` and `statuses`: reading those alone, which an installation may not grant. */
export type TokenPhase = "read" | "look" | "discuss" | "write" | "team" | "checks" | "statuses";

/** The app itself: identities, tokens, and what it may do. */
export interface GitHubApp {
  repository(installationId: number, repo: RepoName, phase: TokenPhase, signal?: AbortSignal): GitHub;
  /** A token for git over https, for that one repository with contents:read; `renew` after a 401. */
  gitToken(installationId: number, repo: RepoName, renew: boolean): GitHubResult<string>;
  /** The app's bot login (`slug[bot]`), its id and the account that owns it. Cached. */
  identity(): GitHubResult<{
    readonly appId: number;
    readonly slug: string;
    readonly botLogin: string;
    readonly owner: string | null;
  }>;
  /** What an installation grants, such as `contents: write`. Asked as the app itself, so that looking makes no token that could write. */
  permissions(installationId: number): GitHubResult<Readonly<Record<string, string>>>;
  /** Attempts at delivering the app's webhooks since that instant (ms since the epoch), newest first; at most 2,000. */
  hookAttempts(since: number): GitHubResult<readonly HookAttempt[]>;
  /** Asks GitHub to deliver once more what that attempt carried. */
  redeliver(attemptId: number): GitHubResult<null>;
  installations(): GitHubResult<readonly Installation[]>;
  repositories(installationId: number): GitHubResult<readonly InstalledRepository[]>;
  /** How the app stands there now, asked past what was noted of it; the answer is noted. An archived repository counts as suspended. */
  standing(reach: Reach): GitHubResult<Standing>;
  /** GitHub said that the app may not act there any more: kept tokens are forgotten, and for ten minutes every call is refused without being sent. */
  lost(reach: Reach, why: Extract<GitHubFailure["code"], "not_found" | "suspended">): void;
  /** GitHub said that the app may act there again. */
  regained(reach: Reach): void;
  /** GitHub said where a repository is; later calls go there, whatever name they are made by. */
  located(place: RepositoryPlace): void;
  /** Where GitHub last said a repository is; null when it said nothing since the start. */
  placeOf(repositoryId: number): RepositoryPlace | null;
}
