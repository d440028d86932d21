/** Check runs, check suites and listed commits as GitHub's JSON: pure. */

import { appShape, type Urls } from "./account-shapes.ts";
import type { CommitObject } from "./git-objects.ts";
import { type JsonObject, nodeId, timeText } from "./json.ts";
import { commitShape, repositoryApi, repositoryHtml } from "./repository-shapes.ts";
import type { App, CheckRun, Issue, Repository } from "./state.ts";

export function checkRunShape(urls: Urls, repository: Repository, run: CheckRun): JsonObject {
  const api = `${repositoryApi(urls, repository)}/check-runs/${run.id}`;
  const html = `${repositoryHtml(urls, repository)}/runs/${run.id}`;
  return {
    ...{ id: run.id, node_id: nodeId("CheckRun", run.id), head_sha: run.sha, external_id: "" },
    ...{ url: api, html_url: html, details_url: html, status: "completed", conclusion: run.conclusion },
    ...{ started_at: timeText(run.at), completed_at: timeText(run.at), name: run.name },
    output: {
      ...{ title: run.title, summary: run.summary, text: null },
      ...{ annotations_count: run.annotations.length, annotations_url: `${api}/annotations` },
    },
    ...{ check_suite: { id: run.suiteId }, app: null, pull_requests: [] },
  };
}

/** The suite of a `check_suite` event, with the pull requests whose head the commit is. */
export function checkSuiteShape(
  urls: Urls,
  repository: Repository,
  suite: {
    readonly run: CheckRun;
    readonly commit: CommitObject;
    readonly pulls: readonly Issue[];
    readonly app: App;
  },
): JsonObject {
  const { run, commit, pulls, app } = suite;
  const api = `${repositoryApi(urls, repository)}/check-suites/${run.suiteId}`;
  const at = timeText(run.at);
  return {
    ...{ id: run.suiteId, node_id: nodeId("CheckSuite", run.suiteId), status: "completed" },
    ...{ head_branch: pulls[0]?.pull?.headBranch ?? null, head_sha: run.sha, conclusion: run.conclusion },
    ...{ url: api, before: commit.parents[0] ?? null, after: run.sha, created_at: at, updated_at: at },
    pull_requests: pulls.map((issue) => suitePull(urls, repository, issue)),
    app: { ...appShape(urls, app), permissions: {}, events: [] },
    ...{ latest_check_runs_count: 1, check_runs_url: `${api}/check-runs` },
    head_commit: {
      ...{
        id: run.sha,
        tree_id: commit.tree,
        message: commit.message,
        timestamp: timeText(commit.author.at),
      },
      author: { name: commit.author.name, email: commit.author.email },
      committer: { name: commit.committer.name, email: commit.committer.email },
    },
  };
}

function suitePull(urls: Urls, repository: Repository, issue: Issue): JsonObject {
  const repo = { id: repository.id, url: repositoryApi(urls, repository), name: repository.name };
  const { pull } = issue;
  return {
    url: `${repositoryApi(urls, repository)}/pulls/${issue.number}`,
    id: pull?.id ?? 0,
    number: issue.number,
    head: { ref: pull?.headBranch ?? "", sha: pull?.headSha ?? "", repo },
    base: { ref: pull?.baseBranch ?? "", sha: pull?.baseSha ?? "", repo },
  };
}

/** A commit in a list: what git says of it one level deeper than in the git data interface. */
export function listedCommitShape(urls: Urls, repository: Repository, commit: CommitObject): JsonObject {
  const { author, committer, tree, message, verification, html_url } = commitShape(
    urls,
    repository,
    commit,
    false,
  );
  const api = repositoryApi(urls, repository);
  const url = `${api}/commits/${commit.sha}`;
  return {
    ...{ url, sha: commit.sha, node_id: nodeId(`Commit:${commit.sha}`, repository.id) },
    html_url: html_url ?? url,
    comments_url: `${url}/comments`,
    commit: {
      ...{ url: `${api}/git/commits/${commit.sha}`, comment_count: 0, message: message ?? "" },
      ...{ author: author ?? null, committer: committer ?? null, tree: tree ?? null },
      verification: verification ?? null,
    },
    ...{ author: null, committer: null },
    parents: commit.parents.map((sha) => ({ sha, url: `${api}/commits/${sha}` })),
  };
}
