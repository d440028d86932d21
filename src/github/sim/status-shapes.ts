/** Commit statuses as GitHub's JSON: pure. */

import type { Json } from "#src/base/canonical-json.ts";
import type { Urls } from "./account-shapes.ts";
import type { CommitObject } from "./git-objects.ts";
import { type JsonObject, nodeId, timeText } from "./json.ts";
import { commitShape, repositoryApi, repositoryShape } from "./repository-shapes.ts";
import type { CommitStatus, Repository } from "./state.ts";

/** The newest status of each context on a commit. */
export function newestOf(statuses: readonly CommitStatus[]): readonly CommitStatus[] {
  return [...new Map(statuses.map((status) => [status.context, status])).values()];
}

/** All of a commit's statuses put together: one bad one is a failure, one that is missing makes it wait. */
export function combinedStatusShape(
  urls: Urls,
  repository: Repository,
  of: { readonly sha: string; readonly all: readonly CommitStatus[]; readonly page: Json },
): JsonObject {
  const states = of.all.map(({ state }) => state);
  const bad = states.includes("failure") || states.includes("error");
  const api = `${repositoryApi(urls, repository)}/commits/${of.sha}`;
  return {
    state: bad ? "failure" : states.length === 0 || states.includes("pending") ? "pending" : "success",
    statuses: of.page,
    ...{ sha: of.sha, total_count: of.all.length, commit_url: api, url: `${api}/status` },
    repository: repositoryShape(urls, repository),
  };
}

export function statusShape(urls: Urls, repository: Repository, status: CommitStatus): JsonObject {
  const { id, sha, context, state, description, targetUrl, at } = status;
  return {
    ...{ id, node_id: nodeId("StatusContext", id), avatar_url: null, context, state, description },
    url: `${repositoryApi(urls, repository)}/statuses/${sha}`,
    ...{ target_url: targetUrl, created_at: timeText(at), updated_at: timeText(at) },
  };
}

/** What a `status` event carries besides repository and sender. */
export function statusEventShape(
  urls: Urls,
  repository: Repository,
  about: {
    readonly status: CommitStatus;
    readonly commit: CommitObject;
    readonly branches: readonly string[];
  },
): JsonObject {
  const { id, sha, context, state, description, targetUrl, at } = about.status;
  const { url, html_url, node_id, author, committer, message, tree, parents } = commitShape(
    urls,
    repository,
    about.commit,
    false,
  );
  const commitUrl = `${repositoryApi(urls, repository)}/commits/${sha}`;
  return {
    ...{ id, sha, name: `${repository.owner.login}/${repository.name}`, context, state, description },
    ...{ target_url: targetUrl, created_at: timeText(at), updated_at: timeText(at) },
    commit: {
      ...{ sha, node_id, url: commitUrl, html_url, comments_url: `${commitUrl}/comments` },
      ...{ author: null, committer: null, parents },
      commit: {
        ...{ author, committer, message, tree, url, comment_count: 0 },
        verification: { verified: false, reason: "unsigned", signature: null, payload: null },
      },
    },
    branches: about.branches.map((name) => ({ name, commit: { sha, url: commitUrl }, protected: false })),
  } as JsonObject;
}
