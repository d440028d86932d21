/** The run's own bare repository: the objects of its commits, copied out of the mirror, and the trees built from them. */

import { access, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Redactor } from "#src/base/redact.ts";
import { err, ok, type Result } from "#src/base/result.ts";
import { thrownFailure } from "./failure.ts";
import type { HostGit } from "./git.ts";
import { keyedQueue } from "./keyed-queue.ts";
import type { Mirrors } from "./mirror.ts";
import { isCommitId } from "./names.ts";
import { makeRunPlace, type Places } from "./places.ts";
import type { GitFailure } from "./workspace.ts";

/** Commits of history that a checkout has: enough for `log` and `blame`, without copying twenty years of a large project. */
export const HISTORY_DEPTH = 200;

/**
 * Wins over every `.gitattributes`: no line end, keyword or encoding is converted, and no filter, textconv, diff or merge
 * driver is looked up, so that trees hold the exact bytes of the files.
 */
const EXACT_BYTES = "* -text !eol !filter !diff !merge -ident !working-tree-encoding !crlf\n";

export interface Pristine {
  /** The run's repository with these commits in it; made at first use. */
  with(runId: string, repositoryId: number, shas: readonly string[]): Promise<Result<string, GitFailure>>;
  /** The run's repository, whatever is in it; null when there is none. */
  find(runId: string): Promise<string | null>;
}

export interface PristineOptions {
  readonly git: HostGit;
  readonly mirrors: Mirrors;
  readonly places: Places;
  readonly redactor: Redactor;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/**
 * A bare repository of the app's own. The sandbox only ever sees it read-only, so its configuration stays what is written
 * here; its files are readable for the sandbox's user whatever the app's umask is.
 */
export async function makeRepository(git: HostGit, path: string): Promise<Result<null, GitFailure>> {
  const fresh = `${path}.new`;
  await rm(fresh, { recursive: true, force: true });
  const made = await git.text({
    args: ["init", "--quiet", "--bare", "--template=", "--shared=0644", "--", fresh],
  });
  if (!made.ok) return made;
  await mkdir(join(fresh, "info"), { recursive: true });
  await writeFile(join(fresh, "info", "attributes"), EXACT_BYTES, { mode: 0o644 });
  await rename(fresh, path);
  return ok(null);
}

/** Through the pack protocol and not by copying files: a damaged or hostile pack does not get in, and only what is needed does. */
export async function fetchCommit(
  git: HostGit,
  path: string,
  mirror: string,
  sha: string,
): Promise<Result<null, GitFailure>> {
  const fetched = await git.stream({
    args: [
      "fetch",
      "--quiet",
      `--depth=${HISTORY_DEPTH}`,
      "--no-write-fetch-head",
      "--no-recurse-submodules",
      "--",
      mirror,
      `+${sha}:refs/agent-fix/${sha}`,
    ],
    gitDir: path,
    protocol: "file",
  });
  return fetched.ok ? ok(null) : fetched;
}

export function createPristine({ git, mirrors, places, redactor }: PristineOptions): Pristine {
  const queue = keyedQueue();

  const hasCommit = async (path: string, sha: string) =>
    (await git.text({ args: ["cat-file", "-e", `${sha}^{commit}`], gitDir: path })).ok;

  const copyIn = async (
    path: string,
    repositoryId: number,
    sha: string,
  ): Promise<Result<null, GitFailure>> => {
    const fetched = await mirrors.read(repositoryId, (mirror) => fetchCommit(git, path, mirror, sha));
    if (!fetched.ok && fetched.error.code === "git_failed") await mirrors.distrust(repositoryId);
    return fetched;
  };

  const ensure = async (
    runId: string,
    repositoryId: number,
    shas: readonly string[],
  ): Promise<Result<string, GitFailure>> => {
    const path = places.pristine(runId);
    const wrong = shas.find((sha) => !isCommitId(sha));
    if (wrong !== undefined)
      return err({ code: "not_found", message: `${JSON.stringify(wrong)} is not a commit id.` });
    await makeRunPlace(places, runId);
    if (!(await isThere(path))) {
      const made = await makeRepository(git, path);
      if (!made.ok) return made;
    }
    for (const sha of shas) {
      if (await hasCommit(path, sha)) continue;
      const copied = await copyIn(path, repositoryId, sha);
      if (!copied.ok) return copied;
    }
    return ok(path);
  };

  return {
    with: (runId, repositoryId, shas) =>
      queue.run(runId, async () => {
        try {
          return await ensure(runId, repositoryId, shas);
        } catch (error) {
          return err(thrownFailure("preparing the run's repository", error, redactor));
        }
      }),
    find: async (runId) => {
      const path = places.pristine(runId);
      return (await isThere(path)) ? path : null;
    },
  };
}
