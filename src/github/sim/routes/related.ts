/** Routes around an issue's fix: members of teams, commits of a branch, check runs and their annotations. */

import { coversRepository } from "../access.ts";
import { notAccessible, notFound, ok, paged } from "../answers.ts";
import { checkRunShape, listedCommitShape } from "../check-shapes.ts";
import { gitOf } from "../hub.ts";
import { param, type RepositoryCall, type Route, repositoryRoute } from "../router.ts";
import { combinedStatusShape, newestOf, statusShape } from "../status-shapes.ts";

const COMMIT = "/repos/{owner}/{repo}/commits/{ref}";
const CHECK_RUN = "/repos/{owner}/{repo}/check-runs/{check_run_id}";
/** Far more than a test has. */
const MOST_COMMITS = 300;

export const relatedRoutes: readonly Route[] = [
  {
    method: "GET",
    template: "/orgs/{org}/teams/{team_slug}/memberships/{username}",
    handle: (call) => {
      const { caller, hub } = call;
      if (caller.kind !== "installation") throw notFound();
      if (caller.token.permissions.members === undefined) throw notAccessible("members=read");
      const org = param(call, "org").toLowerCase();
      if (caller.token.installation.account.login.toLowerCase() !== org) throw notFound();
      const team = param(call, "team_slug").toLowerCase();
      const login = param(call, "username");
      const members = hub.state.teams.get(`${org}/${team}`);
      if (members === undefined || !members.has(login.toLowerCase())) throw notFound();
      const url = `${hub.urls.api}/organizations/1/team/1/memberships/${encodeURIComponent(login)}`;
      return ok({ url, role: "member", state: "active" });
    },
  },
  repositoryRoute("GET", "/repos/{owner}/{repo}/commits", [["contents", "read"]], async (call) =>
    paged(call.query, call.url, await commits(call)),
  ),
  repositoryRoute("GET", `${COMMIT}/check-runs`, [["checks", "read"]], (call) => {
    const runs = runsOf(call).filter(({ sha }) => sha === param(call, "ref"));
    const shapes = runs.map((run) => checkRunShape(call.hub.urls, call.repository, run));
    return ok({ total_count: shapes.length, check_runs: shapes });
  }),
  repositoryRoute("GET", `${COMMIT}/status`, [["statuses", "read"]], (call) => {
    const { hub, repository, query, url } = call;
    const sha = param(call, "ref");
    const all = newestOf(ofRepository(call, hub.state.statuses).filter((status) => status.sha === sha));
    const shapes = all.map((status) => statusShape(hub.urls, repository, status));
    const { body: page = [], ...answer } = paged(query, url, shapes);
    return { ...answer, body: combinedStatusShape(hub.urls, repository, { sha, all, page }) };
  }),
  repositoryRoute("GET", `${CHECK_RUN}/annotations`, [["checks", "read"]], (call) => {
    const run = runsOf(call).find(({ id }) => id === Number(param(call, "check_run_id")));
    if (run === undefined) throw notFound();
    const shapes = run.annotations.map(({ path, line, message }) => ({
      path,
      blob_href: `${call.hub.urls.html}/blob/${run.sha}/${encodeURI(path)}`,
      ...{ start_line: line, end_line: line, start_column: null, end_column: null },
      ...{ annotation_level: "failure", title: null, message, raw_details: null },
    }));
    return paged(call.query, call.url, shapes);
  }),
];

function runsOf(call: RepositoryCall) {
  return ofRepository(call, call.hub.state.checkRuns);
}

/** Checks are never public to a token that was not made for the repository. */
function ofRepository<T extends { readonly repositoryId: number }>(
  { caller, repository }: RepositoryCall,
  list: readonly T[],
): readonly T[] {
  if (caller.kind !== "installation" || !coversRepository(caller.token, repository)) throw notFound();
  return list.filter(({ repositoryId }) => repositoryId === repository.id);
}

/** First parents only, newest first. */
async function commits(call: RepositoryCall) {
  const { repository, hub, query } = call;
  const git = gitOf(hub, repository);
  const since = Date.parse(query.get("since") ?? "") || 0;
  const shapes = [];
  let sha = await git.refSha(`refs/heads/${query.get("sha") ?? repository.defaultBranch}`);
  while (sha !== null && shapes.length < MOST_COMMITS) {
    const commit = await git.readCommit(sha);
    if (commit === null || commit.committer.at < since) break;
    shapes.push(listedCommitShape(hub.urls, repository, commit));
    sha = commit.parents[0] ?? null;
  }
  return shapes;
}
