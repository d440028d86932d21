/** What the calls on one repository share: whom they act for, and read and write as two words. */

import type { Octokit } from "@octokit/rest";
import { ok } from "#src/base/result.ts";
import type { GitHubResult } from "./github.ts";
import type { GitHubApp } from "./github-app.ts";
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
  of: Pick<Call<unknown, unknown>, "authorize" | "signal" | "budget">,
): Caller {
  return {
    read: (request, shape) => send({ ...of, kind: "read", send: request, shape }),
    write: (request, shape) => send({ ...of, kind: "write", send: request, shape }),
  };
}

/** GitHub's largest page. */
export const PAGE = 100;

export interface Page<T> {
  readonly items: readonly T[];
  readonly more: boolean;
}

/** One page as read; GitHub's Link header and not a count decides where the list ends. */
export function pageOf<T>(items: readonly T[], answer: Pick<Answer<unknown>, "headers">): Page<T> {
  return { items, more: items.length > 0 && /rel="next"/.test(String(answer.headers.link ?? "")) };
}

/** Every entry of a list, lowest id first; one that comes twice, because another was deleted between two pages, counts once. */
export async function everyPage<T extends { readonly id: number }>(
  ask: (page: number) => GitHubResult<Page<T>>,
): GitHubResult<readonly T[]> {
  const found = new Map<number, T>();
  for (let page = 1; ; page++) {
    const answer = await ask(page);
    if (!answer.ok) return answer;
    for (const item of answer.value.items) found.set(item.id, item);
    if (!answer.value.more) return ok([...found.values()].sort((a, b) => a.id - b.id));
  }
}

interface Author {
  /** The client's types allow a bigint; GitHub's ids are far below 2^53. */
  readonly performed_via_github_app?: { readonly id: number | bigint } | null | undefined;
  readonly user: { readonly login: string; readonly type: string } | null;
}

/**
 * True for what was written with a token of our app. An app's own comments carry its bot as the author; a person
 * who comments through the app by a user token is not us, so the author must be a bot in each case.
 */
export function isOurs(comment: Author, app: { readonly appId: number; readonly botLogin: string }): boolean {
  if (comment.user?.type !== "Bot") return false;
  const via = comment.performed_via_github_app?.id;
  return via === undefined ? comment.user.login === app.botLogin : Number(via) === app.appId;
}

/** For answers whose body is not needed. */
export function nothing(): null {
  return null;
}
