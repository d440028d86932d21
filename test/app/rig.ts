/** The GitHub edge on a real socket: Probot's middleware, a SQLite store, an embedded GitHub that signs and sends; the queue only records. */

import { createHmac } from "node:crypto";
import { join } from "node:path";
import { createBackground, type Edge } from "#src/app/edge.ts";
import { type Handlers, startServer } from "#src/app/server.ts";
import type { RepositoryCaches } from "#src/app/unreached.ts";
import { createWebhookMiddleware, WEBHOOK_PATH } from "#src/app/webhooks.ts";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { createLog } from "#src/cli/logger.ts";
import type { Lane, Queue } from "#src/queue/queue.ts";
import type { RunEvent } from "#src/run/run.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import type { Store, StoredRun } from "#src/store/store.ts";
import { APP_ID, appKeys, type GitHubRig, githubRig, WEBHOOK_SECRET } from "#test/support/github.ts";
import { tempDir } from "#test/support/temp-dir.ts";

export const REPO = "acme/widget";

export interface AppRig extends GitHubRig {
  readonly url: string;
  readonly store: Store;
  /** What was pushed, in order. */
  readonly pushed: readonly { readonly runId: string; readonly lane: Lane }[];
  /** Lines of the log, parsed. */
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  readonly handlers: Handlers;
  /** What the routes work with. */
  readonly edge: Edge;
  /** Waits until every webhook was answered and all background work is done. */
  settled(): Promise<void>;
  /** All runs, newest first. */
  runs(): Promise<readonly StoredRun[]>;
  /** The events of the newest run after its request. */
  facts(): Promise<readonly RunEvent[]>;
  /** The newest run, put into that state by its lease holder. */
  endRun(): Promise<void>;
  /** Sends a body as GitHub would, signed unless told otherwise. */
  post(body: string, headers?: Readonly<Record<string, string>>): Promise<{ status: number; text: string }>;
}

export interface AppRigOptions {
  readonly paused?: boolean;
  readonly allowedOwners?: readonly string[] | null;
  /** A repository with commits; most tests need none, and each costs several git programs. */
  readonly commits?: boolean;
  /** Puts something between the edge and the store, through the port. */
  readonly wrapStore?: (store: Store) => Store;
  /** What is kept of repositories. */
  readonly caches?: RepositoryCaches;
  /** Where hints go instead of into a list. */
  readonly queue?: Queue;
}

export async function appRig(options: AppRigOptions = {}): Promise<AppRig> {
  const github = await githubRig({
    impatient: true,
    repository: options.commits === true ? {} : { files: {} },
  });
  const { hub, redactor, clock } = github;
  hub.setPermission(REPO, "maya", "maintain");
  hub.setPermission(REPO, "ravi", "read");
  const dir = await tempDir("app-");
  const store = openSqliteStore({ path: join(dir.path, "state.db"), clock });
  const pushed: { runId: string; lane: Lane }[] = [];
  const logged: Record<string, unknown>[] = [];
  // As the application does with its credentials.
  redactor.add(WEBHOOK_SECRET);
  const log = createLog("debug", redactor, (line) => logged.push(JSON.parse(line)));
  const background = createBackground(log, systemClock);
  const edge: Edge = {
    store: options.wrapStore?.(store) ?? store,
    queue: options.queue ?? recordingQueue(pushed),
    app: github.app,
    allowedOwners: options.allowedOwners ?? null,
    paused: options.paused ?? false,
    clock,
    ids: systemIds,
    log,
    background,
    ...(options.caches === undefined ? {} : { caches: options.caches }),
  };
  const handlers: Handlers = { webhooks: null, setup: null, ready: () => store.ready() };
  const server = await startServer({ host: "127.0.0.1", port: 0, handlers, clock: systemClock, log });
  handlers.webhooks = await createWebhookMiddleware({
    credentials: { appId: APP_ID, privateKey: appKeys().privateKey, webhookSecret: WEBHOOK_SECRET },
    apiUrl: hub.apiUrl,
    logLevel: "debug",
    log,
    edge,
  });
  hub.setWebhookUrl(`${server.url}${WEBHOOK_PATH}`);
  const runs = () => store.runs({ limit: 100 });
  return {
    ...github,
    url: server.url,
    store,
    pushed,
    logged,
    handlers,
    edge,
    runs,
    settled: async () => {
      await hub.settled();
      await background.settled(60_000);
      await hub.settled();
    },
    facts: async () => {
      const [run] = await runs();
      return run === undefined ? [] : (await store.events(run.runId, 1)).map(({ event }) => event);
    },
    endRun: async () => {
      const [run] = await runs();
      const lease = await store.claim(run?.runId ?? "", "test", 60_000);
      if (lease === null) throw new Error("the run has a lease");
      const cancelled = { type: "cancelled", by: "maya", why: "command" } as const;
      await store.append(lease, [cancelled], { state: "cancelled", ended: true });
      await store.release(lease);
    },
    post: (body, headers = {}) => post(server.url, body, headers),
    [Symbol.asyncDispose]: async () => {
      await hub.settled();
      await server.close(5_000);
      await background.settled(60_000);
      await store.close();
      await github[Symbol.asyncDispose]();
      await dir.remove();
    },
  };
}

function recordingQueue(pushed: { runId: string; lane: Lane }[]): Queue {
  return {
    push: async (runId, lane) => {
      pushed.push({ runId, lane });
    },
    drop: async () => undefined,
    start: () => undefined,
    waiting: () => [],
    stop: async () => undefined,
    ready: async () => true,
  };
}

export function signatureOf(body: string, secret = WEBHOOK_SECRET): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

let sent = 0;

async function post(url: string, body: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(`${url}${WEBHOOK_PATH}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-event": "issues",
      "x-github-delivery": `posted-${++sent}`,
      "x-hub-signature-256": signatureOf(body),
      ...headers,
    },
    body,
  });
  return { status: response.status, text: await response.text() };
}
