/** Routes of the app itself: who it is, where it is installed, its tokens. */

import { allows } from "../access.ts";
import { appShape, installationShape, tokenShape } from "../account-shapes.ts";
import { type Answer, created, notFound, ok, paged, refuse, unprocessable } from "../answers.ts";
import { isObject, listOf } from "../json.ts";
import { repositoryShape } from "../repository-shapes.ts";
import { appRoute, type Call, param, type Route } from "../router.ts";
import {
  type AccessToken,
  type App,
  findInstallation,
  findRepository,
  type Installation,
  type Repository,
} from "../state.ts";

export const appRoutes: readonly Route[] = [
  appRoute("GET", "/app", (call, app) => ok(appShape(call.hub.urls, app))),
  appRoute("GET", "/app/installations", (call, app) => {
    const own = [...call.hub.state.installations.values()].filter((entry) => entry.app === app);
    return paged(
      call.query,
      call.url,
      own.map((entry) => installationShape(call.hub.urls, entry)),
    );
  }),
  appRoute("GET", "/app/installations/{installation_id}", (call, app) =>
    ok(installationShape(call.hub.urls, installationOf(call, app))),
  ),
  appRoute("POST", "/app/installations/{installation_id}/access_tokens", mintToken),
  appRoute("GET", "/repos/{owner}/{repo}/installation", (call, app) => {
    const repository = findRepository(call.hub.state, param(call, "owner"), param(call, "repo"));
    const all = repository === null ? [] : findInstallation(call.hub.state, repository);
    const found = all.find((entry) => entry.app === app);
    if (found === undefined) throw notFound();
    return ok(installationShape(call.hub.urls, found));
  }),
  { method: "GET", template: "/installation/repositories", handle: tokenRepositories },
];

function installationOf(call: Call, app: App): Installation {
  const found = call.hub.state.installations.get(Number(param(call, "installation_id")));
  if (found === undefined || found.app !== app) throw notFound();
  return found;
}

function mintToken(call: Call, app: App): Answer {
  const { hub } = call;
  const installation = installationOf(call, app);
  if (installation.suspension !== null) throw refuse(403, "This installation has been suspended");
  const repositories = wantedRepositories(call, installation);
  const token: AccessToken = {
    token: `ghs_${hub.ids.hex(18)}`,
    installation,
    repositoryIds: repositories === null ? null : repositories.map((repository) => repository.id),
    permissions: wantedPermissions(call, installation),
    expiresAt: hub.clock.now() + hub.tokenLifetimeMs,
    revoked: false,
  };
  hub.state.tokens.set(token.token, token);
  return created(
    tokenShape(
      token,
      (repositories ?? []).map((repository) => repositoryShape(hub.urls, repository)),
    ),
  );
}

/** Null: all of the installation's. */
function wantedRepositories(call: Call, installation: Installation): readonly Repository[] | null {
  const own = [...installation.repositoryIds].map((id) => call.hub.state.repositories.get(id));
  if (call.body.repository_ids === undefined && call.body.repositories === undefined) return null;
  const byId = listOf(call.body, "repository_ids").map((id) => own.find((entry) => entry?.id === id));
  const byName = listOf(call.body, "repositories").map((name) =>
    own.find((entry) => entry !== undefined && entry.name === name),
  );
  return [...byId, ...byName].map((repository) => {
    if (repository === undefined)
      throw unprocessable(
        "There is at least one repository that does not exist or is not accessible to the parent installation.",
      );
    return repository;
  });
}

/** Every installation may read metadata, whatever was granted. */
function wantedPermissions(call: Call, installation: Installation): Readonly<Record<string, string>> {
  const granted = { metadata: "read", ...installation.permissions };
  const wanted = call.body.permissions;
  if (!isObject(wanted)) return granted;
  const entries = Object.entries(wanted).map(([name, level]) => [name, String(level)] as const);
  for (const [name, level] of entries)
    if (!allows(granted, name, level === "read" ? "read" : "write"))
      throw unprocessable("The permissions requested are not granted to this installation.");
  return { metadata: "read", ...Object.fromEntries(entries) };
}

function tokenRepositories(call: Call): Answer {
  if (call.caller.kind !== "installation") throw refuse(401, "Requires authentication");
  const { token } = call.caller;
  const ids = token.repositoryIds ?? [...token.installation.repositoryIds];
  const repositories = ids.flatMap((id) => {
    const repository = call.hub.state.repositories.get(id);
    return repository === undefined ? [] : [repositoryShape(call.hub.urls, repository)];
  });
  const page = paged(call.query, call.url, repositories);
  return {
    ...page,
    body: { total_count: repositories.length, repositories: page.body ?? [] },
  };
}
