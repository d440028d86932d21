/** A real smart-HTTP git server for tests: `git http-backend` behind Basic authentication, with a hook to misbehave. */

import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

export interface GitRequest {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | null;
}

export interface GitServer {
  /** E.g. `http://127.0.0.1:41234`, without a slash at the end. */
  readonly url: string;
  /** Host and port, as in a list of allowed hosts. */
  readonly host: string;
  /** Directory that holds the bare repositories, e.g. `owner/name.git`. */
  readonly root: string;
  /** Tokens let in as the password of `x-access-token`; null lets everybody in. */
  tokens: Set<string> | null;
  readonly requests: readonly GitRequest[];
  /** Called before each answer; answers itself by returning true. May wait. */
  before: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

function basicPassword(header: string | undefined): string | null {
  const [scheme, value] = (header ?? "").split(" ");
  if (scheme !== "Basic" || value === undefined) return null;
  const [user, ...password] = Buffer.from(value, "base64").toString("utf8").split(":");
  return user === "x-access-token" ? password.join(":") : null;
}

/** Runs the CGI program and copies its answer: a header block, an empty line, the body. */
function runBackend(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "http://localhost");
  const header = (name: string) => String(request.headers[name] ?? "");
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_PROTOCOL: header("git-protocol"),
      REQUEST_METHOD: request.method ?? "GET",
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: header("content-type"),
      REMOTE_USER: "test",
      REMOTE_ADDR: "127.0.0.1",
      ...(request.headers["content-length"] ? { CONTENT_LENGTH: header("content-length") } : {}),
      ...(request.headers["content-encoding"] ? { HTTP_CONTENT_ENCODING: header("content-encoding") } : {}),
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin);
  // A client that went away or a backend that had enough: the other side's end says so.
  child.stdin.on("error", () => child.kill());
  response.on("close", () => child.kill());
  return new Promise((resolve) => {
    let head: Buffer | null = Buffer.alloc(0);
    child.stdout.on("data", (chunk: Buffer) => {
      if (head === null) {
        response.write(chunk);
        return;
      }
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      let status = 200;
      for (const line of head.subarray(0, end).toString("latin1").split("\r\n")) {
        const [name = "", ...value] = line.split(": ");
        if (name === "Status") status = Number.parseInt(value.join(": "), 10);
        else response.setHeader(name, value.join(": "));
      }
      response.writeHead(status);
      response.write(head.subarray(end + 4));
      head = null;
    });
    child.on("close", () => {
      response.end();
      resolve();
    });
  });
}

/** Listens on a free port of the loopback interface. */
export async function startGitServer(root: string): Promise<GitServer> {
  const requests: GitRequest[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { authorization } = request.headers;
    requests.push({
      method: request.method ?? "",
      url: request.url ?? "",
      authorization: authorization ?? null,
    });
    if (await server.before(request, response)) return;
    const password = basicPassword(authorization);
    if (server.tokens !== null && (password === null || !server.tokens.has(password))) {
      response.writeHead(401, { "WWW-Authenticate": 'Basic realm="git"' }).end("Bad credentials");
      return;
    }
    await runBackend(root, request, response);
  };
  const http = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      http.close(() => resolve());
      http.closeAllConnections();
    });
  const server: GitServer = {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    root: join(root),
    tokens: null,
    requests,
    before: async () => false,
    close,
    [Symbol.asyncDispose]: close,
  };
  return server;
}
