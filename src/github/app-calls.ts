/** The calls of the app itself: its webhook deliveries, its installations and their repositories. */

import type { Octokit } from "@octokit/rest";
import { ok } from "#src/base/result.ts";
import { type Caller, everyPage, nothing, PAGE, pageOf } from "./calls.ts";
import type { GitHubResult } from "./github.ts";
import type { GitHubApp, HookAttempt } from "./github-app.ts";

interface AppCallParts {
  readonly octokit: Octokit;
  /** With the app's own authorization. */
  readonly asApp: Caller;
  /** With a token for all repositories of that installation. */
  readonly asInstallation: (installationId: number) => Caller;
}

const MAX_ATTEMPTS_READ = 2_000;

export function appCalls(
  parts: AppCallParts,
): Pick<GitHubApp, "hookAttempts" | "redeliver" | "installations" | "repositories"> {
  const { octokit, asApp } = parts;
  return {
    hookAttempts: (since) => hookAttempts(parts, since),
    redeliver: (attemptId) =>
      asApp.write(
        (send) =>
          octokit.request("POST /app/hook/deliveries/{delivery_id}/attempts", {
            delivery_id: attemptId,
            ...send,
          }),
        nothing,
      ),
    installations: () =>
      everyPage((page) =>
        asApp.read(
          (send) => octokit.request("GET /app/installations", { per_page: PAGE, page, ...send }),
          (installations, answer) =>
            pageOf(
              installations.map(({ id, account, suspended_at, created_at }) => ({
                id,
                account: account !== null && "login" in account ? account.login : "",
                suspended: (suspended_at ?? null) !== null,
                createdAt: Date.parse(created_at),
              })),
              answer,
            ),
        ),
      ),
    repositories: (installationId) => {
      const caller = parts.asInstallation(installationId);
      return everyPage((page) =>
        caller.read(
          (send) => octokit.request("GET /installation/repositories", { per_page: PAGE, page, ...send }),
          ({ repositories }, answer) =>
            pageOf(
              repositories.map((repository) => ({
                id: Number(repository.id),
                owner: repository.owner.login,
                name: repository.name,
                cloneUrl: repository.clone_url,
                defaultBranch: repository.default_branch,
                private: repository.private,
                archived: repository.archived,
              })),
              answer,
            ),
        ),
      );
    },
  };
}

/** The list has no page numbers, only a cursor in its Link header, so that what comes in meanwhile shifts nothing. */
async function hookAttempts(
  { octokit, asApp }: AppCallParts,
  since: number,
): GitHubResult<readonly HookAttempt[]> {
  const found: HookAttempt[] = [];
  let cursor: string | undefined;
  do {
    const page = await asApp.read(
      (send) =>
        octokit.request("GET /app/hook/deliveries", {
          per_page: PAGE,
          ...(cursor === undefined ? {} : { cursor }),
          ...send,
        }),
      (attempts, answer) => ({
        attempts: attempts.map((attempt) => ({
          id: Number(attempt.id),
          guid: attempt.guid,
          event: attempt.action === null ? attempt.event : `${attempt.event}.${attempt.action}`,
          at: Date.parse(attempt.delivered_at),
          arrived: attempt.status_code >= 200 && attempt.status_code < 300,
        })),
        next: cursorOf(String(answer.headers.link ?? "")),
      }),
    );
    if (!page.ok) return page;
    found.push(...page.value.attempts.filter(({ at }) => at >= since));
    const oldest = page.value.attempts.at(-1);
    cursor = oldest !== undefined && oldest.at >= since ? page.value.next : undefined;
  } while (cursor !== undefined && found.length < MAX_ATTEMPTS_READ);
  return ok(found.slice(0, MAX_ATTEMPTS_READ));
}

function cursorOf(link: string): string | undefined {
  const next = /<([^>]+)>;\s*rel="next"/.exec(link)?.[1];
  return next === undefined ? undefined : (URL.parse(next)?.searchParams.get("cursor") ?? undefined);
}
