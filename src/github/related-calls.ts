/** What stands around an issue and a commit: who else fixes it, how its checks came out, whether a person is in a team, and comments put out of sight. */

import { z } from "zod";
import { ok } from "#src/base/result.ts";
import { type CallContext, nothing, PAGE, pageOf } from "./calls.ts";
import type { GitHub, GitHubResult } from "./github.ts";
import { graphql } from "./graphql.ts";
import type { CheckAnnotation, FailedCheckRun, FixClaim } from "./surroundings.ts";

type RelatedCalls = Pick<
  GitHub,
  "isTeamMember" | "fixClaims" | "failedChecks" | "failedStatuses" | "minimize"
>;

const MINIMIZE = `mutation ($id: ID!) {
  minimizeComment(input: { subjectId: $id, classifier: OUTDATED }) { minimizedComment { isMinimized } }
}`;
const MINIMIZED = z.object({
  data: z.object({
    minimizeComment: z.object({ minimizedComment: z.object({ isMinimized: z.literal(true) }) }),
  }),
});

/** Pages of a time line and of commits that are looked at; more would cost more than they tell. */
const MOST_PAGES = 3;
const MOST_ANNOTATIONS = 10;
const FAILED = new Set(["failure", "timed_out", "cancelled", "action_required"]);

export function relatedCalls(context: CallContext): RelatedCalls {
  const { octokit, repo, read, write } = context;
  return {
    isTeamMember: async (team, login) => {
      const member = await read(
        (send) =>
          octokit.request("GET /orgs/{org}/teams/{team_slug}/memberships/{username}", {
            ...{ org: repo.owner, team_slug: team, username: login },
            ...send,
          }),
        ({ state }) => state === "active",
      );
      return !member.ok && member.error.status === 404 ? ok(false) : member;
    },
    fixClaims: (issue, branch) => fixClaims(context, issue, branch),
    failedChecks: (sha) => failedChecks(context, sha),
    failedStatuses: (sha) =>
      read(
        (send) =>
          octokit.request("GET /repos/{owner}/{repo}/commits/{ref}/status", {
            ...repo,
            ...{ ref: sha, per_page: PAGE },
            ...send,
          }),
        ({ statuses }) =>
          statuses
            .filter(({ state }) => state === "failure" || state === "error")
            .map(({ context: name, state, description }) => ({
              ...{ name, conclusion: state, title: "", summary: description ?? "", annotations: [] },
            })),
      ),
    minimize: (nodeId) =>
      write(
        (send) => graphql(octokit, { query: MINIMIZE, variables: { id: nodeId } }, send),
        (answer) => {
          MINIMIZED.parse(answer);
          return nothing();
        },
      ),
  };
}

const CROSS_REFERENCE = z.object({
  event: z.literal("cross-referenced"),
  created_at: z.string(),
  source: z.object({
    issue: z.object({
      number: z.number().int(),
      state: z.string(),
      title: z.string(),
      body: z.string().nullish(),
      html_url: z.string(),
      repository_url: z.string(),
      user: z.object({ login: z.string(), type: z.string() }).nullish(),
      author_association: z.string().nullish(),
      pull_request: z.object({ merged_at: z.string().nullish() }),
    }),
  }),
});
const INSIDERS: readonly string[] = ["OWNER", "MEMBER", "COLLABORATOR"];
const REOPENED = z.object({ event: z.literal("reopened"), created_at: z.string() });

/** An issue as texts name it. */
export interface NamedIssue {
  /** `owner/name` */
  readonly repository: string;
  readonly number: number;
}

/** A number alone, with its repository, or as an address. */
const CLOSING =
  /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:#|([\w.-]+\/[\w.-]+)#|https?:\/\/[^\s/]+\/([\w.-]+\/[\w.-]+)\/issues\/)(\d+)\b/gi;

/** True when the text says that it closes that issue, in the words GitHub acts on; the same number of another repository is another issue. */
export function claimsToClose(text: string, { repository, number }: NamedIssue): boolean {
  return [...text.matchAll(CLOSING)].some(
    ([, short, address, named]) =>
      Number(named) === number && (short ?? address ?? repository).toLowerCase() === repository.toLowerCase(),
  );
}

async function fixClaims(
  context: CallContext,
  issue: { readonly number: number; readonly createdAt: number },
  branch: string,
): GitHubResult<readonly FixClaim[]> {
  const identity = await context.identity();
  if (!identity.ok) return identity;
  const seen = await timelineOf(context, issue.number);
  if (!seen.ok) return seen;
  const reopened = seen.value.flatMap((event) => {
    const read = REOPENED.safeParse(event);
    return read.success ? [Date.parse(read.data.created_at)] : [];
  });
  // What was tried before the issue was opened again has not fixed it.
  const since = Math.max(issue.createdAt, ...reopened);
  const named = { repository: `${context.repo.owner}/${context.repo.repo}`, number: issue.number };
  const here = `/repos/${named.repository}`.toLowerCase();
  const claims = new Map<number, FixClaim>();
  for (const event of seen.value) {
    const read = CROSS_REFERENCE.safeParse(event);
    if (!read.success) continue;
    const {
      number,
      state,
      title,
      body,
      html_url: url,
      repository_url: home,
      ...pull
    } = read.data.source.issue;
    const mergedAt = Date.parse(pull.pull_request.merged_at ?? "");
    const counts = state === "open" || mergedAt >= since;
    const ours = pull.user?.type === "Bot" && pull.user.login === identity.value.botLogin;
    if (!counts || ours || !home.toLowerCase().endsWith(here)) continue;
    if (!claimsToClose(`${title}\n${body ?? ""}`, named)) continue;
    claims.set(number, {
      ...{ kind: "pull_request", number, state: state === "open" ? "open" : "merged", url },
      accepted: state !== "open" && Date.parse(read.data.created_at) <= mergedAt,
      by: pull.user?.login ?? null,
      insider: INSIDERS.includes(pull.author_association ?? ""),
    });
  }
  const commits = await commitsSince(context, { named, since, branch });
  return commits.ok ? ok([...claims.values(), ...commits.value]) : commits;
}

async function timelineOf(context: CallContext, issue: number): GitHubResult<readonly unknown[]> {
  const events: unknown[] = [];
  for (let page = 1; page <= MOST_PAGES; page++) {
    const answer = await context.read(
      (send) =>
        context.octokit.request("GET /repos/{owner}/{repo}/issues/{issue_number}/timeline", {
          ...context.repo,
          ...{ issue_number: issue, per_page: PAGE, page },
          ...send,
        }),
      (found, whole) => pageOf<unknown>(found, whole),
    );
    if (!answer.ok) return answer;
    events.push(...answer.value.items);
    if (!answer.value.more) break;
  }
  return ok(events);
}

function commitsSince(
  context: CallContext,
  about: { readonly named: NamedIssue; readonly since: number; readonly branch: string },
): GitHubResult<readonly FixClaim[]> {
  return context.read(
    (send) =>
      context.octokit.request("GET /repos/{owner}/{repo}/commits", {
        ...context.repo,
        ...{ sha: about.branch, since: new Date(about.since).toISOString(), per_page: PAGE },
        ...send,
      }),
    (commits) =>
      commits
        .filter(({ commit }) => claimsToClose(commit.message, about.named))
        .map(({ sha, html_url: url }) => ({ kind: "commit", sha, url })),
  );
}

async function failedChecks(context: CallContext, sha: string): GitHubResult<readonly FailedCheckRun[]> {
  const { octokit, repo, read } = context;
  const runs = await read(
    (send) =>
      octokit.request("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", {
        ...repo,
        ...{ ref: sha, filter: "latest", per_page: PAGE },
        ...send,
      }),
    ({ check_runs: found }) =>
      found
        .filter(({ conclusion }) => conclusion !== null && FAILED.has(conclusion))
        .map(({ id, name, conclusion, output }) => ({
          ...{ id: Number(id), name, conclusion: conclusion ?? "" },
          ...{ title: output.title ?? "", summary: output.summary ?? "" },
          annotated: output.annotations_count > 0,
        })),
  );
  if (!runs.ok) return runs;
  const failed: FailedCheckRun[] = [];
  for (const { id, annotated, ...run } of runs.value) {
    const annotations = annotated ? await annotationsOf(context, id) : ok([]);
    if (!annotations.ok) return annotations;
    failed.push({ ...run, annotations: annotations.value });
  }
  return ok(failed);
}

function annotationsOf(context: CallContext, run: number): GitHubResult<readonly CheckAnnotation[]> {
  return context.read(
    (send) =>
      context.octokit.request("GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations", {
        ...context.repo,
        ...{ check_run_id: run, per_page: MOST_ANNOTATIONS },
        ...send,
      }),
    (annotations) =>
      annotations.map(({ path, start_line: line, message }) => ({ path, line, message: message ?? "" })),
  );
}
