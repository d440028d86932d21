/** What the embedded GitHub knows: accounts, apps, installations, repositories, issues, comments. Plain data, changed by actions and routes. */

import type { Permission } from "../github.ts";

export interface Account {
  readonly id: number;
  readonly login: string;
  readonly type: "User" | "Organization" | "Bot";
}

export interface App {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly owner: Account;
  /** The `slug[bot]` account that comments and commits. */
  readonly bot: Account;
  /** PEM; the app's JWTs are checked with it. */
  readonly publicKey: string;
  readonly webhookSecret: string;
  /** Null: deliveries are recorded as failed to connect. */
  webhookUrl: string | null;
  readonly permissions: Readonly<Record<string, string>>;
  readonly events: readonly string[];
  readonly createdAt: number;
}

export interface Installation {
  readonly id: number;
  readonly app: App;
  readonly account: Account;
  permissions: Readonly<Record<string, string>>;
  readonly repositoryIds: Set<number>;
  suspension: { readonly at: number; readonly by: Account } | null;
  readonly createdAt: number;
  updatedAt: number;
}

export interface AccessToken {
  readonly token: string;
  readonly installation: Installation;
  /** Null: every repository of the installation. */
  readonly repositoryIds: readonly number[] | null;
  readonly permissions: Readonly<Record<string, string>>;
  readonly expiresAt: number;
  revoked: boolean;
}

export interface Label {
  readonly id: number;
  readonly name: string;
  readonly color: string;
  readonly description: string | null;
}

export interface Reaction {
  readonly id: number;
  readonly content: string;
  readonly user: Account;
  readonly createdAt: number;
}

export interface Comment {
  readonly id: number;
  readonly issue: Issue;
  readonly author: Account;
  readonly viaApp: App | null;
  body: string;
  /** Why it is folded away; null: it is not. */
  minimized: "outdated" | null;
  readonly createdAt: number;
  updatedAt: number;
  readonly reactions: Reaction[];
}

export interface IssueEvent {
  readonly id: number;
  readonly event:
    | "labeled"
    | "unlabeled"
    | "closed"
    | "reopened"
    | "locked"
    | "unlocked"
    | "renamed"
    | "merged";
  readonly actor: Account;
  readonly viaApp: App | null;
  readonly createdAt: number;
  readonly label: Label | null;
  readonly rename: { readonly from: string; readonly to: string } | null;
}

/** What git says about a pull request; asked again whenever one of its branches moves. */
export interface PullFacts {
  readonly commits: number;
  readonly additions: number;
  readonly deletions: number;
  readonly files: number;
  /** Null: not known, as for a closed one. */
  readonly mergeable: boolean | null;
}

export interface Pull {
  readonly id: number;
  readonly headBranch: string;
  /** Kept when the branch is deleted. */
  headSha: string;
  readonly baseBranch: string;
  baseSha: string;
  draft: boolean;
  merge: { readonly at: number; readonly by: Account; readonly sha: string } | null;
  facts: PullFacts;
  /** Oldest first. */
  readonly reviewComments: ReviewComment[];
}

/** A comment on a line of a pull request, as part of a review or as an answer to one. */
export interface ReviewComment {
  readonly id: number;
  readonly reviewId: number | null;
  readonly replyTo: number | null;
  readonly author: Account;
  readonly path: string;
  readonly line: number;
  readonly body: string;
  /** Head of the pull request at that time. */
  readonly commitSha: string;
  readonly createdAt: number;
}

export interface Review {
  readonly id: number;
  readonly author: Account;
  readonly state: "approved" | "changes_requested" | "commented";
  readonly body: string | null;
  readonly commitSha: string;
  readonly createdAt: number;
}

/** An issue, or a pull request when `pull` is set: both share one numbering, as on GitHub. */
export interface Issue {
  readonly id: number;
  readonly number: number;
  readonly repository: Repository;
  readonly author: Account;
  readonly viaApp: App | null;
  title: string;
  body: string | null;
  state: "open" | "closed";
  stateReason: "completed" | "reopened" | "not_planned" | null;
  locked: boolean;
  deleted: boolean;
  readonly labels: Map<string, Label>;
  readonly comments: Map<number, Comment>;
  readonly reactions: Reaction[];
  readonly events: IssueEvent[];
  readonly createdAt: number;
  updatedAt: number;
  closedAt: number | null;
  /** When the body was last edited; null when it never was. */
  bodyEditedAt: number | null;
  readonly pull: Pull | null;
}

/** A custom role of an organization: its name and the role that it builds on. */
export interface Role {
  readonly permission: Permission;
  readonly customName: string | null;
}

export interface Repository {
  readonly id: number;
  owner: Account;
  name: string;
  archived: boolean;
  readonly private: boolean;
  readonly defaultBranch: string;
  readonly description: string | null;
  /** By lower-case login. The owner is an administrator without an entry. */
  readonly roles: Map<string, Role>;
  readonly labels: Map<string, Label>;
  readonly issues: Map<number, Issue>;
  nextNumber: number;
  readonly createdAt: number;
  pushedAt: number | null;
}

/** How a check came out on a commit. */
export interface CheckRun {
  readonly id: number;
  readonly suiteId: number;
  readonly repositoryId: number;
  readonly sha: string;
  readonly name: string;
  readonly conclusion: "success" | "failure" | "timed_out";
  readonly title: string | null;
  readonly summary: string | null;
  readonly annotations: readonly { readonly path: string; readonly line: number; readonly message: string }[];
  readonly at: number;
}

/** What a program said of a commit through the older interface. */
export interface CommitStatus {
  readonly id: number;
  readonly repositoryId: number;
  readonly sha: string;
  readonly context: string;
  readonly state: "pending" | "success" | "failure" | "error";
  readonly description: string | null;
  readonly targetUrl: string | null;
  readonly at: number;
}

export interface State {
  readonly statuses: CommitStatus[];
  readonly checkRuns: CheckRun[];
  /** Lower-case logins of active members, by lower-case `org/team`. */
  readonly teams: Map<string, ReadonlySet<string>>;
  /** By lower-case login. */
  readonly accounts: Map<string, Account>;
  readonly apps: Map<number, App>;
  readonly installations: Map<number, Installation>;
  readonly tokens: Map<string, AccessToken>;
  readonly repositories: Map<number, Repository>;
  /** Ids by former lower-case `owner/name`; GitHub redirects from there until the name is taken again. */
  readonly formerNames: Map<string, number>;
  /** The next id of anything; ids are unique across kinds, so that a mix-up cannot go unnoticed. */
  nextId: number;
}

export function createState(): State {
  return {
    statuses: [],
    checkRuns: [],
    teams: new Map(),
    accounts: new Map(),
    apps: new Map(),
    installations: new Map(),
    tokens: new Map(),
    repositories: new Map(),
    formerNames: new Map(),
    nextId: 1001,
  };
}

export function takeId(state: State): number {
  return state.nextId++;
}

/** Case does not matter, as on GitHub. */
export function findRepository(state: State, owner: string, name: string): Repository | null {
  const wanted = `${owner}/${name}`.toLowerCase();
  for (const repository of state.repositories.values())
    if (`${repository.owner.login}/${repository.name}`.toLowerCase() === wanted) return repository;
  return null;
}

/** The repository that once had that name; null as well when another has it now. */
export function movedRepository(state: State, owner: string, name: string): Repository | null {
  if (findRepository(state, owner, name) !== null) return null;
  const id = state.formerNames.get(`${owner}/${name}`.toLowerCase());
  return id === undefined ? null : (state.repositories.get(id) ?? null);
}

export function findInstallation(state: State, repository: Repository): readonly Installation[] {
  return [...state.installations.values()].filter((entry) => entry.repositoryIds.has(repository.id));
}

/** Everybody may read a public repository. */
export function roleIn(repository: Repository, account: Account): Role {
  if (repository.owner.id === account.id) return { permission: "admin", customName: null };
  const role = repository.roles.get(account.login.toLowerCase());
  return role ?? { permission: repository.private ? "none" : "read", customName: null };
}

export function addAccount(state: State, login: string, type: Account["type"]): Account {
  const known = state.accounts.get(login.toLowerCase());
  if (known !== undefined) return known;
  const account: Account = { id: takeId(state), login, type };
  state.accounts.set(login.toLowerCase(), account);
  return account;
}
