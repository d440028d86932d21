/** The product's own HTTP server: body limit, health, and the handlers that are put in while it runs. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Clock, deadline } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import { WEBHOOK_PATH } from "./webhooks.ts";

/** GitHub caps payloads at 25 MB. */
const MAX_BODY_BYTES = 25 * 1024 * 1024;

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** What answers, and may be exchanged without a restart (set-up page first, webhooks later). Null: 404. */
export interface Handlers {
  webhooks: Handler | null;
  setup: Handler | null;
  /** True when store and queue can be reached. */
  ready: () => Promise<boolean>;
}

export interface RunningServer {
  /** `http://host:port`, with the port that was taken. */
  readonly url: string;
  /** Stops listening and waits for open requests, at most `deadlineMs`. */
  close(deadlineMs: number): Promise<void>;
}

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly handlers: Handlers;
  readonly clock: Clock;
  readonly log: Log;
}

/** Rejects when the address cannot be listened on, with a sentence that says what to change. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      options.log.error({ err: error }, "a request could not be answered");
      if (!response.headersSent) plain(response, 500, "internal error");
      else response.destroy();
    });
  });
  server.requestTimeout = 30_000;
  server.headersTimeout = 10_000;
  // Longer than a proxy in front keeps a connection (60 s is usual), so that it is not the one that finds it closed and loses a webhook.
  server.keepAliveTimeout = 75_000;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    close: (deadlineMs) => close(server, deadline(options.clock, deadlineMs)),
  };
}

function listen(server: Server, { host, port }: ServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const why =
        error.code === "EADDRINUSE"
          ? `port ${port} on ${host} is taken: stop what uses it, or set PORT to another`
          : `cannot listen on ${host}:${port} (${error.code ?? error.message}): check HOST and PORT`;
      reject(new Error(why));
    });
    server.listen(port, host, () => resolve());
  });
}

function close(server: Server, limit: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    limit.addEventListener("abort", () => server.closeAllConnections());
  });
}

async function answer(
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = URL.parse(request.url ?? "/", "http://localhost")?.pathname;
  const { handlers } = options;
  response.setHeader("x-content-type-options", "nosniff");
  if (path === undefined) return plain(response, 400, "that is no address");
  if (path === "/healthz") return plain(response, 200, "ok");
  if (path === "/readyz") {
    const ready = await handlers.ready();
    return plain(response, ready ? 200 : 503, ready ? "ready" : "not ready");
  }
  if (path === WEBHOOK_PATH) return webhook(handlers.webhooks, request, response);
  if ((path === "/" || path === "/setup" || path.startsWith("/setup/")) && handlers.setup !== null)
    return handlers.setup(request, response);
  return plain(response, 404, "not found");
}

async function webhook(
  handler: Handler | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (handler === null) return plain(response, 503, "the app is not set up yet");
  if (request.method !== "POST") return plain(response, 405, "webhooks are sent by POST");
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? ""))
    return plain(response, 415, "set the webhook's content type to application/json");
  const body = await readBody(request);
  if (body === null) return plain(response, 413, `at most ${MAX_BODY_BYTES} bytes are taken`);
  // The middleware takes any JSON for an event, and fails on one that is no object.
  if (!body.trimStart().startsWith("{")) return plain(response, 400, "a webhook's body is a JSON object");
  // The middleware takes the text as it came, so that the signature is checked over exactly the bytes that were sent.
  (request as IncomingMessage & { body?: string }).body = body;
  return handler(request, response);
}

/** The body as text; null when it is larger than the limit. Nothing past the limit is kept. Rejects when the sender goes away. */
export async function readBody(
  request: IncomingMessage,
  max: number = MAX_BODY_BYTES,
): Promise<string | null> {
  if (Number(request.headers["content-length"] ?? 0) > max) return null;
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop ends the connection, for a sender that would go on for ever.
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > max) return null;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

export function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  response.end(`${text}\n`);
}
