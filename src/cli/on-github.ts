/** How a run talks and fetches when its issue is on GitHub. */

import type { Clock } from "#src/base/clock.ts";
import { githubConversation } from "#src/fix/github-conversation.ts";
import { TokenHeldBack } from "#src/fix/held-back.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import type { GitHubApp } from "#src/github/github-app.ts";
import type { PlaceParts } from "./ports.ts";

/** A repository that was renamed is fetched from where it is now: git is not allowed to follow redirects. */
export function followMoves(ports: FixPorts, app: GitHubApp): FixPorts {
  const { workspaces } = ports;
  const fetch: typeof workspaces.fetch = ({ id, cloneUrl }, ...rest) =>
    workspaces.fetch({ id, cloneUrl: app.placeOf(id)?.cloneUrl ?? cloneUrl }, ...rest);
  return { ...ports, workspaces: { ...workspaces, fetch } };
}

export function onGitHub(app: GitHubApp, clock: Clock): PlaceParts {
  return {
    converse: (request, signal) => githubConversation({ app, request, clock, signal }),
    gitToken: (request) => async (renew) => {
      const { id, owner, name } = request.repository;
      const token = await app.gitToken(request.installationId, { id, owner, name }, renew);
      if (!token.ok && token.error.code === "rate_limited") throw new TokenHeldBack(token.error);
      return token.ok ? token.value : null;
    },
    tracePlace: (runId) => `agent-fix trace ${runId}`,
    localRepositories: [],
  };
}
