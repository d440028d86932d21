/** Puts a built tree into a checkout, and merges it with a commit: the two uses of a tree that make another one. */

import { err, ok, type Result } from "#src/base/result.ts";
import { type BuildOptions, treeWith } from "./build-tree.ts";
import type { HostGit } from "./git.ts";
import { isTreePath } from "./names.ts";
import { parsePaths, parseTree } from "./parse.ts";
import { APPLY, EXCHANGE } from "./scripts.ts";
import type { ApplyTreeRequest, GitFailure, MergedTree, MergeRequest } from "./workspace.ts";

const LIST_BYTES = 32 * 1024 * 1024;
const NO_OBJECT = "0".repeat(40);
/** A merge needs commits; these never leave the run's repository, and equal input gives equal ids. */
const NOBODY = [
  ["user.name", "agent-fix"],
  ["user.email", "agent-fix@localhost"],
] as const;

/** The tree with the paths in `except` as base has them, or absent where base has none. */
async function treeExcept(
  options: BuildOptions,
  gitDir: string,
  request: ApplyTreeRequest,
): Promise<Result<string, GitFailure>> {
  const { runId, baseSha, treeId } = request;
  const except = request.except.filter(isTreePath);
  if (except.length === 0) return ok(treeId);
  const listed = await options.git.stream({
    gitDir,
    args: ["ls-tree", "-r", "-z", baseSha],
    outputBytes: 8 * LIST_BYTES,
  });
  if (!listed.ok) return listed;
  const base = new Map(parseTree(listed.value.stdout).map((entry) => [entry.path, entry]));
  const removals = except.map((path) => `0 ${NO_OBJECT}\t${path}\0`);
  const writes = except.flatMap((path) => {
    const entry = base.get(path);
    return entry?.exact ? [`${entry.mode} ${entry.id}\t${path}\0`] : [];
  });
  return treeWith(options, { runId, gitDir, from: treeId, entries: [...removals, ...writes].join("") });
}

export async function applyTree(
  options: BuildOptions,
  request: ApplyTreeRequest,
): Promise<Result<null, GitFailure>> {
  const { runId, repositoryId, directory, baseSha } = request;
  const gitDir = await options.pristine.with(runId, repositoryId, [baseSha]);
  if (!gitDir.ok) return gitDir;
  const target = await treeExcept(options, gitDir.value, request);
  if (!target.ok) return target;
  return options.withSession({ runId, directory, gitDir: gitDir.value }, async (session) => {
    const applied = await session.run(APPLY, baseSha, target.value);
    if (!applied.ok) return applied;
    const differing = await session.get(EXCHANGE.changed, LIST_BYTES);
    if (!differing.ok) return differing;
    const [first] = parsePaths(differing.value);
    if (first === undefined) return ok(null);
    return err({
      code: "git_failed",
      message: `The checkout still differs from the tree at ${JSON.stringify(first.path)}.`,
    });
  });
}

/** A commit with fixed author and dates. */
async function commitOf(
  git: HostGit,
  gitDir: string,
  tree: string,
  parent: string | null,
): Promise<Result<string, GitFailure>> {
  const made = await git.text({
    gitDir,
    config: NOBODY,
    args: ["commit-tree", ...(parent === null ? [] : ["-p", parent]), "-m", "merge input", tree],
  });
  return made.ok ? ok(made.value.trim()) : made;
}

const MOST_SHOWN = 20;

/** The first paths, and how many more there are: a message for people, out of names that anybody may have chosen. */
function shown(paths: readonly string[]): string {
  const first = paths.slice(0, MOST_SHOWN).join(", ");
  return paths.length > MOST_SHOWN ? `${first} and ${paths.length - MOST_SHOWN} more paths` : first;
}

/**
 * A three-way merge of plain trees: base, ours and theirs become three commits of their own, so that history that is cut
 * off, rewritten or unrelated never changes which base is used (FAULTS E16).
 */
export async function mergeTrees(
  options: BuildOptions,
  request: MergeRequest,
): Promise<Result<MergedTree, GitFailure>> {
  const { git } = options;
  const { baseSha, ontoSha } = request;
  const ready = await options.pristine.with(request.runId, request.repositoryId, [baseSha, ontoSha]);
  if (!ready.ok) return ready;
  const gitDir = ready.value;
  const base = await commitOf(git, gitDir, `${baseSha}^{tree}`, null);
  if (!base.ok) return base;
  const theirs = await commitOf(git, gitDir, `${ontoSha}^{tree}`, base.value);
  if (!theirs.ok) return theirs;
  const ours = await commitOf(git, gitDir, request.treeId, base.value);
  if (!ours.ok) return ours;
  const merged = await git.stream({
    gitDir,
    args: ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", theirs.value, ours.value],
    answers: [1],
  });
  if (!merged.ok) return merged;
  const [tree, ...conflicts] = parsePaths(merged.value.stdout);
  if (merged.value.code === 0 && tree !== undefined) {
    const onto = await git.text({ gitDir, args: ["rev-parse", "--verify", `${ontoSha}^{tree}`] });
    return onto.ok ? ok({ treeId: tree.path, adds: tree.path !== onto.value.trim() }) : onto;
  }
  const paths = [...new Set(conflicts.map(({ path }) => path))].sort();
  return err({ code: "conflict", message: `The change conflicts with the branch in ${shown(paths)}.` });
}
