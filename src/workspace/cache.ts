/** The directories that package managers of a repository fill during set-up, kept between its runs and shown to no other repository. */

import { chmod, chown, lstat, mkdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import { messageOf } from "#src/base/result.ts";
import type { Locks } from "./lock.ts";
import { makeDataPlace, makeOwnedPlace, makeRunPlace, namedPlace, type Places } from "./places.ts";
import { entriesBelow, namesIn } from "./tree-walk.ts";
import type { IsFree } from "./workspace.ts";

/** A cache that grew beyond this is begun anew: package managers never forget by themselves. */
const MOST_BYTES = 5 * 1024 ** 3;
const MOST_ENTRIES = 500_000;
const LONG_UNUSED_MS = 30 * 24 * 60 * 60_000;

export interface CacheOptions {
  readonly places: Places;
  readonly locks: Locks;
  readonly clock: Clock;
  readonly log: Log;
  /** Bytes of all caches together, above which the least recently used ones go. */
  readonly capBytes: number;
}

export interface Caches {
  /**
   * Calls `work` with the cache's directory, which belongs to the sandbox's owner. While another run of the repository fills it,
   * this one gets an empty directory of its own and waits for nobody. Once it was used, the directory stays as long as the run
   * has a workspace.
   */
  with<T>(runId: string, repositoryId: number, work: (directory: string) => Promise<T>): Promise<T>;
  /** Repositories that have a cache, or the rest of one. */
  ids(): Promise<readonly number[]>;
  /** Removes it; false when a run uses it or `isFree` says no. */
  drop(repositoryId: number, isFree: IsFree): Promise<boolean>;
}

interface Kept {
  readonly name: string;
  readonly bytes: number;
  readonly usedMs: number;
}

export function createCaches(options: CacheOptions): Caches {
  const { places, locks, clock, log } = options;
  const files = (name: string) => ({
    directory: join(places.caches, name),
    size: join(places.caches, `${name}.size`),
    users: join(places.caches, `${name}.users`),
  });

  const remove = async (name: string) => {
    const { directory, size, users } = files(name);
    for (const path of [directory, size, users]) await rm(path, { recursive: true, force: true });
  };

  /** Runs that still have a workspace, in which later steps read the cache. */
  const isInUse = async (name: string): Promise<boolean> => {
    const { users } = files(name);
    for (const runId of await namesIn(users)) {
      const left = (await namesIn(places.run(runId))).filter((entry) => entry !== "pristine.git");
      if (left.length > 0) return true;
      await rm(join(users, runId), { force: true });
    }
    return false;
  };

  const evict = async (keep: string) => {
    const names = (await namesIn(places.caches)).filter((name) => /^\d+$/.test(name));
    const kept = await Promise.all(names.map((name) => describe(name, files(name).size)));
    let total = kept.reduce((sum, one) => sum + one.bytes, 0);
    for (const one of kept.sort((a, b) => a.usedMs - b.usedMs)) {
      const old = clock.now() - one.usedMs > LONG_UNUSED_MS;
      if (one.name === keep || (total <= options.capBytes && !old)) continue;
      const gone = await locks.tryHold(lockName(one.name), async () => {
        if (await isInUse(one.name)) return false;
        await remove(one.name);
        return true;
      });
      if (gone === true) total -= one.bytes;
    }
  };

  const filled = async <T>(runId: string, name: string, work: (directory: string) => Promise<T>) => {
    const { directory, size, users } = files(name);
    if ((await describe(name, size)).bytes > MOST_BYTES && !(await isInUse(name)))
      await remove(name).catch((error: unknown) =>
        log.warn({ why: messageOf(error) }, "a package cache that grew too large could not be removed"),
      );
    await mkdir(users, { recursive: true });
    await writeFile(join(users, runId), "");
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await chmod(directory, 0o700);
    if (places.owner !== null) await chown(directory, places.owner.uid, places.owner.gid);
    try {
      return await work(directory);
    } finally {
      await writeFile(size, String(await sizeOf(directory)));
      const seconds = clock.now() / 1000;
      await utimes(size, seconds, seconds);
    }
  };

  return {
    with: async (runId, repositoryId, work) => {
      const name = String(Math.trunc(repositoryId));
      await makeDataPlace(places.caches, 0o711);
      await evict(name).catch((error: unknown) =>
        log.warn({ why: messageOf(error) }, "old package caches could not be removed"),
      );
      const done = await locks.tryHold(lockName(name), async () => ({
        value: await filled(runId, name, work),
      }));
      if (done !== null) return done.value;
      await makeRunPlace(places, runId);
      const own = namedPlace(places, runId, "scratch", "cache");
      await makeOwnedPlace(places, own);
      return work(own);
    },
    ids: async () => {
      const names = await namesIn(places.caches);
      return [...new Set(names.flatMap((name) => /^(\d+)(?:\.size|\.users)?$/.exec(name)?.[1] ?? []))].map(
        Number,
      );
    },
    drop: async (repositoryId, isFree) => {
      const name = String(Math.trunc(repositoryId));
      const gone = await locks.tryHold(lockName(name), async () => {
        if ((await isInUse(name)) || !(await isFree())) return false;
        await remove(name);
        return true;
      });
      return gone === true;
    },
  };
}

const lockName = (name: string) => `${name}.cache-lock`;

/** One whose set-up was killed may have no size yet: package managers check what they find, so that it is used all the same. */
async function describe(name: string, sizeFile: string): Promise<Kept> {
  try {
    const text = await readFile(sizeFile, "utf8");
    return { name, bytes: Number(text), usedMs: (await stat(sizeFile)).mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return { name, bytes: 0, usedMs: 0 };
  }
}

/** Commands closed a directory, or made its path too long. */
const UNCOUNTABLE = ["EACCES", "EPERM", "ENAMETOOLONG"];

/** Bytes of the files below a directory that commands filled: no link is followed; infinite when they cannot be counted. */
async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  let entries = 0;
  try {
    for await (const entry of entriesBelow(directory)) {
      if (++entries > MOST_ENTRIES) return Number.POSITIVE_INFINITY;
      if (entry.isFile) bytes += (await lstat(entry.path)).size;
    }
    return bytes;
  } catch (error) {
    if (UNCOUNTABLE.includes((error as NodeJS.ErrnoException).code ?? "")) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
