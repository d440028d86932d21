/** One GraphQL request, for what the REST interface does not tell. */

import type { Octokit } from "@octokit/rest";
import type { Answer, SendOptions } from "./requests.ts";

/** GHES serves REST under `/api/v3` and GraphQL under `/api/graphql`; github.com serves both at the root of its API. */
export function graphql(
  octokit: Octokit,
  asked: { readonly query: string; readonly variables: Readonly<Record<string, unknown>> },
  send: SendOptions,
): Promise<Answer<unknown>> {
  const { baseUrl } = octokit.request.endpoint.DEFAULTS;
  return octokit.request("POST /graphql", {
    ...asked,
    ...send,
    baseUrl: baseUrl.replace(/\/api\/v3\/?$/, "/api"),
  });
}
