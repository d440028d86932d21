/** Reads files of commits and trees straight from a bare repository, without a work tree. */

import { ok, type Result } from "#src/base/result.ts";
import type { HostGit } from "./git.ts";
import { isTreePath } from "./names.ts";
import { parseTree, type TreeEntry } from "./parse.ts";
import type { CommitFiles, GitFailure } from "./workspace.ts";

const DEFAULT_FILE_BYTES = 1024 * 1024;
const LIST_BYTES = 256 * 1024 * 1024;
/** GitHub's own limit for a file is 100 MB. */
const ANY_FILE_BYTES = 128 * 1024 * 1024;

/** The entry of exactly this path; null when there is none. `:(literal)` keeps `*` and `:` in names from being read as patterns. */
async function entryAt(
  git: HostGit,
  gitDir: string,
  treeish: string,
  path: string,
): Promise<Result<TreeEntry | null, GitFailure>> {
  if (!isTreePath(path)) return ok(null);
  const listed = await git.stream({
    gitDir,
    args: ["ls-tree", "-z", "-l", treeish, "--", `:(literal)${path}`],
  });
  if (!listed.ok) return listed;
  return ok(parseTree(listed.value.stdout).find((entry) => entry.exact && entry.path === path) ?? null);
}

async function contentOf(git: HostGit, gitDir: string, entry: TreeEntry): Promise<Uint8Array> {
  const content = await git.stream({
    gitDir,
    args: ["cat-file", "blob", entry.id],
    outputBytes: ANY_FILE_BYTES,
  });
  if (!content.ok) throw new Error(content.error.message);
  return new Uint8Array(content.value.stdout);
}

/** Rejects when the repository or the commit is not there: the caller has fetched it before. */
export function commitFiles(git: HostGit, gitDir: string, sha: string): CommitFiles {
  return {
    read: async (path, maxBytes = DEFAULT_FILE_BYTES) => {
      const entry = await entryAt(git, gitDir, sha, path);
      if (!entry.ok) throw new Error(entry.error.message);
      const found = entry.value;
      if (!found?.mode.startsWith("100") || found.size === null || found.size > maxBytes) return null;
      return contentOf(git, gitDir, found);
    },
    list: async () => {
      const listed = await git.stream({
        gitDir,
        args: ["ls-tree", "-r", "-z", sha],
        outputBytes: LIST_BYTES,
      });
      if (!listed.ok) throw new Error(listed.error.message);
      return parseTree(listed.value.stdout).map(({ path, mode }) => ({ path, mode }));
    },
  };
}

/** Bytes of a file, or the target of a link; null when the path is missing or a directory. */
export async function treeFile(
  git: HostGit,
  gitDir: string,
  treeId: string,
  path: string,
): Promise<Uint8Array | null> {
  const entry = await entryAt(git, gitDir, treeId, path);
  if (!entry.ok) throw new Error(entry.error.message);
  return entry.value?.type === "blob" ? contentOf(git, gitDir, entry.value) : null;
}
