/** Accounts, apps and installations as GitHub's JSON: pure. */

import type { Permission } from "../github.ts";
import { type JsonObject, nodeId, timeText } from "./json.ts";
import type { AccessToken, Account, App, Installation, Role } from "./state.ts";

/** Where the embedded GitHub is reached, without trailing slashes. */
export interface Urls {
  /** `http://127.0.0.1:PORT/api/v3` */
  readonly api: string;
  /** `http://127.0.0.1:PORT` */
  readonly html: string;
}

export function userShape(urls: Urls, account: Account): JsonObject {
  const login = encodeURIComponent(account.login);
  const api = `${urls.api}/users/${login}`;
  const isBot = account.type === "Bot";
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId(account.type, account.id),
    avatar_url: `${urls.html}/avatars/${account.id}`,
    gravatar_id: "",
    url: api,
    html_url: isBot ? `${urls.html}/apps/${account.login.replace(/\[bot\]$/, "")}` : `${urls.html}/${login}`,
    followers_url: `${api}/followers`,
    following_url: `${api}/following{/other_user}`,
    gists_url: `${api}/gists{/gist_id}`,
    starred_url: `${api}/starred{/owner}{/repo}`,
    subscriptions_url: `${api}/subscriptions`,
    organizations_url: `${api}/orgs`,
    repos_url: `${api}/repos`,
    events_url: `${api}/events{/privacy}`,
    received_events_url: `${api}/received_events`,
    type: account.type,
    site_admin: false,
  };
}

/** What `GET /users/{login}` adds. */
export function publicUserShape(urls: Urls, account: Account): JsonObject {
  return {
    ...userShape(urls, account),
    name: account.login,
    company: null,
    blog: null,
    location: null,
    email: null,
    hireable: null,
    bio: null,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: timeText(0),
    updated_at: timeText(0),
  };
}

/** The organization member of a webhook payload. */
export function organizationShape(urls: Urls, account: Account): JsonObject {
  const api = `${urls.api}/orgs/${encodeURIComponent(account.login)}`;
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId(account.type, account.id),
    url: api,
    repos_url: `${api}/repos`,
    events_url: `${api}/events`,
    hooks_url: `${api}/hooks`,
    issues_url: `${api}/issues`,
    members_url: `${api}/members{/member}`,
    public_members_url: `${api}/public_members{/member}`,
    avatar_url: `${urls.html}/avatars/${account.id}`,
    description: null,
  };
}

export function appShape(urls: Urls, app: App): JsonObject {
  return {
    id: app.id,
    slug: app.slug,
    node_id: nodeId("App", app.id),
    owner: userShape(urls, app.owner),
    name: app.name,
    description: null,
    external_url: `${urls.html}/${app.slug}`,
    html_url: `${urls.html}/apps/${app.slug}`,
    created_at: timeText(app.createdAt),
    updated_at: timeText(app.createdAt),
    permissions: app.permissions,
    events: app.events,
  };
}

export function installationShape(urls: Urls, installation: Installation): JsonObject {
  const { suspension } = installation;
  const api = `${urls.api}/app/installations/${installation.id}`;
  return {
    id: installation.id,
    account: userShape(urls, installation.account),
    repository_selection: "selected",
    access_tokens_url: `${api}/access_tokens`,
    repositories_url: `${urls.api}/installation/repositories`,
    html_url: `${urls.html}/settings/installations/${installation.id}`,
    app_id: installation.app.id,
    app_slug: installation.app.slug,
    target_id: installation.account.id,
    target_type: installation.account.type,
    permissions: installation.permissions,
    events: installation.app.events,
    created_at: timeText(installation.createdAt),
    updated_at: timeText(installation.updatedAt),
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    suspended_by: suspension === null ? null : userShape(urls, suspension.by),
    suspended_at: suspension === null ? null : timeText(suspension.at),
  };
}

export function tokenShape(token: AccessToken, repositories: readonly JsonObject[]): JsonObject {
  return {
    token: token.token,
    expires_at: timeText(token.expiresAt),
    permissions: token.permissions,
    repository_selection: "selected",
    ...(token.repositoryIds === null ? {} : { repositories }),
  };
}

const RANKS: readonly Permission[] = ["none", "read", "triage", "write", "maintain", "admin"];

/** `permission` knows four levels only; `role_name` has the exact one, or a custom role's own name. */
export function collaboratorShape(urls: Urls, account: Account, role: Role): JsonObject {
  const rank = RANKS.indexOf(role.permission);
  const base = { maintain: "write", triage: "read" } as const;
  const permission =
    role.permission === "maintain" || role.permission === "triage" ? base[role.permission] : role.permission;
  const roleName = role.customName ?? role.permission;
  const permissions = {
    admin: rank >= 5,
    maintain: rank >= 4,
    push: rank >= 3,
    triage: rank >= 2,
    pull: rank >= 1,
  };
  return {
    permission,
    role_name: roleName,
    user: { ...userShape(urls, account), permissions, role_name: roleName },
  };
}
