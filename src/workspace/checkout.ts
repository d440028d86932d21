/** Throw-away copies of a commit to work in, and their removal. */

import { constants } from "node:fs";
import { copyFile, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { thrownFailure } from "./failure.ts";
import type { HostGit } from "./git.ts";
import { giveToOwner, makeOwnedPlace, makeRunPlace, namedPlace, type Places } from "./places.ts";
import type { Pristine } from "./pristine.ts";
import { COPY, EMPTY, INSIDE } from "./scripts.ts";
import type { WithGitSession } from "./session-git.ts";
import type { GitFailure } from "./workspace.ts";

export interface CheckoutOptions {
  readonly git: HostGit;
  readonly pristine: Pristine;
  readonly withSession: WithGitSession;
  readonly places: Places;
  readonly redactor: Redactor;
  readonly log: Log;
}

export interface CheckoutRequest {
  readonly runId: string;
  readonly repositoryId: number;
  readonly sha: string;
  readonly name: string;
  readonly signal: AbortSignal;
}

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

async function missingIsNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Copies packs (reflinked where the file system can) into a `.git` of its own: no link or path leads back to the run's repository. */
async function makeAgentGit(
  git: HostGit,
  pristine: string,
  directory: string,
  sha: string,
): Promise<Result<null, GitFailure>> {
  const own = join(directory, ".git");
  for (const path of ["objects/pack", "objects/info", "refs/heads", "refs/tags", "info"])
    await mkdir(join(own, path), { recursive: true, mode: 0o755 });
  for (const name of await readdir(join(pristine, "objects", "pack")))
    await copyFile(
      join(pristine, "objects", "pack", name),
      join(own, "objects", "pack", name),
      constants.COPYFILE_FICLONE,
    );
  await missingIsNull(copyFile(join(pristine, "shallow"), join(own, "shallow")));
  const tags = await git.text({
    gitDir: pristine,
    args: ["for-each-ref", "--format=%(objectname) %(refname)", "refs/tags"],
  });
  if (!tags.ok) return tags;
  await writeFile(join(own, "packed-refs"), `${sha} refs/heads/work\n${tags.value}`);
  await writeFile(join(own, "config"), AGENT_CONFIG);
  await writeFile(join(own, "HEAD"), "ref: refs/heads/work\n");
  return ok(null);
}

export async function checkout(
  options: CheckoutOptions,
  request: CheckoutRequest,
): Promise<Result<string, GitFailure>> {
  const { git, places } = options;
  const { runId, sha, signal } = request;
  if (signal.aborted) return err({ code: "cancelled", message: "The checkout was cancelled." });
  const ready = await options.pristine.with(runId, request.repositoryId, [sha]);
  if (!ready.ok) return ready;
  const directory = namedPlace(places, runId, "work", request.name);
  try {
    await makeOwnedPlace(places, directory);
    const made = await makeAgentGit(git, ready.value, directory, sha);
    if (!made.ok) return made;
    // Nothing else runs in the new directory yet, and git itself follows no link of the tree it writes. The files are given
    // to the sandbox's user afterwards, so that it needs no way of its own to a data directory that may be private.
    const scope = {
      gitDir: ready.value,
      workTree: directory,
      indexFile: join(directory, ".git", "index"),
      signal,
    };
    const read = await git.stream({ ...scope, args: ["read-tree", sha] });
    if (!read.ok) return read;
    const written = await git.stream({
      ...scope,
      args: ["checkout-index", "--all", "--force", "--index", "--quiet"],
    });
    if (!written.ok) return written;
    await giveToOwner(places, directory);
    return ok(directory);
  } catch (error) {
    return err(thrownFailure("making a checkout", error, options.redactor));
  }
}

export async function copyCheckout(
  options: CheckoutOptions,
  request: { readonly runId: string; readonly from: string; readonly name: string },
): Promise<Result<string, GitFailure>> {
  const { places } = options;
  const target = namedPlace(places, request.runId, "work", request.name);
  try {
    await makeRunPlace(places, request.runId);
    await makeOwnedPlace(places, target);
  } catch (error) {
    return err(thrownFailure("copying a checkout", error, options.redactor));
  }
  const mounts = [{ source: target, target: INSIDE.copy, mode: "rw" } as const];
  return options.withSession(
    { runId: request.runId, directory: request.from, gitDir: null, mounts },
    async (session) => {
      const copied = await session.run(COPY);
      return copied.ok ? ok(target) : copied;
    },
  );
}

export async function makeScratch(options: CheckoutOptions, runId: string, name: string): Promise<string> {
  await makeRunPlace(options.places, runId);
  const path = namedPlace(options.places, runId, "scratch", name);
  await makeOwnedPlace(options.places, path);
  return path;
}

/** Removes one directory of a run; what stops the plain removal is emptied first by the user that made it. */
async function removeTree(options: CheckoutOptions, runId: string, path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
    return;
  } catch (error) {
    options.log.info({ path, why: messageOf(error) }, "the directory is emptied from inside a sandbox");
  }
  const emptied = await options.withSession({ runId, directory: path, gitDir: null }, (session) =>
    session.run(EMPTY),
  );
  if (!emptied.ok)
    options.log.warn({ path, why: emptied.error.message }, "the directory could not be emptied");
  await rm(path, { recursive: true, force: true });
}

/** Removes everything of a run, or everything but the repository that its trees are in. */
export async function removeRun(options: CheckoutOptions, runId: string, keepTree: boolean): Promise<void> {
  const place = options.places.run(runId);
  for (const name of (await missingIsNull(readdir(place))) ?? []) {
    if (keepTree && name === "pristine.git") continue;
    await removeTree(options, runId, join(place, name));
  }
  if (!keepTree) await rm(place, { recursive: true, force: true });
}

export async function leftovers(places: Places): Promise<readonly string[]> {
  const entries = (await missingIsNull(readdir(places.runs, { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}
