/** Serves the bare repositories over git's smart HTTP protocol by `git http-backend`, with GitHub's rules on who may. */

import { spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";
import { allows, type Caller, coversRepository, identify } from "./access.ts";
import { Refusal } from "./answers.ts";
import type { FaultKind, Faults } from "./faults.ts";
import { GIT_ENVIRONMENT } from "./git.ts";
import { gitOf, type Hub } from "./hub.ts";
import { branchMoved } from "./pull-actions.ts";
import { repositoryHtml } from "./repository-shapes.ts";
import { findRepository, type Installation, movedRepository, type Repository } from "./state.ts";

/** One ref that a push over HTTP changed. */
export interface Push {
  readonly repository: string;
  readonly ref: string;
  /** Null: created. */
  readonly before: string | null;
  /** Null: deleted. */
  readonly after: string | null;
  readonly by: string;
}

export interface GitHttp {
  /** True when the address is a repository's and the answer is on its way. */
  handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean>;
  pushes(): readonly Push[];
  /** Every request for a repository, met by a fault or not, oldest first. */
  requests(): readonly GitRequest[];
}

export interface GitRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

const ADDRESS =
  /^\/([^/]+)\/([^/]+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack|HEAD|objects\/.+)$/;

export function createGitHttp(hub: Hub, faults: Faults): GitHttp {
  const pushes: Push[] = [];
  const requests: GitRequest[] = [];
  return {
    pushes: () => [...pushes],
    requests: () => [...requests],
    handle: async (request, response, url) => {
      const match = ADDRESS.exec(decodeURI(url.pathname));
      if (match === null) return false;
      const { method = "GET" } = request;
      requests.push({ method, path: url.pathname });
      const fault = faults.take(method, url.pathname);
      if (fault !== null) return meet(fault, response);
      const [, owner = "", name = "", rest = ""] = match;
      const repository = findRepository(hub.state, owner, name);
      const service = url.searchParams.get("service") ?? rest;
      const isPush = service === "git-receive-pack";
      const caller = callerOf(hub, request.headers.authorization);
      const refusal = refusalOf(caller, repository, isPush);
      const moved = repository === null ? movedRepository(hub.state, owner, name) : null;
      if (moved !== null) return redirected(response, { hub, moved, rest, search: url.search });
      if (refusal !== null || repository === null) {
        refuseGit(response, refusal ?? 404);
        return true;
      }
      const git = gitOf(hub, repository);
      const before = isPush ? await git.refs() : new Map<string, string>();
      const endAnswer = await runBackend({
        hub,
        repository,
        request,
        response,
        rest,
        query: url.search.slice(1),
      });
      try {
        if (rest === "git-receive-pack" && caller !== null && caller.kind === "installation")
          await recordPush(hub, pushes, {
            repository,
            fullName: `${owner}/${name}`,
            app: caller.token.installation.app,
            before,
          });
      } finally {
        endAnswer();
      }
      return true;
    },
  };
}

/** GitHub leads from a former name to the present one. */
function redirected(
  response: ServerResponse,
  to: { readonly hub: Hub; readonly moved: Repository; readonly rest: string; readonly search: string },
): true {
  const location = `${repositoryHtml(to.hub.urls, to.moved)}.git/${to.rest}${to.search}`;
  response.writeHead(301, { location }).end();
  return true;
}

interface Pushed {
  readonly repository: Repository;
  readonly fullName: string;
  readonly app: Installation["app"];
  /** The refs before it. */
  readonly before: ReadonlyMap<string, string>;
}

/** Puts every ref that moved on record, and tells pull requests and webhooks of branches. */
async function recordPush(
  hub: Hub,
  pushes: Push[],
  { repository, fullName, app, before }: Pushed,
): Promise<void> {
  const after = await gitOf(hub, repository).refs();
  for (const ref of new Set([...before.keys(), ...after.keys()])) {
    const move = { before: before.get(ref) ?? null, after: after.get(ref) ?? null };
    if (move.before === move.after) continue;
    pushes.push({ repository: fullName, ref, ...move, by: app.bot.login });
    if (!ref.startsWith("refs/heads/")) continue;
    const branch = { name: ref.slice("refs/heads/".length), sha: move.after, before: move.before };
    await branchMoved(hub, repository, { account: app.bot, app }, branch);
  }
}

/** Over git's protocol a planned fault always comes before any effect. */
function meet(fault: FaultKind, response: ServerResponse): true {
  if (fault.kind === "status") {
    response.writeHead(fault.status, { "content-type": "text/plain", ...fault.headers });
    response.end(typeof fault.body === "string" ? fault.body : JSON.stringify(fault.body ?? ""));
  } else if (fault.kind !== "hang") response.destroy();
  return true;
}

/** Null: credentials that are not valid. */
function callerOf(hub: Hub, authorization: string | undefined): Caller | null {
  try {
    return identify(hub.state, authorization, hub.clock.now());
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** The status to refuse with, or null. Without credentials git is told to send some, whether or not the repository exists. */
function refusalOf(caller: Caller | null, repository: Repository | null, isPush: boolean): number | null {
  if (caller === null || caller.kind === "app") return 401;
  const readable = repository !== null && !repository.private && !isPush;
  if (caller.kind === "anonymous") return readable ? null : 401;
  if (repository === null) return 404;
  const { token } = caller;
  if (!coversRepository(token, repository))
    return readable ? null : isPush && !repository.private ? 403 : 404;
  if (token.installation.suspension !== null) return 403;
  return readable || allows(token.permissions, "contents", isPush ? "write" : "read") ? null : 403;
}

function refuseGit(response: ServerResponse, status: number): void {
  const words: Readonly<Record<number, string>> = {
    401: "Authentication required",
    403: "Write access to repository not granted.",
    404: "Repository not found.",
  };
  const headers = status === 401 ? { "www-authenticate": 'Basic realm="GitHub"' } : {};
  response.writeHead(status, { "content-type": "text/plain", connection: "close", ...headers });
  response.end(`${words[status] ?? "Refused"}\n`);
}

interface Backend {
  readonly hub: Hub;
  readonly repository: Repository;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly rest: string;
  readonly query: string;
}

function environmentOf(backend: Backend): Record<string, string> {
  const { headers, method } = backend.request;
  const optional = {
    CONTENT_LENGTH: headers["content-length"],
    CONTENT_TYPE: headers["content-type"],
    HTTP_CONTENT_ENCODING: headers["content-encoding"],
    GIT_PROTOCOL: headers["git-protocol"],
  };
  const given = Object.entries(optional).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return {
    ...GIT_ENVIRONMENT,
    GIT_PROJECT_ROOT: backend.hub.gitRoot,
    GIT_HTTP_EXPORT_ALL: "1",
    PATH_INFO: `/${backend.repository.id}.git/${backend.rest}`,
    QUERY_STRING: backend.query,
    REQUEST_METHOD: method ?? "GET",
    REMOTE_USER: "app",
    REMOTE_ADDR: "127.0.0.1",
    ...Object.fromEntries(given),
  };
}

/** Resolves when the program has ended, with the way to end the answer: who pushed hears of it once the push is on record. */
function runBackend(backend: Backend): Promise<() => void> {
  const { request, response } = backend;
  return new Promise((resolve) => {
    const child = spawn("git", ["http-backend"], { env: environmentOf(backend) });
    let head: Buffer | null = Buffer.alloc(0);
    // Either side may go away early; the exit of the program then ends the answer.
    child.stdin.on("error", () => undefined);
    child.stderr.resume();
    request.pipe(child.stdin);
    response.on("close", () => {
      if (!response.writableFinished) child.kill("SIGKILL");
    });
    child.stdout.on("data", (chunk: Buffer) => {
      if (head === null) return void response.write(chunk);
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      writeHead(response, head.subarray(0, end).toString("latin1"));
      response.write(head.subarray(end + 4));
      head = null;
    });
    const finish = () => {
      if (head !== null && !response.headersSent) response.writeHead(500);
      resolve(() => response.end());
    };
    child.on("error", finish);
    child.on("close", finish);
  });
}

/** A CGI program's header: ordinary lines, with the status among them. */
function writeHead(response: ServerResponse, head: string): void {
  let status = 200;
  for (const line of head.split("\r\n")) {
    const at = line.indexOf(":");
    const [name, value] = [line.slice(0, at), line.slice(at + 1).trim()];
    if (name.toLowerCase() === "status") status = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.writeHead(status);
}
