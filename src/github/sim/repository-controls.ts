/** Making accounts, repositories, commits and installations in the embedded GitHub, for demos and tests. */

import type { Permission } from "../github.ts";
import { installationShape, userShape } from "./account-shapes.ts";
import type { FileSource } from "./fast-import.ts";
import { type FileContent, fileSources, filesFromDirectory } from "./files.ts";
import { createGitRepository, type GitRepository } from "./git-objects.ts";
import { type Actor, gitOf, type Hub } from "./hub.ts";
import { person, repositoryNamed } from "./issue-controls.ts";
import { nodeId } from "./json.ts";
import { branchMoved, emailOf } from "./pull-actions.ts";
import { repositoryHtml } from "./repository-shapes.ts";
import { type App, addAccount, type Installation, type Repository, takeId } from "./state.ts";

export interface NewRepository {
  /** Login; made as a user when it is new, so make an organization first. */
  readonly owner: string;
  readonly name: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly defaultBranch?: string;
  /** The first commit's files. With neither files nor a directory the repository stays without any commit. */
  readonly files?: Readonly<Record<string, FileContent>>;
  readonly fromDirectory?: string;
}

export interface RepositoryView {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  /** `owner/name` */
  readonly fullName: string;
  readonly cloneUrl: string;
  readonly defaultBranch: string;
  /** The first commit; null for an empty repository. */
  readonly headSha: string | null;
}

export interface RepositoryControls {
  createUser(login: string): void;
  createOrganization(login: string): void;
  createRepository(repository: NewRepository): Promise<RepositoryView>;
  /** `customRole` is the name of an organization's role that builds on `permission`. */
  setPermission(repo: string, login: string, permission: Permission, customRole?: string): void;
  /** A commit on a branch (default: the default one; a new branch starts at the default one). Null content deletes. Returns its id. */
  pushCommit(
    repo: string,
    commit: {
      readonly by: string;
      readonly files: Readonly<Record<string, FileContent>>;
      readonly branch?: string;
      readonly message?: string;
    },
  ): Promise<string>;
  deleteBranch(repo: string, branch: string, by: string): Promise<void>;
  /** The real bare repository behind a name. */
  git(repo: string): GitRepository;
  /** Installs the app (default: the only one) on repositories of one owner and sends `installation.created`. Returns the installation's id. */
  install(installation: {
    readonly repositories: readonly string[];
    readonly appId?: number;
    readonly permissions?: Readonly<Record<string, string>>;
  }): number;
  /** Tokens made earlier keep what they were made with, as on GitHub. */
  setInstallationPermissions(installation: number, permissions: Readonly<Record<string, string>>): void;
  setSuspended(installation: number, suspended: boolean): void;
  uninstall(installation: number): void;
}

export function createRepositoryControls(hub: Hub): RepositoryControls {
  return {
    createUser: (login) => void addAccount(hub.state, login, "User"),
    createOrganization: (login) => void addAccount(hub.state, login, "Organization"),
    createRepository: (wanted) => createRepository(hub, wanted),
    setPermission: (repo, login, permission, customRole) => {
      addAccount(hub.state, login, "User");
      const role = { permission, customName: customRole ?? null };
      repositoryNamed(hub, repo).roles.set(login.toLowerCase(), role);
    },
    pushCommit: (repo, commit) => {
      const repository = repositoryNamed(hub, repo);
      return pushCommit(hub, repository, person(hub, commit.by), {
        branch: commit.branch ?? repository.defaultBranch,
        message: commit.message ?? "Change files",
        files: fileSources(commit.files),
      });
    },
    deleteBranch: async (repo, branch, by) => {
      const repository = repositoryNamed(hub, repo);
      const git = gitOf(hub, repository);
      const before = await git.refSha(`refs/heads/${branch}`);
      if (before === null) throw new Error(`${repo} has no branch ${branch}`);
      await git.updateRef(`refs/heads/${branch}`, null, before);
      await branchMoved(hub, repository, person(hub, by), { name: branch, sha: null, before });
    },
    git: (repo) => gitOf(hub, repositoryNamed(hub, repo)),
    ...installationControls(hub),
  };
}

async function createRepository(hub: Hub, wanted: NewRepository): Promise<RepositoryView> {
  const { state, clock } = hub;
  const repository: Repository = {
    id: takeId(state),
    owner: addAccount(state, wanted.owner, "User"),
    name: wanted.name,
    archived: false,
    private: wanted.private ?? false,
    defaultBranch: wanted.defaultBranch ?? "main",
    description: wanted.description ?? null,
    roles: new Map(),
    labels: new Map(),
    issues: new Map(),
    nextNumber: 1,
    createdAt: clock.now(),
    pushedAt: null,
  };
  const git = await createGitRepository(hub.gitRoot, repository.id, repository.defaultBranch);
  hub.git.set(repository.id, git);
  state.repositories.set(repository.id, repository);
  const files = new Map<string, FileSource | null>([
    ...(wanted.fromDirectory === undefined ? [] : await filesFromDirectory(wanted.fromDirectory)),
    ...fileSources(wanted.files ?? {}),
  ]);
  const first = { branch: repository.defaultBranch, message: "First commit", files };
  const author = person(hub, wanted.owner);
  const headSha = files.size === 0 ? null : await pushCommit(hub, repository, author, first);
  return {
    id: repository.id,
    owner: repository.owner.login,
    name: repository.name,
    fullName: `${repository.owner.login}/${repository.name}`,
    cloneUrl: `${repositoryHtml(hub.urls, repository)}.git`,
    defaultBranch: repository.defaultBranch,
    headSha,
  };
}

async function pushCommit(
  hub: Hub,
  repository: Repository,
  actor: Actor,
  commit: {
    readonly branch: string;
    readonly message: string;
    readonly files: ReadonlyMap<string, FileSource | null>;
  },
): Promise<string> {
  const git = gitOf(hub, repository);
  const ref = `refs/heads/${commit.branch}`;
  const refs = await git.refs();
  const before = refs.get(ref) ?? null;
  const start = before ?? refs.get(`refs/heads/${repository.defaultBranch}`) ?? null;
  if (before === null && start !== null) await git.updateRef(ref, start, null);
  const sha = await git.commitFiles({
    ...commit,
    author: { name: actor.account.login, email: emailOf(actor) },
    at: hub.clock.now(),
    hasParent: start !== null,
  });
  await branchMoved(hub, repository, actor, { name: commit.branch, sha, before });
  return sha;
}

type InstallationControls = Pick<
  RepositoryControls,
  "install" | "setInstallationPermissions" | "setSuspended" | "uninstall"
>;

function installationControls(hub: Hub): InstallationControls {
  const find = (id: number): Installation => {
    const found = hub.state.installations.get(id);
    if (found === undefined) throw new Error(`there is no installation ${id}`);
    return found;
  };
  return {
    install: ({ repositories, appId, permissions }) => {
      const app = appOf(hub, appId);
      const chosen = repositories.map((repo) => repositoryNamed(hub, repo));
      const owner = chosen[0]?.owner;
      if (owner === undefined || chosen.some((repository) => repository.owner !== owner))
        throw new Error("an installation is on one or more repositories of one owner");
      const installation: Installation = {
        id: takeId(hub.state),
        app,
        account: owner,
        permissions: permissions ?? app.permissions,
        repositoryIds: new Set(chosen.map((repository) => repository.id)),
        suspension: null,
        ...{ createdAt: hub.clock.now(), updatedAt: hub.clock.now() },
      };
      hub.state.installations.set(installation.id, installation);
      announceInstallation(hub, installation, "created");
      return installation.id;
    },
    setInstallationPermissions: (id, permissions) => {
      find(id).permissions = permissions;
    },
    setSuspended: (id, suspended) => {
      const found = find(id);
      found.updatedAt = hub.clock.now();
      found.suspension = suspended ? { at: hub.clock.now(), by: found.account } : null;
      announceInstallation(hub, found, suspended ? "suspend" : "unsuspend");
    },
    uninstall: (id) => {
      const installation = find(id);
      announceInstallation(hub, installation, "deleted");
      hub.state.installations.delete(id);
      for (const token of hub.state.tokens.values())
        if (token.installation === installation) token.revoked = true;
    },
  };
}

function appOf(hub: Hub, id: number | undefined): App {
  const apps = [...hub.state.apps.values()];
  const app = id === undefined ? apps[0] : hub.state.apps.get(id);
  if (app === undefined) throw new Error("there is no such app");
  return app;
}

function announceInstallation(hub: Hub, installation: Installation, action: string): void {
  const repositories = [...installation.repositoryIds].flatMap((id) => {
    const repository = hub.state.repositories.get(id);
    if (repository === undefined) return [];
    return [
      {
        id,
        node_id: nodeId("Repository", id),
        name: repository.name,
        full_name: `${repository.owner.login}/${repository.name}`,
        private: repository.private,
      },
    ];
  });
  hub.webhooks.emit({
    app: installation.app,
    event: "installation",
    action,
    installationId: installation.id,
    repositoryId: null,
    payload: {
      action,
      installation: installationShape(hub.urls, installation),
      repositories,
      sender: userShape(hub.urls, installation.account),
    },
  });
}
