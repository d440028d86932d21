/** Repositories and their git objects as GitHub's JSON: pure. */

import { type Urls, userShape } from "./account-shapes.ts";
import type { CommitObject, Signature } from "./git-objects.ts";
import { type JsonObject, nodeId, timeText } from "./json.ts";
import type { Repository } from "./state.ts";

/** `http://…/api/v3/repos/owner/name` */
export function repositoryApi(urls: Urls, repository: Repository): string {
  return `${urls.api}/repos/${repository.owner.login}/${repository.name}`;
}

/** `http://…/owner/name` */
export function repositoryHtml(urls: Urls, repository: Repository): string {
  return `${urls.html}/${repository.owner.login}/${repository.name}`;
}

/** The form that lists, pull requests and webhook payloads carry. */
export function repositoryShape(urls: Urls, repository: Repository): JsonObject {
  const open = [...repository.issues.values()].filter((issue) => issue.state === "open" && !issue.deleted);
  return {
    id: repository.id,
    node_id: nodeId("Repository", repository.id),
    name: repository.name,
    full_name: `${repository.owner.login}/${repository.name}`,
    private: repository.private,
    owner: userShape(urls, repository.owner),
    html_url: repositoryHtml(urls, repository),
    description: repository.description,
    fork: false,
    ...repositoryUrls(urls, repository),
    created_at: timeText(repository.createdAt),
    updated_at: timeText(repository.createdAt),
    pushed_at: timeText(repository.pushedAt ?? repository.createdAt),
    homepage: null,
    size: 0,
    stargazers_count: 0,
    watchers_count: 0,
    language: null,
    has_issues: true,
    has_projects: false,
    has_downloads: true,
    has_wiki: false,
    has_pages: false,
    has_discussions: false,
    forks_count: 0,
    mirror_url: null,
    archived: repository.archived,
    disabled: false,
    open_issues_count: open.length,
    license: null,
    allow_forking: true,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: repository.private ? "private" : "public",
    forks: 0,
    open_issues: open.length,
    watchers: 0,
    default_branch: repository.defaultBranch,
    custom_properties: {},
  };
}

/** What `GET /repos/{owner}/{repo}` adds. */
export function fullRepositoryShape(urls: Urls, repository: Repository): JsonObject {
  return { ...repositoryShape(urls, repository), network_count: 0, subscribers_count: 0 };
}

function repositoryUrls(urls: Urls, repository: Repository): JsonObject {
  const api = repositoryApi(urls, repository);
  const html = repositoryHtml(urls, repository);
  const plain = [
    ["forks_url", "forks"],
    ["teams_url", "teams"],
    ["hooks_url", "hooks"],
    ["events_url", "events"],
    ["tags_url", "tags"],
    ["languages_url", "languages"],
    ["stargazers_url", "stargazers"],
    ["contributors_url", "contributors"],
    ["subscribers_url", "subscribers"],
    ["subscription_url", "subscription"],
    ["merges_url", "merges"],
    ["downloads_url", "downloads"],
    ["deployments_url", "deployments"],
    ["keys_url", "keys{/key_id}"],
    ["collaborators_url", "collaborators{/collaborator}"],
    ["issue_events_url", "issues/events{/number}"],
    ["assignees_url", "assignees{/user}"],
    ["branches_url", "branches{/branch}"],
    ["blobs_url", "git/blobs{/sha}"],
    ["git_tags_url", "git/tags{/sha}"],
    ["git_refs_url", "git/refs{/sha}"],
    ["trees_url", "git/trees{/sha}"],
    ["statuses_url", "statuses/{sha}"],
    ["commits_url", "commits{/sha}"],
    ["git_commits_url", "git/commits{/sha}"],
    ["comments_url", "comments{/number}"],
    ["issue_comment_url", "issues/comments{/number}"],
    ["contents_url", "contents/{+path}"],
    ["compare_url", "compare/{base}...{head}"],
    ["archive_url", "{archive_format}{/ref}"],
    ["issues_url", "issues{/number}"],
    ["pulls_url", "pulls{/number}"],
    ["milestones_url", "milestones{/number}"],
    ["notifications_url", "notifications{?since,all,participating}"],
    ["labels_url", "labels{/name}"],
    ["releases_url", "releases{/id}"],
  ] as const;
  return {
    url: api,
    ...Object.fromEntries(plain.map(([name, rest]) => [name, `${api}/${rest}`])),
    git_url: `${html.replace(/^https?/, "git")}.git`,
    ssh_url: `git@${new URL(html).hostname}:${repository.owner.login}/${repository.name}.git`,
    clone_url: `${html}.git`,
    svn_url: html,
  };
}

export function refShape(urls: Urls, repository: Repository, ref: string, sha: string): JsonObject {
  const api = repositoryApi(urls, repository);
  return {
    ref,
    node_id: nodeId(`Ref:${ref}`, repository.id),
    url: `${api}/git/${encodeURI(ref)}`,
    object: { type: "commit", sha, url: `${api}/git/commits/${sha}` },
  };
}

export function commitShape(
  urls: Urls,
  repository: Repository,
  commit: CommitObject,
  verified: boolean,
): JsonObject {
  const api = repositoryApi(urls, repository);
  const html = repositoryHtml(urls, repository);
  return {
    sha: commit.sha,
    node_id: nodeId(`Commit:${commit.sha}`, repository.id),
    url: `${api}/git/commits/${commit.sha}`,
    html_url: `${html}/commit/${commit.sha}`,
    author: signatureShape(commit.author),
    committer: signatureShape(commit.committer),
    tree: { sha: commit.tree, url: `${api}/git/trees/${commit.tree}` },
    message: commit.message,
    parents: commit.parents.map((sha) => ({
      sha,
      url: `${api}/git/commits/${sha}`,
      html_url: `${html}/commit/${sha}`,
    })),
    verification: {
      verified,
      reason: verified ? "valid" : "unsigned",
      signature: verified ? "-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n" : null,
      payload: verified ? `tree ${commit.tree}\n` : null,
      verified_at: verified ? timeText(commit.committer.at) : null,
    },
  };
}

function signatureShape(signature: Signature): JsonObject {
  return { name: signature.name, email: signature.email, date: timeText(signature.at) };
}
