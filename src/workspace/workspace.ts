/** The workspace port: mirrors, throw-away checkouts and tree objects, with git run where hostile files can hurt nothing. */

import type { Result } from "#src/base/result.ts";

export interface RepositorySource {
  /** GitHub's numeric repository id: the cache key, so that a renamed or re-created repository never meets another's objects. */
  readonly id: number;
  /** The payload's `clone_url`: https and the configured host only (http only for 127.0.0.1 and localhost). */
  readonly cloneUrl: string;
}

/** Gives a fresh installation token, or null for a local repository; `renew` asks for a new one after a 401. */
export type GitToken = (renew: boolean) => Promise<string | null>;

export interface GitFailure {
  readonly code:
    | "unreachable"
    | "denied"
    | "not_found"
    | "empty_repository"
    | "refused_url"
    | "nested_git"
    | "conflict"
    | "disk_full"
    | "cancelled"
    | "git_failed";
  /** A redacted sentence for people. */
  readonly message: string;
}

export type FileMode = "100644" | "100755" | "120000";

/** One path that differs between the base tree and the proposed tree. */
export interface ChangedFile {
  /** Path from the repository root, `/`-separated, decoded (not quoted). */
  readonly path: string;
  readonly status: "added" | "modified" | "deleted";
  /** Mode in the proposed tree; for a deleted file its mode in the base. */
  readonly mode: FileMode;
  /** Lower-case hex SHA-256 of the proposed content; null for a deleted file. */
  readonly sha256: string | null;
  /** Line counts; null for binary files. */
  readonly added: number | null;
  readonly removed: number | null;
}

export interface BuiltTree {
  /** Git object id of the tree that verify, digest and publish all use. */
  readonly treeId: string;
  readonly changes: readonly ChangedFile[];
  /** Unified diff base → tree, as git prints it, without colour; binary files named only. */
  readonly diff: string;
  /** Paths that differ in the workspace but were not taken, with the reason, for the plan comment. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
}

export interface BuildTreeRequest {
  readonly runId: string;
  readonly repositoryId: number;
  readonly baseSha: string;
  /** Host directory of the checkout the agent worked in. No process of the run may be alive. */
  readonly directory: string;
  /** Paths edited through a tool: taken even when they are new. */
  readonly edited: readonly string[];
  /** New files of commands that the agent asked for by name: taken unless they are noise or ignored. */
  readonly named?: readonly string[];
  /** Paths that differed from base right after set-up and a baseline run: noise, left out unless edited. */
  readonly noise: readonly string[];
}

export interface ApplyTreeRequest {
  readonly runId: string;
  readonly repositoryId: number;
  /** A directory made by `checkout` or `copy`; no process of the run may be alive. */
  readonly directory: string;
  readonly baseSha: string;
  readonly treeId: string;
  /** Paths that keep the base's content, or stay absent when the base has none. */
  readonly except: readonly string[];
}

export interface MergeRequest {
  readonly runId: string;
  readonly repositoryId: number;
  /** The commit that the tree was built on. */
  readonly baseSha: string;
  readonly treeId: string;
  /** The commit to merge with; it must have been fetched. */
  readonly ontoSha: string;
}

export interface MergedTree {
  readonly treeId: string;
  /** False: the commit that it was merged with holds the whole change already. */
  readonly adds: boolean;
}

export interface PackTreeRequest {
  readonly runId: string;
  readonly repositoryId: number;
  /** What the tree was built on: its objects are left out of the pack. */
  readonly baseSha: string;
  readonly treeId: string;
}

export interface AdoptTreeRequest extends MergeRequest {
  /** What `packTree` gave for that base and tree, in whichever run. */
  readonly pack: Uint8Array;
}

/** A commit's files read without a work tree. */
export interface CommitFiles {
  /** Bytes of a regular file at that commit; null when missing, a directory, a link, or larger than `maxBytes` (default 1 MiB). */
  read(path: string, maxBytes?: number): Promise<Uint8Array | null>;
  /** Every path in the commit's tree with its mode. */
  list(): Promise<readonly { readonly path: string; readonly mode: string }[]>;
}

/** Asked once nobody can begin to work with what is to go; false: somebody still needs it. */
export type IsFree = () => Promise<boolean>;

export interface Workspaces {
  /** Brings the mirror up to date (default branch and tags); one fetch at a time per repository, across processes. */
  fetch(
    source: RepositorySource,
    branch: string,
    token: GitToken,
    signal: AbortSignal,
  ): Promise<Result<{ readonly headSha: string }, GitFailure>>;
  /** Repositories of which a mirror, a kept checkout or a package cache is there, or what is left of one. */
  cached(): Promise<readonly number[]>;
  /** Removes all of that of one repository; false, and some of it is there still, when somebody works with it. A drop that was cut off shows in `cached`. */
  dropCached(repositoryId: number, isFree: IsFree): Promise<boolean>;
  files(repositoryId: number, sha: string): CommitFiles;
  /** A fresh copy of a commit with a disposable `.git` that has history; files belong to the sandbox's owner. Returns the directory. */
  checkout(
    runId: string,
    repositoryId: number,
    sha: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Result<string, GitFailure>>;
  /** A copy (never hard links; reflink where possible) of a directory made by `checkout`, node_modules and all. */
  copy(runId: string, from: string, name: string): Promise<Result<string, GitFailure>>;
  /** Overwrites a checkout of `baseSha` so that its tracked files equal the tree; paths in `except` keep the base's content. */
  applyTree(request: ApplyTreeRequest): Promise<Result<null, GitFailure>>;
  /** Paths in the directory that differ from the commit: what set-up and test runs left behind. */
  dirtyPaths(
    request: Omit<BuildTreeRequest, "edited" | "named" | "noise">,
  ): Promise<Result<readonly string[], GitFailure>>;
  buildTree(request: BuildTreeRequest): Promise<Result<BuiltTree, GitFailure>>;
  /** Bytes of a file of a tree built for this run; null when missing. */
  readTreeFile(runId: string, repositoryId: number, treeId: string, path: string): Promise<Uint8Array | null>;
  /** In-memory three-way merge of the tree (on `baseSha`) with `ontoSha`: the merged tree's id, or `conflict` naming the paths. */
  merge(request: MergeRequest): Promise<Result<MergedTree, GitFailure>>;
  /** The objects of a tree that its base does not have, as a git pack of at most 16 MiB: what outlives the run's workspace. */
  packTree(request: PackTreeRequest): Promise<Result<Uint8Array, GitFailure>>;
  /** Puts a packed tree into this run and merges it with `ontoSha`: the tree, and the paths in which it differs from that commit; `conflict` names the paths. */
  adoptTree(
    request: AdoptTreeRequest,
  ): Promise<Result<{ readonly treeId: string; readonly paths: readonly string[] }, GitFailure>>;
  /** An empty directory outside every workspace that belongs to the sandbox's owner, e.g. for test reports. */
  scratch(runId: string, name: string): Promise<string>;
  /**
   * Calls `work` with the directory that package managers of this repository may fill and find again in its next run; another
   * run that fills it at the same time gets one of its own. It stays as long as the run has a workspace.
   */
  withCache<T>(runId: string, repositoryId: number, work: (directory: string) => Promise<T>): Promise<T>;
  /** Removes work, home and tmp of a run; with `keepTree` the objects that publishing needs stay. */
  remove(runId: string, keepTree: boolean): Promise<void>;
  /** Run ids that have anything on disk. */
  leftovers(): Promise<readonly string[]>;
}
