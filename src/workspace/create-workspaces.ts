/** Puts the workspace together: the only thing of this folder, besides the port, that is used from outside. */

import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import type { Sandbox, SandboxOwner } from "#src/sandbox/sandbox.ts";
import { applyTree, mergeTrees } from "./apply-tree.ts";
import { type BuildOptions, buildTree, dirtyPaths } from "./build-tree.ts";
import { createCaches } from "./cache.ts";
import {
  type CheckoutOptions,
  checkout,
  copyCheckout,
  leftovers,
  makeScratch,
  removeRun,
} from "./checkout.ts";
import { commitFiles, treeFile } from "./commit-files.ts";
import { createHostGit } from "./git.ts";
import { adoptTree, packTree } from "./kept-tree.ts";
import { createLocks } from "./lock.ts";
import { createMirrors } from "./mirror.ts";
import { placesUnder } from "./places.ts";
import { createPristine } from "./pristine.ts";
import { createReadyCheckouts } from "./ready.ts";
import { createGitSessions } from "./session-git.ts";
import type { Workspaces } from "./workspace.ts";

const DEFAULT_MIRROR_CAP_BYTES = 20 * 1024 ** 3;
const DEFAULT_CACHE_CAP_BYTES = 20 * 1024 ** 3;

export interface WorkspacesOptions {
  /** Absolute; may be private to the app's user. */
  readonly dataDir: string;
  /** Git over a workspace runs in sessions of this. */
  readonly sandbox: Sandbox;
  /** Whom checkouts belong to; null: the app's own user. */
  readonly owner: SandboxOwner | null;
  /** The configured GitHub host, e.g. `github.com` or `127.0.0.1:3000`; http is let in only for loopback. */
  readonly allowedHosts: readonly string[];
  /** Absolute directories that may be fetched by a `file:` address, for runs on a local checkout. */
  readonly localRepositories?: readonly string[];
  /** The host's environment; PATH, proxy and certificate variables are taken from it and nothing else. */
  readonly gitEnvironment: Readonly<Record<string, string | undefined>>;
  /** Bytes of all mirrors together; default 20 GiB. */
  readonly mirrorCapBytes?: number;
  /** Bytes of all package caches together; default 20 GiB. */
  readonly cacheCapBytes?: number;
  /** This process holds the lock on the data directory: no other living one uses it. Default: false. */
  readonly alone?: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly redactor: Redactor;
  readonly log: Log;
}

export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const { clock, ids, redactor, log } = options;
  const places = placesUnder(options.dataDir, options.owner);
  const git = createHostGit({ environment: options.gitEnvironment, home: places.gitHome, clock, redactor });
  const locks = createLocks(places.mirrors, clock, ids, options.alone);
  const mirrors = createMirrors({
    git,
    locks,
    places,
    allowedHosts: options.allowedHosts,
    localRepositories: options.localRepositories ?? [],
    capBytes: options.mirrorCapBytes ?? DEFAULT_MIRROR_CAP_BYTES,
    clock,
    redactor,
    log,
  });
  const caches = createCaches({
    locks: createLocks(places.caches, clock, ids, options.alone),
    capBytes: options.cacheCapBytes ?? DEFAULT_CACHE_CAP_BYTES,
    ...{ places, clock, log },
  });
  const pristine = createPristine({ git, mirrors, places, redactor });
  const withSession = createGitSessions({ sandbox: options.sandbox, places, ids, redactor });
  const building: BuildOptions = { git, withSession, pristine, places, ids };
  const ready = createReadyCheckouts({ git, places, log });
  const copies: CheckoutOptions = { git, mirrors, ready, pristine, ids, withSession, places, redactor, log };

  return {
    fetch: (source, branch, token, signal) => mirrors.fetch({ source, branch, token, signal }),
    cached: async () => [...new Set([...(await mirrors.ids()), ...(await caches.ids())])],
    dropCached: async (repositoryId, isFree) => {
      const gone = await mirrors.drop(repositoryId, isFree);
      return (await caches.drop(repositoryId, isFree)) && gone;
    },
    files: (repositoryId, sha) => commitFiles(git, places.mirror(repositoryId), sha),
    checkout: (...args) => {
      const [runId, repositoryId, sha, name, signal] = args;
      return checkout(copies, { runId, repositoryId, sha, name, signal });
    },
    copy: (runId, from, name) => copyCheckout(copies, { runId, from, name }),
    applyTree: (request) => applyTree(building, request),
    dirtyPaths: (request) => dirtyPaths(building, request),
    buildTree: (request) => buildTree(building, request),
    readTreeFile: async (runId, _repositoryId, treeId, path) => {
      const gitDir = await pristine.find(runId);
      return gitDir === null ? null : treeFile(git, gitDir, treeId, path);
    },
    merge: (request) => mergeTrees(building, request),
    packTree: (request) => packTree(building, request),
    adoptTree: (request) => adoptTree(building, request),
    scratch: (runId, name) => makeScratch(copies, runId, name),
    withCache: (runId, repositoryId, work) => caches.with(runId, repositoryId, work),
    remove: (runId, keepTree) => removeRun(copies, runId, keepTree),
    leftovers: () => leftovers(places),
  };
}
