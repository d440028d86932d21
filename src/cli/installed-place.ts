/** Finds a repository among the app's installations by its name. */

import { err, ok, type Result } from "#src/base/result.ts";
import type { GitHubApp, InstalledRepository } from "#src/github/github-app.ts";
import { missingPermissions, PERMISSIONS } from "#src/github/permissions.ts";

/** A repository that the app is installed on. */
export interface Place {
  readonly installationId: number;
  readonly repository: InstalledRepository;
  /** What a run needs and the installation does not grant. */
  readonly missing: readonly string[];
}

/** `wanted` is `owner/name` in any case; the error says why it is not to be had, and what to do. */
export async function findPlace(app: GitHubApp, wanted: string): Promise<Result<Place, string>> {
  const [owner = "", name = "", ...more] = wanted.toLowerCase().split("/");
  if (owner === "" || name === "" || more.length > 0)
    return err(`--repo takes OWNER/NAME, not ${JSON.stringify(wanted)}`);
  const installations = await app.installations();
  if (!installations.ok) return err(installations.error.message);
  const installation = installations.value.find(({ account }) => account.toLowerCase() === owner);
  if (installation === undefined)
    return err(
      `the app is not installed on ${owner}: install it there (its settings page on GitHub, "Install App")`,
    );
  if (installation.suspended)
    return err(`the installation on ${owner} is suspended: an owner has to take that back`);
  const repositories = await app.repositories(installation.id);
  if (!repositories.ok) return err(repositories.error.message);
  const repository = repositories.value.find(
    (one) => one.name.toLowerCase() === name && one.owner.toLowerCase() === owner,
  );
  if (repository === undefined)
    return err(
      `the installation on ${owner} does not cover ${wanted}: add the repository in its settings on GitHub, or check the name`,
    );
  if (repository.archived) return err(`${wanted} is archived, so that nothing can be written there`);
  const granted = await app.permissions(installation.id);
  if (!granted.ok) return err(granted.error.message);
  return ok({
    installationId: installation.id,
    repository,
    missing: missingPermissions(PERMISSIONS.write, granted.value),
  });
}
