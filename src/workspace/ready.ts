/** Keeps a checkout per repository beside its mirror, and a spare copy of it that the next run gets by a rename; no command ever sees them. */

import { constants } from "node:fs";
import { copyFile, lstat, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "#src/base/log.ts";
import { err, ok, type Result } from "#src/base/result.ts";
import type { HostGit, ToolCall } from "./git.ts";
import { makeOwnedPlace, type Places } from "./places.ts";
import { fetchCommit, makeRepository } from "./pristine.ts";
import { entriesBelow } from "./tree-walk.ts";
import { bringForward, type WorkTree, writeWorkTree } from "./work-tree.ts";
import type { GitFailure } from "./workspace.ts";

/** Each step forward adds a pack; after so many the checkout is made anew. */
const MOST_STEPS = 20;

/** Smaller ones are copied in less time than a spare is worth. */
const SPARE_FROM_FILES = 1_000;

export interface ReadyCheckouts {
  /**
   * Puts a copy of the commit (reflinked where the file system can, never linked) in place: the bare repository at `gitDir` unless
   * that is null, the files with their `.git` at `directory`. Neither may exist. The caller holds the mirror.
   */
  handOut(request: ReadyRequest): Promise<Result<null, GitFailure>>;
  /** Makes the spare for the next run, where one is worth it. The caller holds the mirror. */
  refill(request: Pick<ReadyRequest, "repositoryId" | "mirror" | "sha" | "signal">): Promise<void>;
}

export interface ReadyRequest {
  readonly repositoryId: number;
  /** The repository's mirror, which has the commit. */
  readonly mirror: string;
  readonly sha: string;
  readonly gitDir: string | null;
  readonly directory: string;
  /** A path on the same file system where nothing is yet, to prepare everything before it is put in place. */
  readonly scratch: string;
  readonly signal: AbortSignal;
}

export interface ReadyOptions {
  readonly git: HostGit;
  readonly places: Places;
  readonly log: Log;
}

/** What stands in `made.json` of a template or spare, written last and removed before a change: without it, nothing there counts. */
interface Made {
  readonly sha: string;
  readonly steps: number;
  /** Of everything, for the size of the cache. */
  readonly bytes: number;
  readonly files: number;
  /** After a crash of the whole machine, files may be cut short although they were written. */
  readonly boot: string;
  /** Whom the files belong to; another owner (the setting changed) makes it useless. */
  readonly uid: number;
}

const madeFile = (place: string) => join(place, "made.json");

const templateIn = (place: string) => join(place, "template");
const spareIn = (place: string) => join(place, "spare");

/** Bytes that the kept checkouts of a repository take; 0 when there are none. */
export async function readyBytes(place: string): Promise<number> {
  const made = await Promise.all([templateIn(place), spareIn(place)].map(readMade));
  return made.reduce((sum, one) => sum + (one?.bytes ?? 0), 0);
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}

async function readMade(place: string): Promise<Made | null> {
  const text = await textOf(madeFile(place));
  try {
    const made: unknown = JSON.parse(text);
    return typeof made === "object" && made !== null && "sha" in made && "boot" in made
      ? (made as Made)
      : null;
  } catch {
    // Empty or cut short: the checkout is made anew.
    return null;
  }
}

const bootId = () => textOf("/proc/sys/kernel/random/boot_id");

async function sizeOf(place: string): Promise<{ readonly bytes: number; readonly files: number }> {
  let bytes = 0;
  let files = 0;
  for await (const entry of entriesBelow(place)) {
    if (!entry.isFile) continue;
    files += 1;
    bytes += (await lstat(entry.path)).size;
  }
  return { bytes, files };
}

/** One process reads while another writes: in half the time of `cp` where contents have to be copied. */
const STREAM = `set -euo pipefail
from=$1; to=$2; shift 2
tar -C "$from" -cf - -- "$@" | tar -C "$to" -xpf - --numeric-owner`;

function copyCall(from: string, to: string, reflink: boolean): Omit<ToolCall, "signal"> {
  const parts = ["git", "work", "made.json"];
  if (reflink) {
    const sources = parts.map((part) => join(from, part));
    return { program: "cp", args: ["-a", "--reflink=always", "--", ...sources, to] };
  }
  return { program: "bash", args: ["--noprofile", "--norc", "-c", STREAM, "bash", from, to, ...parts] };
}

/** Asks the file system by trying it with one small file. */
async function canReflink(place: string, scratch: string): Promise<boolean> {
  const probe = join(scratch, "probe");
  try {
    await copyFile(madeFile(place), probe, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    // Whatever stands in the way of sharing blocks: contents are copied then.
    return false;
  } finally {
    await rm(probe, { force: true });
  }
}

/** `to` must not exist; it is there afterwards only when the copy is whole. */
async function copyTemplate(git: HostGit, place: string, to: string, signal: AbortSignal) {
  const fresh = `${to}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  const reflink = await canReflink(templateIn(place), fresh);
  const copied = await git.tool({ ...copyCall(templateIn(place), fresh, reflink), signal });
  if (copied.ok) await rename(fresh, to);
  else await rm(fresh, { recursive: true, force: true });
  return copied;
}

type Wanted = Pick<ReadyRequest, "mirror" | "sha" | "signal">;

export function createReadyCheckouts(options: ReadyOptions): ReadyCheckouts {
  const { git, places, log } = options;
  const uid = places.owner?.uid ?? process.getuid?.() ?? 0;

  const treeIn = (place: string, { sha, signal }: Wanted): WorkTree => ({
    ...{ git, owner: places.owner, sha, signal },
    gitDir: join(place, "git"),
    directory: join(place, "work"),
  });

  /** True when the checkout at this place is that of the commit now; false: it is of no use. */
  const bringTo = async (place: string, wanted: Wanted): Promise<boolean> => {
    const made = await readMade(place);
    if (made === null || made.boot !== (await bootId()) || made.uid !== uid) return false;
    if (made.sha === wanted.sha) return true;
    if (made.steps >= MOST_STEPS) return false;
    await rm(madeFile(place));
    const tree = treeIn(place, wanted);
    const fetched = await fetchCommit(git, tree.gitDir, wanted.mirror, wanted.sha);
    const moved = fetched.ok ? await bringForward(tree, made.sha) : fetched;
    if (!moved.ok) log.info({ place, why: moved.error.message }, "the kept checkout is made anew");
    if (moved.ok)
      await writeFile(
        madeFile(place),
        JSON.stringify({ ...made, sha: wanted.sha, steps: made.steps + 1 } satisfies Made),
      );
    return moved.ok;
  };

  const make = async (place: string, wanted: Wanted): Promise<Result<null, GitFailure>> => {
    await rm(place, { recursive: true, force: true });
    await mkdir(place, { recursive: true, mode: 0o700 });
    const tree = treeIn(place, wanted);
    const repository = await makeRepository(git, tree.gitDir);
    if (!repository.ok) return repository;
    const fetched = await fetchCommit(git, tree.gitDir, wanted.mirror, wanted.sha);
    if (!fetched.ok) return fetched;
    await makeOwnedPlace(places, tree.directory);
    const written = await writeWorkTree(tree);
    if (!written.ok) return written;
    const made: Made = {
      ...(await sizeOf(place)),
      ...{ sha: wanted.sha, steps: 0, boot: await bootId(), uid },
    };
    await writeFile(madeFile(place), JSON.stringify(made));
    return ok(null);
  };

  const bringUpTemplate = async (place: string, wanted: Wanted): Promise<Result<null, GitFailure>> => {
    if (await bringTo(templateIn(place), wanted)) return ok(null);
    if (wanted.signal.aborted) return err({ code: "cancelled", message: "The checkout was cancelled." });
    const made = await make(templateIn(place), wanted);
    if (!made.ok) await rm(place, { recursive: true, force: true });
    return made;
  };

  return {
    handOut: async (request) => {
      const place = places.ready(request.repositoryId);
      const { scratch } = request;
      try {
        if (await bringTo(spareIn(place), request)) await rename(spareIn(place), scratch);
        else {
          const up = await bringUpTemplate(place, request);
          if (!up.ok) return up;
          const copied = await copyTemplate(git, place, scratch, request.signal);
          if (!copied.ok) return copied;
        }
        if (request.gitDir !== null) await rename(join(scratch, "git"), request.gitDir);
        await rename(join(scratch, "work"), request.directory);
        return ok(null);
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    },
    refill: async ({ repositoryId, ...wanted }) => {
      const place = places.ready(repositoryId);
      const made = await readMade(templateIn(place));
      if (made === null || made.files < SPARE_FROM_FILES) return;
      if ((await readMade(spareIn(place))) !== null) return;
      await rm(spareIn(place), { recursive: true, force: true });
      const up = await bringUpTemplate(place, wanted);
      const copied = up.ok ? await copyTemplate(git, place, spareIn(place), wanted.signal) : up;
      if (!copied.ok) log.info({ place, why: copied.error.message }, "no spare checkout was made");
    },
  };
}
