/** The bare repositories of the embedded GitHub: objects, refs and commits through real git plumbing. */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CommitSource, fastImportStream } from "./fast-import.ts";
import { git, runGit } from "./git.ts";

export interface Signature {
  readonly name: string;
  readonly email: string;
  /** ms since the epoch, whole seconds. */
  readonly at: number;
}

export interface CommitObject {
  readonly sha: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Signature;
  readonly committer: Signature;
  readonly message: string;
}

export interface TreeItem {
  readonly path: string;
  readonly mode: string;
  readonly type: string;
  readonly sha: string;
  /** Null for trees and commits. */
  readonly size: number | null;
}

export interface TreeChange {
  readonly path: string;
  readonly mode: string;
  /** Null deletes the path. */
  readonly sha: string | null;
}

/** One bare repository. Ids are full SHA-1; a missing object is null, never a rejection. */
export interface GitRepository {
  readonly directory: string;
  commitFiles(commit: CommitSource): Promise<string>;
  isEmpty(): Promise<boolean>;
  refSha(ref: string): Promise<string | null>;
  refs(): Promise<ReadonlyMap<string, string>>;
  /** False when the ref is no longer at `old` (null: must not exist). */
  updateRef(ref: string, sha: string | null, old: string | null): Promise<boolean>;
  validRefName(ref: string): Promise<boolean>;
  objectType(sha: string): Promise<string | null>;
  writeBlob(content: Uint8Array): Promise<string>;
  readBlob(sha: string): Promise<Buffer | null>;
  writeTree(base: string | null, changes: readonly TreeChange[]): Promise<string | null>;
  readTree(sha: string, recursive: boolean): Promise<readonly TreeItem[] | null>;
  writeCommit(commit: Omit<CommitObject, "sha">): Promise<string>;
  readCommit(sha: string): Promise<CommitObject | null>;
  isAncestor(older: string, newer: string): Promise<boolean>;
  mergeBase(a: string, b: string): Promise<string | null>;
  /** Commits reachable from `head` and not from `base`. */
  countCommits(base: string, head: string): Promise<number>;
  /** Tree of a clean three-way merge; null on conflict. */
  mergeTree(base: string, head: string): Promise<string | null>;
  /** Added lines, removed lines and number of files from `base` to `head`. */
  diffStat(base: string, head: string): Promise<{ additions: number; deletions: number; files: number }>;
  /** Unified diff from `base` to `head`. */
  diff(base: string, head: string): Promise<string>;
}

/** Makes the bare repository when it is not there; its path is `<root>/<id>.git`, so that a rename changes nothing. */
export async function createGitRepository(
  root: string,
  id: number,
  defaultBranch: string,
): Promise<GitRepository> {
  const directory = join(root, `${id}.git`);
  await rm(directory, { recursive: true, force: true });
  // What `git init --bare` would make, without starting a program for each repository.
  await mkdir(join(directory, "objects"), { recursive: true });
  await mkdir(join(directory, "refs", "heads"), { recursive: true });
  await writeFile(join(directory, "HEAD"), `ref: refs/heads/${defaultBranch}\n`);
  await writeFile(join(directory, "config"), CONFIG);
  return { directory, ...refParts(directory), ...objectParts(directory), ...historyParts(directory) };
}

/** Pushes over HTTP are taken, and, as on GitHub, a commit that is asked for by its id can be fetched. */
const CONFIG = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[http]
	receivepack = true
[uploadpack]
	allowAnySHA1InWant = true
[gc]
	auto = 0
[receive]
	autogc = false
`;

type Part<K extends keyof GitRepository> = Pick<GitRepository, K>;

function refParts(
  directory: string,
): Part<"commitFiles" | "isEmpty" | "refSha" | "refs" | "updateRef" | "validRefName"> {
  const refSha = async (ref: string) => {
    const run = await runGit(directory, ["rev-parse", "--verify", "--quiet", "--end-of-options", ref]);
    return run.code === 0 ? run.stdout.toString("utf8").trim() : null;
  };
  const refs = async () => {
    const listed = await git(directory, ["for-each-ref", "--format=%(objectname) %(refname)"]);
    const lines = listed
      .toString("utf8")
      .split("\n")
      .filter((line) => line !== "");
    return new Map(lines.map((line) => [line.slice(41), line.slice(0, 40)] as const));
  };
  return {
    refSha,
    refs,
    commitFiles: async (commit) => {
      const input = Buffer.concat([fastImportStream(commit), Buffer.from("get-mark :1\ndone\n")]);
      const printed = await git(directory, ["fast-import", "--quiet", "--done"], { input });
      return printed.toString("utf8").trim();
    },
    isEmpty: async () => (await refs()).size === 0,
    updateRef: async (ref, sha, old) => {
      const zero = "0".repeat(40);
      const args =
        sha === null ? ["update-ref", "-d", ref, old ?? ""] : ["update-ref", ref, sha, old ?? zero];
      return (await runGit(directory, args)).code === 0;
    },
    validRefName: async (ref) => (await runGit(directory, ["check-ref-format", ref])).code === 0,
  };
}

function objectParts(
  directory: string,
): Part<"objectType" | "writeBlob" | "readBlob" | "writeTree" | "readTree"> {
  let nextIndex = 0;
  return {
    objectType: async (sha) => {
      if (!/^[0-9a-f]{40}$/.test(sha)) return null;
      const run = await runGit(directory, ["cat-file", "-t", sha]);
      return run.code === 0 ? run.stdout.toString("utf8").trim() : null;
    },
    writeBlob: async (content) => {
      const written = await git(directory, ["hash-object", "-w", "--stdin"], { input: content });
      return written.toString("utf8").trim();
    },
    readBlob: async (sha) => {
      const run = await runGit(directory, ["cat-file", "blob", sha]);
      return run.code === 0 ? run.stdout : null;
    },
    writeTree: async (base, changes) => {
      const index = join(directory, `sim-index-${nextIndex++}`);
      const env = { GIT_INDEX_FILE: index };
      try {
        const start = base === null ? ["read-tree", "--empty"] : ["read-tree", base];
        if ((await runGit(directory, start, { env })).code !== 0) return null;
        const info = changes.map((change) =>
          change.sha === null
            ? `0 ${"0".repeat(40)}\t${change.path}\0`
            : `${change.mode} ${change.sha}\t${change.path}\0`,
        );
        const args = ["update-index", "-z", "--index-info"];
        if ((await runGit(directory, args, { env, input: info.join("") })).code !== 0) return null;
        const run = await runGit(directory, ["write-tree"], { env });
        return run.code === 0 ? run.stdout.toString("utf8").trim() : null;
      } finally {
        await rm(index, { force: true });
      }
    },
    readTree: async (sha, recursive) => {
      const args = ["ls-tree", "-z", "--long", "--full-tree", ...(recursive ? ["-r", "-t"] : []), sha];
      const run = await runGit(directory, args);
      return run.code === 0 ? parseTree(run.stdout.toString("utf8")) : null;
    },
  };
}

function parseTree(listing: string): readonly TreeItem[] {
  return listing
    .split("\0")
    .filter((entry) => entry !== "")
    .map((entry) => {
      const [facts, path] = splitAt(entry, "\t");
      const [mode = "", type = "", sha = "", size = "-"] = facts.split(/ +/);
      return { path, mode, type, sha, size: size === "-" ? null : Number(size) };
    });
}

function historyParts(
  directory: string,
): Part<
  | "writeCommit"
  | "readCommit"
  | "isAncestor"
  | "mergeBase"
  | "countCommits"
  | "mergeTree"
  | "diff"
  | "diffStat"
> {
  const text = async (args: readonly string[]) => (await git(directory, args)).toString("utf8").trim();
  return {
    writeCommit: async (commit) => {
      const parents = commit.parents.flatMap((parent) => ["-p", parent]);
      const env = {
        GIT_AUTHOR_NAME: commit.author.name,
        GIT_AUTHOR_EMAIL: commit.author.email,
        GIT_AUTHOR_DATE: `${Math.floor(commit.author.at / 1000)} +0000`,
        GIT_COMMITTER_NAME: commit.committer.name,
        GIT_COMMITTER_EMAIL: commit.committer.email,
        GIT_COMMITTER_DATE: `${Math.floor(commit.committer.at / 1000)} +0000`,
      };
      const args = ["commit-tree", commit.tree, ...parents];
      return (await git(directory, args, { env, input: commit.message })).toString("utf8").trim();
    },
    readCommit: async (sha) => {
      const run = await runGit(directory, ["cat-file", "commit", sha]);
      return run.code === 0 ? parseCommit(sha, run.stdout.toString("utf8")) : null;
    },
    isAncestor: async (older, newer) =>
      (await runGit(directory, ["merge-base", "--is-ancestor", older, newer])).code === 0,
    mergeBase: async (a, b) => {
      const run = await runGit(directory, ["merge-base", a, b]);
      return run.code === 0 ? run.stdout.toString("utf8").trim() : null;
    },
    countCommits: async (base, head) => Number(await text(["rev-list", "--count", `${base}..${head}`])),
    mergeTree: async (base, head) => {
      const run = await runGit(directory, ["merge-tree", "--write-tree", base, head]);
      return run.code === 0 ? (run.stdout.toString("utf8").split("\n")[0] ?? null) : null;
    },
    diff: (base, head) => text(["diff", "--no-color", "--no-ext-diff", base, head, "--"]),
    diffStat: async (base, head) => {
      const lines = (await text(["diff", "--numstat", base, head])).split("\n").filter((line) => line !== "");
      const counts = lines.map((line) =>
        line
          .split("\t")
          .slice(0, 2)
          .map((count) => Number(count) || 0),
      );
      const sum = (column: number) => counts.reduce((total, row) => total + (row[column] ?? 0), 0);
      return { additions: sum(0), deletions: sum(1), files: lines.length };
    },
  };
}

function parseCommit(sha: string, text: string): CommitObject {
  const [head, message] = splitAt(text, "\n\n");
  const lines = head.split("\n");
  const valuesOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  return {
    sha,
    tree: valuesOf("tree")[0] ?? "",
    parents: valuesOf("parent"),
    author: parseSignature(valuesOf("author")[0] ?? ""),
    committer: parseSignature(valuesOf("committer")[0] ?? ""),
    message,
  };
}

function parseSignature(line: string): Signature {
  const match = /^(.*) <(.*)> (\d+) /.exec(line);
  return { name: match?.[1] ?? "", email: match?.[2] ?? "", at: Number(match?.[3] ?? 0) * 1000 };
}

function splitAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}
