/** Probot's webhook middleware with its signature check, made from the app's credentials. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { createNodeMiddleware, type Logger, Probot } from "probot";
import type { Log } from "#src/base/log.ts";
import type { AppCredentials } from "#src/config/config.ts";
import type { Edge } from "./edge.ts";
import { registerRoutes } from "./routes.ts";

export const WEBHOOK_PATH = "/api/github/webhooks";

export type Middleware = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface WebhookOptions {
  readonly credentials: AppCredentials;
  readonly apiUrl: string;
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
  /** A pino logger: Probot makes children of it. */
  readonly log: Log;
  readonly edge: Edge;
}

/** A handler for requests to `WEBHOOK_PATH` whose body was already read into `request.body` as text. */
export async function createWebhookMiddleware(options: WebhookOptions): Promise<Middleware> {
  const { credentials, edge } = options;
  const probot = new Probot({
    appId: credentials.appId,
    privateKey: credentials.privateKey,
    secret: credentials.webhookSecret,
    baseUrl: options.apiUrl,
    logLevel: options.logLevel,
    log: options.log as Logger,
  });
  const middleware = await createNodeMiddleware(async (app) => registerRoutes(app, edge), {
    probot,
    webhooksPath: WEBHOOK_PATH,
  });
  return async (request, response) => {
    await middleware(request, response);
  };
}
