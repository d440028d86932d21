/** The embedded GitHub: REST, signed webhooks and git over HTTP on one loopback port, over real bare repositories. */

import { mkdir } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import { messageOf } from "#src/base/result.ts";
import type { Exchange } from "./exchanges.ts";
import { createFaults, type Fault } from "./faults.ts";
import { createGitHttp, type GitRequest, type Push } from "./git-http.ts";
import { graphqlRoutes } from "./graphql.ts";
import type { Hub } from "./hub.ts";
import { createIssueControls, type IssueControls } from "./issue-controls.ts";
import { createLifecycleControls, type LifecycleControls } from "./lifecycle-controls.ts";
import { type AppSettings, createManifests, registerApp } from "./manifest.ts";
import { createRelatedControls, type RelatedControls } from "./related-controls.ts";
import { createRepositoryControls, type RepositoryControls } from "./repository-controls.ts";
import { answerRest } from "./rest.ts";
import { createRouter } from "./router.ts";
import { appRoutes } from "./routes/app.ts";
import { commentRoutes } from "./routes/comments.ts";
import { deliveryRoutes } from "./routes/deliveries.ts";
import { gitDataRoutes } from "./routes/git-data.ts";
import { issueRoutes } from "./routes/issues.ts";
import { pullRoutes } from "./routes/pulls.ts";
import { refRoutes } from "./routes/refs.ts";
import { relatedRoutes } from "./routes/related.ts";
import { repositoryRoutes } from "./routes/repositories.ts";
import { type AccessToken, createState } from "./state.ts";
import { createWebhooks, type Webhooks } from "./webhooks.ts";

export interface EmbeddedGitHubOptions {
  /** Holds the bare repositories; made when missing. */
  readonly dataDir: string;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Absent: no app is registered yet; the manifest flow can register one. */
  readonly app?: AppSettings;
  /** Default: one hour, as on GitHub. */
  readonly tokenLifetimeMs?: number;
  /** PEM of a key and its certificate for 127.0.0.1: it speaks https then. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Port on 127.0.0.1; default 0, any free one. */
  readonly port?: number;
  /** Called for every REST exchange, for contract checks. */
  readonly onExchange?: (exchange: Exchange) => void;
}

export interface EmbeddedGitHub
  extends IssueControls,
    RepositoryControls,
    LifecycleControls,
    RelatedControls {
  /** `127.0.0.1:PORT`, what GHE_HOST takes. */
  readonly host: string;
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** `http://127.0.0.1:PORT/api/v3` */
  readonly apiUrl: string;
  readonly webhooks: Webhooks;
  /** Where the app's webhooks go from now on (default app: the first); null: nowhere. */
  setWebhookUrl(url: string | null, appId?: number): void;
  /** Shows pages to people at the addresses that are no part of the API or of git, e.g. an issue's; until then there are none. */
  servePages(pages: Pages): void;
  /** Plans failures of REST and git requests. */
  fault(fault: Fault): void;
  clearFaults(): void;
  /** Every REST exchange so far, oldest first. */
  calls(): readonly Exchange[];
  /** Every request of git, oldest first. */
  gitRequests(): readonly GitRequest[];
  /** Every ref changed by a push over HTTP. */
  pushes(): readonly Push[];
  /** Every installation token ever made, for looking at its scope. */
  tokens(): readonly AccessToken[];
  /** Every token is refused from now on, although its end has not come. */
  revokeTokens(): void;
  setTokenLifetime(ms: number): void;
  /** Resolves when no webhook is queued or under way. */
  settled(): Promise<void>;
  /** Cuts every connection, stops webhooks, and waits until no process of ours is left. */
  close(): Promise<void>;
}

export async function startGitHub(options: EmbeddedGitHubOptions): Promise<EmbeddedGitHub> {
  const gitRoot = join(options.dataDir, "git");
  await mkdir(gitRoot, { recursive: true });
  const pending = new Set<Promise<void>>();
  let handle: Handler = async (_, response) => void response.destroy();
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const handled = handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { "content-type": "text/plain" });
      response.end(messageOf(error));
    });
    pending.add(handled);
    void handled.finally(() => pending.delete(handled));
  };
  const { tls } = options;
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  const host = `127.0.0.1:${await listen(server, options.port ?? 0)}`;
  const hub = createHub(options, gitRoot, `${tls === undefined ? "http" : "https"}://${host}`);
  if (options.app !== undefined) registerApp(hub, options.app);
  const parts = createParts(hub, options.onExchange);
  handle = parts.handle;
  return {
    host,
    url: hub.urls.html,
    apiUrl: hub.urls.api,
    webhooks: hub.webhooks,
    ...createIssueControls(hub),
    ...createRepositoryControls(hub),
    ...createLifecycleControls(hub),
    ...createRelatedControls(hub),
    ...parts.controls,
    settled: () => hub.webhooks.settled(),
    close: async () => {
      await hub.webhooks.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      await Promise.all(pending);
    },
  };
}

/** Answers a request for a page; false: it is not one of its pages, and nothing was written. */
export type Pages = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<boolean>;

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function createHub(options: EmbeddedGitHubOptions, gitRoot: string, url: string): Hub {
  const state = createState();
  const { clock, ids } = options;
  return {
    state,
    urls: { api: `${url}/api/v3`, html: url },
    clock,
    ids,
    webhooks: createWebhooks({ state, clock, ids }),
    gitRoot,
    git: new Map(),
    tokenLifetimeMs: options.tokenLifetimeMs ?? 3_600_000,
  };
}

type PartControls = Pick<
  EmbeddedGitHub,
  | "setWebhookUrl"
  | "servePages"
  | "fault"
  | "clearFaults"
  | "calls"
  | "gitRequests"
  | "pushes"
  | "tokens"
  | "revokeTokens"
  | "setTokenLifetime"
>;

function createParts(
  hub: Hub,
  onExchange: ((exchange: Exchange) => void) | undefined,
): { readonly handle: Handler; readonly controls: PartControls } {
  const faults = createFaults();
  let pages: Pages = async () => false;
  const exchanges: Exchange[] = [];
  const gitHttp = createGitHttp(hub, faults);
  const manifests = createManifests(hub);
  const rest = {
    hub,
    faults,
    route: createRouter([
      ...appRoutes,
      ...deliveryRoutes,
      ...repositoryRoutes,
      ...issueRoutes,
      ...commentRoutes,
      ...refRoutes,
      ...gitDataRoutes,
      ...pullRoutes,
      ...relatedRoutes,
      ...graphqlRoutes,
      ...manifests.routes,
    ]),
    onExchange: (exchange: Exchange) => {
      exchanges.push(exchange);
      onExchange?.(exchange);
    },
  };
  const handle: Handler = async (request, response) => {
    const url = new URL(request.url ?? "/", hub.urls.html);
    if (url.pathname.startsWith("/api/v3/") || url.pathname === "/api/graphql")
      return answerRest(rest, request, response, url);
    if (await gitHttp.handle(request, response, url)) return;
    if (await manifests.handle(request, response, url)) return;
    if (await pages(request, response, url)) return;
    response.writeHead(404, { "content-type": "text/plain" });
    response.end("This embedded GitHub has no such page.\n");
  };
  const controls: PartControls = {
    setWebhookUrl: (target, appId) => {
      const app = appId === undefined ? [...hub.state.apps.values()][0] : hub.state.apps.get(appId);
      if (app === undefined) throw new Error("there is no such app");
      app.webhookUrl = target;
    },
    servePages: (served) => {
      pages = served;
    },
    fault: (fault) => faults.add(fault),
    clearFaults: () => faults.clear(),
    calls: () => [...exchanges],
    gitRequests: () => gitHttp.requests(),
    pushes: () => gitHttp.pushes(),
    tokens: () => [...hub.state.tokens.values()],
    revokeTokens: () => {
      for (const token of hub.state.tokens.values()) token.revoked = true;
    },
    setTokenLifetime: (ms) => {
      hub.tokenLifetimeMs = ms;
    },
  };
  return { handle, controls };
}

/** The port that was taken. */
function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") reject(new Error("no port was given"));
      else resolve(address.port);
    });
  });
}
