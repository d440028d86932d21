/** The issue in which the app introduces itself: looked for first, since one is enough. */

import { err, ok, type Result } from "#src/base/result.ts";
import { ONBOARDING_TITLE } from "#src/gate/onboarding.ts";
import type { GitHub } from "#src/github/github.ts";
import type { GitHubApp } from "#src/github/github-app.ts";
import type { Place } from "./installed-place.ts";

/** An open issue of ours stands for a new one; null: there is none. */
export async function standingIntroduction(
  app: GitHubApp,
  place: Place,
): Promise<Result<string | null, string>> {
  const own = await repositoryOf(app, place).ownIssues();
  if (!own.ok) return err(own.error.message);
  const open = own.value.find(({ title }) => title === ONBOARDING_TITLE);
  return ok(
    open === undefined
      ? null
      : `The repository has this issue already: ${open.url}\nClose it first to have another one.`,
  );
}

/** Opens it; the sentence names its address. */
export async function postIntroduction(
  app: GitHubApp,
  place: Place,
  body: string,
): Promise<Result<string, string>> {
  const created = await repositoryOf(app, place).createIssue(ONBOARDING_TITLE, body);
  return created.ok ? ok(`Opened ${created.value.url}`) : err(created.error.message);
}

function repositoryOf(app: GitHubApp, { installationId, repository }: Place): GitHub {
  return app.repository(installationId, repository, "read");
}
