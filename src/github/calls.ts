/** What the calls on one repository share: whom they act for, and read and write as two words. */

import type { Octokit } from "@octokit/rest";
import type { GitHubApp, GitHubResult } from "./github.ts";
import type { Answer, Call, Sender, SendOptions } from "./requests.ts";

type Run = <T, R>(
  send: (options: SendOptions) => Promise<Answer<T>>,
  shape: (data: T, answer: Answer<T>) => R,
) => GitHubResult<R>;

export interface Caller {
  /** Sent again after server and network failures. */
  readonly read: Run;
  /** Sent once; again only when GitHub said that nothing was done (401, rate limit). */
  readonly write: Run;
}

export interface CallContext extends Caller {
  readonly octokit: Octokit;
  readonly repo: { readonly owner: string; readonly repo: string };
  readonly repositoryId: number;
  readonly identity: GitHubApp["identity"];
}

export function createCaller(
  send: Sender,
  authorize: Call<unknown, unknown>["authorize"],
  signal: AbortSignal | undefined,
): Caller {
  return {
    read: (request, shape) => send({ kind: "read", signal, authorize, send: request, shape }),
    write: (request, shape) => send({ kind: "write", signal, authorize, send: request, shape }),
  };
}

/** For answers whose body is not needed. */
export function nothing(): null {
  return null;
}
