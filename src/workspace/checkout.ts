/** Throw-away copies of a commit to work in, and their removal. */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { thrownFailure } from "./failure.ts";
import type { HostGit } from "./git.ts";
import type { Mirrors } from "./mirror.ts";
import { isCommitId } from "./names.ts";
import { makeOwnedPlace, makeRunPlace, namedPlace, type Places } from "./places.ts";
import type { Pristine } from "./pristine.ts";
import type { ReadyCheckouts } from "./ready.ts";
import { COPY, EMPTY, INSIDE } from "./scripts.ts";
import type { WithGitSession } from "./session-git.ts";
import { missingIsNull, writeWorkTree } from "./work-tree.ts";
import type { GitFailure } from "./workspace.ts";

export interface CheckoutOptions {
  readonly git: HostGit;
  readonly mirrors: Mirrors;
  readonly ready: ReadyCheckouts;
  readonly pristine: Pristine;
  readonly ids: Ids;
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

export async function checkout(
  options: CheckoutOptions,
  request: CheckoutRequest,
): Promise<Result<string, GitFailure>> {
  const { places } = options;
  const { runId, repositoryId, sha, signal } = request;
  if (signal.aborted) return err({ code: "cancelled", message: "The checkout was cancelled." });
  if (!isCommitId(sha))
    return err({ code: "not_found", message: `${JSON.stringify(sha)} is not a commit id.` });
  const directory = namedPlace(places, runId, "work", request.name);
  try {
    await makeRunPlace(places, runId);
    await rm(directory, { recursive: true, force: true });
    const isFirst = (await options.pristine.find(runId)) === null;
    const copied = await options.mirrors.read(repositoryId, (mirror) =>
      options.ready.handOut({
        ...{ repositoryId, mirror, sha, directory, signal },
        gitDir: isFirst ? places.pristine(runId) : null,
        scratch: join(places.run(runId), `git-${options.ids.hex(6)}`),
      }),
    );
    if (copied.ok) {
      refillLater(options, repositoryId, sha);
      return ok(directory);
    }
    if (copied.error.code === "cancelled") return copied;
    options.log.info({ why: copied.error.message }, "the checkout is written from the mirror itself");
    return await checkoutPlainly(options, request, directory);
  } catch (error) {
    return err(thrownFailure("making a checkout", error, options.redactor));
  }
}

/** Nobody waits for it: what goes wrong is told in the log, and the next checkout copies. */
function refillLater(
  { mirrors, ready, log, redactor }: CheckoutOptions,
  repositoryId: number,
  sha: string,
): void {
  const { signal } = new AbortController();
  mirrors
    .read(repositoryId, async (mirror) => {
      await ready.refill({ repositoryId, mirror, sha, signal });
      return ok(null);
    })
    .catch((error: unknown) =>
      log.info({ why: redactor.redact(messageOf(error)) }, "no spare checkout was made"),
    );
}

/** Without a kept checkout: for a disk that has no room for one, a mirror that was evicted since the run has its own repository, and to find out what a damaged one lacks. */
async function checkoutPlainly(
  { git, places, pristine }: CheckoutOptions,
  { runId, repositoryId, sha, signal }: CheckoutRequest,
  directory: string,
): Promise<Result<string, GitFailure>> {
  const repository = await pristine.with(runId, repositoryId, [sha]);
  if (!repository.ok) return repository;
  await makeOwnedPlace(places, directory);
  const { owner } = places;
  const written = await writeWorkTree({ git, owner, gitDir: repository.value, directory, sha, signal });
  return written.ok ? ok(directory) : written;
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
