/** Takes a built tree out of a run's repository as a pack, and puts it into another run's, onto the base of that one. */

import { err, ok, type Result } from "#src/base/result.ts";
import { mergeTrees } from "./apply-tree.ts";
import type { BuildOptions } from "./build-tree.ts";
import { isCommitId } from "./names.ts";
import { parsePaths } from "./parse.ts";
import type { AdoptTreeRequest, GitFailure, PackTreeRequest } from "./workspace.ts";

/** A patch that weighs more is no source code; what is kept of runs must not fill the store. */
const PACK_BYTES = 16 * 1024 * 1024;
const LIST_BYTES = 32 * 1024 * 1024;

export async function packTree(
  { git, pristine }: BuildOptions,
  { runId, repositoryId, baseSha, treeId }: PackTreeRequest,
): Promise<Result<Uint8Array, GitFailure>> {
  const gitDir = await pristine.with(runId, repositoryId, [baseSha]);
  if (!gitDir.ok) return gitDir;
  const packed = await git.stream({
    gitDir: gitDir.value,
    args: ["pack-objects", "--quiet", "--revs", "--stdout"],
    stdin: Buffer.from(`${treeId}\n^${baseSha}^{tree}\n`),
    outputBytes: PACK_BYTES,
  });
  return packed.ok ? ok(packed.value.stdout) : packed;
}

export async function adoptTree(
  options: BuildOptions,
  request: AdoptTreeRequest,
): Promise<Result<{ readonly treeId: string; readonly paths: readonly string[] }, GitFailure>> {
  const { runId, repositoryId, baseSha, ontoSha, pack } = request;
  if (!isCommitId(request.treeId))
    return err({ code: "git_failed", message: `${JSON.stringify(request.treeId)} is not the id of a tree.` });
  const { git, pristine } = options;
  const gitDir = await pristine.with(runId, repositoryId, [baseSha, ontoSha]);
  if (!gitDir.ok) return gitDir;
  const args = ["index-pack", "--stdin", `--max-input-size=${PACK_BYTES}`];
  const indexed = await git.stream({ gitDir: gitDir.value, args, stdin: pack });
  if (!indexed.ok) return indexed;
  const merged = baseSha === ontoSha ? ok({ treeId: request.treeId }) : await mergeTrees(options, request);
  if (!merged.ok) return merged;
  const { treeId } = merged.value;
  const differing = await git.stream({
    gitDir: gitDir.value,
    args: ["diff-tree", "-r", "-z", "--name-only", "--no-renames", ontoSha, treeId, "--"],
    outputBytes: LIST_BYTES,
  });
  return differing.ok
    ? ok({ treeId, paths: parsePaths(differing.value.stdout).map(({ path }) => path) })
    : differing;
}
