/** How the app stands with an installation or repository by GitHub's word of now: events about that come late, twice and in any order. */

import type { Octokit } from "@octokit/rest";
import { ok } from "#src/base/result.ts";
import type { Caller } from "./calls.ts";
import type { GitHubResult } from "./github.ts";
import type { GitHubApp, Reach, Standing } from "./github-app.ts";
import type { Reaches } from "./reach.ts";

interface StandingParts extends Pick<Reaches, "lost" | "regained">, Pick<GitHubApp, "repositories"> {
  readonly octokit: Octokit;
  readonly asApp: Caller;
}

/** Asks past what was noted, and notes the answer. */
export async function standingOf(parts: StandingParts, reach: Reach): GitHubResult<Standing> {
  const { installationId, repositoryId } = reach;
  const whole: Reach = { installationId, repositoryId: null };
  const installation = await installationOf(parts, installationId);
  if (!installation.ok) return installation;
  if (installation.value !== "stands") return noted(parts, whole, installation.value);
  parts.regained(whole);
  if (repositoryId === null) return installation;
  const repositories = await parts.repositories(installationId);
  if (!repositories.ok) return repositories;
  const repository = repositories.value.find(({ id }) => id === repositoryId);
  if (repository === undefined) return noted(parts, reach, "not_found");
  if (repository.archived) return noted(parts, reach, "suspended");
  parts.regained(reach);
  return ok("stands");
}

async function installationOf(
  { octokit, asApp }: StandingParts,
  installationId: number,
): GitHubResult<Standing> {
  const found = await asApp.read(
    (send) =>
      octokit.request("GET /app/installations/{installation_id}", {
        installation_id: installationId,
        ...send,
      }),
    ({ suspended_at: suspendedAt }): Standing => ((suspendedAt ?? null) === null ? "stands" : "suspended"),
  );
  return !found.ok && found.error.status === 404 ? ok("not_found") : found;
}

async function noted(
  { lost }: StandingParts,
  reach: Reach,
  why: Exclude<Standing, "stands">,
): GitHubResult<Standing> {
  lost(reach, why);
  return ok(why);
}
