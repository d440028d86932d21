/** An embedded GitHub and our adapter to it, started for one test and gone after it. */

import assert from "node:assert/strict";
import type { Clock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createRedactor, type Redactor } from "#src/base/redact.ts";
import type { GitHub, GitHubFailure, GitHubResult, RepoName } from "#src/github/github.ts";
import type { GitHubApp, TokenPhase } from "#src/github/github-app.ts";
import { createGitHubApp } from "#src/github/octokit.ts";
import type { Exchange } from "#src/github/sim/exchanges.ts";
import { type AppKeys, createAppKeys } from "#src/github/sim/manifest.ts";
import type { NewRepository } from "#src/github/sim/repository-controls.ts";
import { type EmbeddedGitHub, startGitHub } from "#src/github/sim/server.ts";
import { contractViolations, webhookViolations } from "#test/support/contract.ts";
import { createManualClock, type ManualClock } from "#test/support/manual-clock.ts";
import { tempDir } from "#test/support/temp-dir.ts";

export const APP_ID = 4242;
export const APP_SLUG = "agent-fix-test";
export const WEBHOOK_SECRET = "a webhook secret for tests only";

/** One pair for the process: making one takes a while. */
let keys: AppKeys | null = null;

export function appKeys(): AppKeys {
  keys ??= createAppKeys();
  return keys;
}

export interface GitHubRig {
  readonly hub: EmbeddedGitHub;
  readonly app: GitHubApp;
  readonly redactor: Redactor;
  readonly clock: ManualClock;
  /** `acme/widget`: private, one commit, the app installed. */
  readonly repo: RepoName;
  readonly headSha: string;
  readonly installation: number;
  github(phase?: TokenPhase, signal?: AbortSignal): GitHub;
  /** Resolves with the next REST exchange: how a test waits until a request has arrived. */
  nextExchange(): Promise<Exchange>;
  /** Waits asked for so far, in ms, when `impatient`. */
  readonly slept: readonly number[];
  /** Breaches of GitHub's published contracts so far. */
  violations(): readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
}

export interface RigOptions {
  readonly repository?: Partial<NewRepository>;
  /** The owner is an organization instead of a person: `big-org` instead of `acme`. */
  readonly organization?: boolean;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly tokenLifetimeMs?: number;
  /** The adapter's waits pass at once, moving the clock by as much; else they last until the test moves it. */
  readonly impatient?: boolean;
}

/** Time stands still unless the test moves it. Webhooks go nowhere until the test sets an address. */
export async function githubRig(options: RigOptions = {}): Promise<GitHubRig> {
  const dir = await tempDir("github-");
  const clock = createManualClock();
  const slept: number[] = [];
  const impatient: Clock = {
    ...clock,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      slept.push(ms);
      await clock.advance(ms);
    },
  };
  const waiting: ((exchange: Exchange) => void)[] = [];
  const { publicKey, privateKey } = appKeys();
  const hub = await startGitHub({
    dataDir: dir.path,
    clock,
    ids: systemIds,
    onExchange: (exchange) => {
      for (const tell of waiting.splice(0)) tell(exchange);
    },
    app: {
      id: APP_ID,
      slug: APP_SLUG,
      owner: "acme",
      publicKey,
      webhookSecret: WEBHOOK_SECRET,
    },
    ...(options.tokenLifetimeMs === undefined ? {} : { tokenLifetimeMs: options.tokenLifetimeMs }),
  });
  if (options.organization === true) hub.createOrganization("big-org");
  const created = await hub.createRepository({
    owner: options.organization === true ? "big-org" : "acme",
    name: "widget",
    private: true,
    files: { "README.md": "# widget\n", "src/add.js": "export const add = (a, b) => a - b;\n" },
    ...options.repository,
  });
  const installation = hub.install({
    repositories: [created.fullName],
    ...(options.permissions === undefined ? {} : { permissions: options.permissions }),
  });
  const redactor = createRedactor();
  const app = createGitHubApp({
    appId: APP_ID,
    privateKey,
    baseUrl: hub.apiUrl,
    clock: options.impatient === true ? impatient : clock,
    redactor,
    log: silentLog,
  });
  const repo = { owner: created.owner, name: created.name, id: created.id };
  return {
    hub,
    app,
    redactor,
    clock,
    repo,
    headSha: created.headSha ?? "",
    installation,
    github: (phase = "write", signal) => app.repository(installation, repo, phase, signal),
    nextExchange: () => new Promise((resolve) => waiting.push(resolve)),
    slept,
    violations: () => [...contractViolations(hub.calls()), ...webhookViolations(hub.webhooks.deliveries())],
    [Symbol.asyncDispose]: async () => {
      await hub.close();
      await dir.remove();
    },
  };
}

/** The value of a call that must succeed. */
export async function value<T>(pending: GitHubResult<T>): Promise<T> {
  const result = await pending;
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

/** The failure of a call that must not succeed. */
export async function failure<T>(pending: GitHubResult<T>): Promise<GitHubFailure> {
  const result = await pending;
  assert.ok(!result.ok, "the call should have failed");
  return result.error;
}
