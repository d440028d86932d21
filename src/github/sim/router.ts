/** The route table of the embedded GitHub: templates in GitHub's spelling, and the checks that every repository route shares. */

import { type Caller, type Needs, requireAccess } from "./access.ts";
import { type Answer, notFound, type Refusal, refuse } from "./answers.ts";
import type { Actor, Hub } from "./hub.ts";
import type { JsonObject } from "./json.ts";
import { type App, findRepository, movedRepository, type Repository } from "./state.ts";

export interface Call {
  readonly hub: Hub;
  /** Decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Full address without the query, for Link headers. */
  readonly url: string;
  /** Empty when there was none. */
  readonly body: JsonObject;
  readonly caller: Caller;
}

export interface RepositoryCall extends Call {
  readonly repository: Repository;
  readonly actor: Actor;
}

export interface Route {
  readonly method: string;
  /** As in GitHub's description: `/repos/{owner}/{repo}/git/ref/{ref}`. */
  readonly template: string;
  readonly handle: (call: Call) => Answer | Promise<Answer>;
}

/** A route on one repository; refuses before `handle` when the caller may not see it or lacks what it `needs`. */
export function repositoryRoute(
  method: string,
  template: string,
  needs: Needs,
  handle: (call: RepositoryCall) => Answer | Promise<Answer>,
): Route {
  return {
    method,
    template,
    handle: (call) => {
      const repository = findRepository(call.hub.state, param(call, "owner"), param(call, "repo"));
      if (repository === null) throw elsewhere(call, method);
      requireAccess(call.caller, repository, needs);
      return handle({ ...call, repository, actor: actorOf(call) });
    },
  };
}

/** GitHub leads to where a renamed or transferred repository is now, by its id; only reads may change their method on the way. */
function elsewhere(call: Call, method: string): Refusal {
  const moved = movedRepository(call.hub.state, param(call, "owner"), param(call, "repo"));
  if (moved === null) return notFound();
  const api = call.hub.urls.api;
  const below = call.url.slice(`${api}/repos/${param(call, "owner")}/${param(call, "repo")}`.length);
  const query = call.query.size === 0 ? "" : `?${call.query}`;
  const status = method === "GET" ? 301 : 307;
  return refuse(status, status === 301 ? "Moved Permanently" : "Temporary Redirect", {
    location: `${api}/repositories/${moved.id}${below}${query}`,
  });
}

/** A route for an app's JWT only. */
export function appRoute(
  method: string,
  template: string,
  handle: (call: Call, app: App) => Answer | Promise<Answer>,
): Route {
  return {
    method,
    template,
    handle: (call) => {
      if (call.caller.kind !== "app") throw refuse(401, "A JSON web token could not be decoded");
      return handle(call, call.caller.app);
    },
  };
}

/** Anonymous readers act for nobody; the account is never used then, since every write needs a token. */
function actorOf(call: Call): Actor {
  if (call.caller.kind === "installation") {
    const { app } = call.caller.token.installation;
    return { account: app.bot, app };
  }
  return { account: { id: 0, login: "anonymous", type: "User" }, app: null };
}

/** The template guarantees its parameters; an empty text is a fault in a route's template. */
export function param(call: Call, name: string): string {
  return call.params[name] ?? "";
}

/** Names whose values may hold slashes, sent plainly or as %2F. */
const GREEDY = new Set(["ref", "path"]);

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the first route whose template fits; `path` is still encoded. */
export function createRouter(routes: readonly Route[]): (method: string, path: string) => Match | null {
  const compiled = routes.map((route) => ({ route, pattern: patternOf(route.template) }));
  return (method, path) => {
    for (const { route, pattern } of compiled) {
      const match = route.method === method ? pattern.exec(path) : null;
      if (match === null) continue;
      const params = Object.entries(match.groups ?? {}).map(([name, value]) => [name, decoded(value)]);
      return { route, params: Object.fromEntries(params) };
    }
    return null;
  };
}

function patternOf(template: string): RegExp {
  const source = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    GREEDY.has(name) ? `(?<${name}>.+)` : `(?<${name}>[^/]+)`,
  );
  return new RegExp(`^${source}$`);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
