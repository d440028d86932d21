/** The calls on pull requests of one repository. */

import { type CallContext, nothing } from "./calls.ts";
import type { GitHub, PullRequest } from "./github.ts";

export function pullCalls(
  context: CallContext,
): Pick<GitHub, "pullRequestOf" | "createPullRequest" | "closePullRequest"> {
  const { octokit, repo, repositoryId, read, write } = context;
  return {
    pullRequestOf: (branch) =>
      read(
        (send) =>
          octokit.request("GET /repos/{owner}/{repo}/pulls", {
            ...repo,
            head: `${repo.owner}:${branch}`,
            state: "all",
            per_page: 100,
            ...send,
          }),
        (pulls) => {
          // GitHub ignores a head filter that it cannot read and then lists everything.
          const ours = pulls.filter(
            (pull) => pull.head.ref === branch && pull.head.repo?.id === repositoryId,
          );
          const chosen = ours.find((pull) => pull.state === "open") ?? ours[0];
          return chosen === undefined ? null : toPullRequest(chosen);
        },
      ),
    createPullRequest: (request) =>
      write(
        (send) => octokit.request("POST /repos/{owner}/{repo}/pulls", { ...repo, ...request, ...send }),
        toPullRequest,
      ),
    closePullRequest: (number) =>
      write(
        (send) =>
          octokit.request("PATCH /repos/{owner}/{repo}/pulls/{pull_number}", {
            ...repo,
            pull_number: number,
            state: "closed",
            ...send,
          }),
        nothing,
      ),
  };
}

function toPullRequest(pull: {
  readonly number: number;
  readonly html_url: string;
  readonly state: string;
  readonly head: { readonly sha: string };
}): PullRequest {
  return {
    number: pull.number,
    url: pull.html_url,
    state: pull.state === "open" ? "open" : "closed",
    headSha: pull.head.sha,
  };
}
