/** Routes of repositories and people: the repository itself, a person's permission, a person. */

import { collaboratorShape, publicUserShape } from "../account-shapes.ts";
import { notFound, ok } from "../answers.ts";
import { fullRepositoryShape } from "../repository-shapes.ts";
import { param, type Route, repositoryRoute } from "../router.ts";
import { roleIn } from "../state.ts";

export const repositoryRoutes: readonly Route[] = [
  repositoryRoute("GET", "/repos/{owner}/{repo}", [["metadata", "read"]], (call) =>
    ok(fullRepositoryShape(call.hub.urls, call.repository)),
  ),
  repositoryRoute(
    "GET",
    "/repos/{owner}/{repo}/collaborators/{username}/permission",
    [["metadata", "read"]],
    (call) => {
      const account = call.hub.state.accounts.get(param(call, "username").toLowerCase());
      if (account === undefined) throw notFound();
      return ok(collaboratorShape(call.hub.urls, account, roleIn(call.repository, account)));
    },
  ),
  {
    method: "GET",
    template: "/users/{username}",
    handle: (call) => {
      const account = call.hub.state.accounts.get(param(call, "username").toLowerCase());
      if (account === undefined) throw notFound();
      return ok(publicUserShape(call.hub.urls, account));
    },
  },
];
