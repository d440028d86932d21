/** The server put together: the one place that chooses every adapter. `serve` and `demo` start exactly this. */

import { homedir } from "node:os";
import { startCatchUp } from "#src/app/catch-up.ts";
import { createBackground, type Edge } from "#src/app/edge.ts";
import { type Handlers, type RunningServer, startServer } from "#src/app/server.ts";
import { createWebhookMiddleware } from "#src/app/webhooks.ts";
import { type Clock, systemClock } from "#src/base/clock.ts";
import { type Ids, systemIds } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import type { AppCredentials, Config } from "#src/config/config.ts";
import type { Environment } from "#src/config/environment.ts";
import { createGitHubApp } from "#src/github/octokit.ts";
import { createEmbeddedQueue } from "#src/queue/embedded.ts";
import { type DataLock, lockDataDir } from "#src/store/data-lock.ts";
import { openThreadedStore } from "#src/store/sqlite-threaded.ts";
import { createWorker, type Worker } from "#src/worker/worker.ts";
import { followMoves, onGitHub } from "./on-github.ts";
import { openSandbox } from "./open-sandbox.ts";
import { createPorts, type PortParts } from "./ports.ts";
import { proxiedFetch } from "./proxied-fetch.ts";

/** Commands and publishing never wait behind long work. */
const DESK_CONCURRENCY = 4;
const STOP_MS = 7_000;
/** Longer than all deadlines of a stop together. */
const AWAKE_MS = 60_000;
/** A predecessor needs up to ten seconds to stop. */
const TAKE_OVER_MS = 12_000;

export interface ApplicationOptions {
  readonly config: Config;
  /** For what git and package managers need of the host: PATH, proxies, certificates, registries. */
  readonly env: Environment;
  readonly redactor: Redactor;
  readonly log: Log;
  readonly clock?: Clock;
  readonly ids?: Ids;
}

export interface Application {
  readonly server: RunningServer;
  readonly handlers: Handlers;
  /** Puts the webhooks in and begins to work; called once, at once or when the set-up page has the credentials. */
  begin(credentials: AppCredentials): Promise<void>;
  /** Stops taking work, hands leases back, closes everything; at most about ten seconds. */
  stop(): Promise<void>;
}

/** Opens store, sandbox and server. Rejects with a sentence that says what to do when one of them cannot be had. */
export async function startApplication(options: ApplicationOptions): Promise<Application> {
  const lock = await lockDataDir(options.config.server.dataDir, options.clock ?? systemClock, TAKE_OVER_MS);
  try {
    return await assemble(options, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function assemble(options: ApplicationOptions, lock: DataLock): Promise<Application> {
  const { config, log, redactor } = options;
  const clock = options.clock ?? systemClock;
  const ids = options.ids ?? systemIds;
  const sandbox = await openSandbox({ config, env: options.env, clock, ids, log, home: homedir() });
  const store = await openThreadedStore({ path: `${config.server.dataDir}/state.db`, clock });
  const queue = createEmbeddedQueue({
    concurrency: { work: config.limits.concurrency, desk: DESK_CONCURRENCY },
    clock,
    log,
  });
  const background = createBackground(log, clock);
  const handlers: Handlers = {
    webhooks: null,
    setup: null,
    ready: async () => (await store.ready()) && (await queue.ready()),
  };
  let worker: Worker | null = null;
  const stopping = new AbortController();
  const { host, port } = config.server;
  const server = await startServer({ host, port, handlers, clock, log }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const begin = async (credentials: AppCredentials) => {
    redactor.add(credentials.webhookSecret);
    const app = createGitHubApp({
      appId: credentials.appId,
      privateKey: credentials.privateKey,
      baseUrl: config.github.apiUrl,
      fetch: proxiedFetch(options.env),
      clock,
      redactor,
      log,
    });
    const parts: PortParts = { config, env: options.env, sandbox, store, clock, ids, log, redactor };
    const ports = followMoves(createPorts(parts, onGitHub(app, clock)), app);
    const edge: Edge = {
      store,
      queue,
      app,
      allowedOwners: config.github.allowedOwners,
      paused: config.limits.paused,
      clock,
      ids,
      log,
      background,
      caches: ports.workspaces,
    };
    const { apiUrl } = config.github;
    const logLevel = config.server.logLevel === "silent" ? "fatal" : config.server.logLevel;
    const newestDelivery = await store.newestDeliveryAt();
    const middleware = createWebhookMiddleware({ credentials, apiUrl, logLevel, log, edge });
    // Who posts a webhook in this very moment waits for the middleware instead of being turned away.
    handlers.webhooks = async (request, response) => (await middleware)(request, response);
    await middleware;
    worker = createWorker({ ports, queue, name: `${process.pid}-${ids.hex(4)}`, alone: true });
    await worker.start();
    startCatchUp(edge, newestDelivery, stopping.signal);
  };
  const stop = async () => {
    // A connection that nobody reads keeps no process alive, and the deadlines below don't either; without this it could end half stopped.
    const awake = new AbortController();
    const slept = clock.sleep(AWAKE_MS, awake.signal).catch(() => undefined);
    stopping.abort(new Error("the server stops"));
    handlers.webhooks = null;
    await server.close(1_000);
    // Neither waits for ever: what a stopped worker leaves is taken up at the next start, a lost reaction is only a reaction.
    await Promise.all([background.settled(STOP_MS), worker?.stop(STOP_MS)]);
    await store.close();
    lock.release();
    awake.abort();
    await slept;
  };
  return { server, handlers, begin, stop };
}
