/** Probot's webhook middleware with its signature check, made from the app's credentials. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { createNodeMiddleware, type Logger, Probot, ProbotOctokit } from "probot";
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
    Octokit: ProbotOctokit.defaults({ authStrategy: noCredentials }),
  });
  const middleware = await createNodeMiddleware(async (app) => registerRoutes(app, edge), {
    probot,
    webhooksPath: WEBHOOK_PATH,
  });
  return async (request, response) => {
    await middleware(request, response);
  };
}

/**
 * Probot makes a client for the installation of each event, with a token for all its repositories in reach. Nothing here uses it,
 * so that each event gets one and the same client, which costs nothing and can send nothing.
 */
function noCredentials({ octokit }: { readonly octokit: unknown }): object {
  const hook = async () => {
    throw new Error("a webhook's own client sends nothing; ask the GitHub port");
  };
  return Object.assign(async () => octokit, { hook });
}
