/** Writes a commit's files and the agent's own `.git` into a directory, and brings such a directory forward to another commit. */

import { constants } from "node:fs";
import { copyFile, lchown, mkdir, readdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { err, ok, type Result } from "#src/base/result.ts";
import type { SandboxOwner } from "#src/sandbox/sandbox.ts";
import type { HostGit } from "./git.ts";
import { parseRaw, type RawChange } from "./parse.ts";
import type { GitFailure } from "./workspace.ts";

/** The agent's own repository: no remote, no credential, no hook; an identity so that `commit` and `stash` work in tests. */
const AGENT_CONFIG = `[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[user]
\tname = agent-fix
\temail = agent-fix@localhost
`;

export interface WorkTree {
  readonly git: HostGit;
  /** Whom the files belong to afterwards; null: the app's own user. */
  readonly owner: SandboxOwner | null;
  /** The bare repository that has the commit. */
  readonly gitDir: string;
  /** An empty directory to write; for `bringForward` one that holds exactly `from`. Nothing of a repository ran in it. */
  readonly directory: string;
  readonly sha: string;
  readonly signal: AbortSignal;
}

/** What is not there reads as null; any other error stays one. */
export async function missingIsNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Copies packs (reflinked where the file system can) into a `.git` of its own: no link or path leads back to the run's repository. */
async function makeAgentGit({ git, gitDir, directory, sha }: WorkTree): Promise<Result<null, GitFailure>> {
  const own = join(directory, ".git");
  for (const path of ["objects/pack", "objects/info", "refs/heads", "refs/tags", "info"])
    await mkdir(join(own, path), { recursive: true, mode: 0o755 });
  for (const name of await readdir(join(gitDir, "objects", "pack")))
    await copyFile(
      join(gitDir, "objects", "pack", name),
      join(own, "objects", "pack", name),
      constants.COPYFILE_FICLONE,
    );
  await missingIsNull(copyFile(join(gitDir, "shallow"), join(own, "shallow")));
  const tags = await git.text({
    gitDir,
    args: ["for-each-ref", "--format=%(objectname) %(refname)", "refs/tags"],
  });
  if (!tags.ok) return tags;
  await writeFile(join(own, "packed-refs"), `${sha} refs/heads/work\n${tags.value}`);
  await writeFile(join(own, "config"), AGENT_CONFIG);
  await writeFile(join(own, "HEAD"), "ref: refs/heads/work\n");
  return ok(null);
}

const indexOf = (directory: string) => join(directory, ".git", "index");

async function give(tree: WorkTree, path: string): Promise<Result<null, GitFailure>> {
  if (tree.owner === null) return ok(null);
  const { uid, gid } = tree.owner;
  return tree.git.tool({ program: "chown", args: ["-hR", "--", `${uid}:${gid}`, path], signal: tree.signal });
}

/**
 * Nothing else runs in the new directory yet, and git itself follows no link of the tree it writes. The files are given to
 * the sandbox's user afterwards, so that it needs no way of its own to a data directory that may be private.
 */
export async function writeWorkTree(tree: WorkTree): Promise<Result<null, GitFailure>> {
  const { git, gitDir, directory, sha, signal } = tree;
  const made = await makeAgentGit(tree);
  if (!made.ok) return made;
  const scope = { gitDir, workTree: directory, indexFile: indexOf(directory), signal };
  const read = await git.stream({ ...scope, args: ["read-tree", sha] });
  if (!read.ok) return read;
  const written = await git.stream({
    ...scope,
    args: ["checkout-index", "--all", "--force", "--index", "--quiet"],
  });
  return written.ok ? give(tree, directory) : written;
}

/** More changed paths than this are written anew in less time. */
const MOST_CHANGES = 4_000;

/** Why a directory is not brought forward but written anew. */
const anew = (why: string) => err<GitFailure>({ code: "git_failed", message: why });

/**
 * Changes only what differs between two commits. Fails with `git_failed`, and leaves the directory unusable, when that is not
 * worth it or not simple; the caller then writes it anew.
 */
export async function bringForward(tree: WorkTree, from: string): Promise<Result<null, GitFailure>> {
  const { git, gitDir, directory, sha, signal } = tree;
  const scope = { gitDir, workTree: directory, indexFile: indexOf(directory), signal };
  const differing = await git.stream({
    gitDir,
    signal,
    args: ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, sha],
  });
  if (!differing.ok) return differing;
  const changes = parseRaw(differing.value.stdout);
  if (changes.length > MOST_CHANGES || !changes.every(isSimple)) return anew("too much differs");
  const gone = changes.filter((change) => change.status === "D").map((change) => change.path);
  for (const path of gone) await removeWithParents(directory, path);
  const read = await git.stream({ ...scope, args: ["read-tree", "--reset", sha] });
  if (!read.ok) return read;
  const there = changes.filter((change) => change.status !== "D").map((change) => change.path);
  const written = await git.stream({
    ...scope,
    args: ["checkout-index", "--force", "--index", "--quiet", "-z", "--stdin"],
    stdin: Buffer.from(there.map((path) => `${path}\0`).join("")),
  });
  if (!written.ok) return written;
  await giveChanged(tree, there);
  return renewAgentGit(tree);
}

/** Names that are text, and no submodule on either side. */
function isSimple(change: RawChange): boolean {
  return change.exact && change.oldMode !== "160000" && change.newMode !== "160000";
}

async function removeWithParents(directory: string, path: string): Promise<void> {
  await rm(join(directory, path), { force: true });
  for (let parent = dirname(path); parent !== "."; parent = dirname(parent)) {
    try {
      await rmdir(join(directory, parent));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOENT") return;
      throw error;
    }
  }
}

async function giveChanged({ owner, directory }: WorkTree, paths: readonly string[]): Promise<void> {
  if (owner === null) return;
  const all = new Set<string>();
  for (const path of paths) {
    for (let here = path; here !== "." && !all.has(here); here = dirname(here)) all.add(here);
  }
  for (const path of all) await lchown(join(directory, path), owner.uid, owner.gid);
}

async function renewAgentGit(tree: WorkTree): Promise<Result<null, GitFailure>> {
  const own = join(tree.directory, ".git");
  const kept = `${tree.directory}.index`;
  await rename(join(own, "index"), kept);
  await rm(own, { recursive: true });
  const made = await makeAgentGit(tree);
  if (!made.ok) return made;
  await rename(kept, join(own, "index"));
  return give(tree, own);
}
