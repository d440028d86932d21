/** A lock on a name that holds across processes, and that a killed holder leaves behind without harm. */

import {
  link,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import { keyedQueue } from "./keyed-queue.ts";

const POLL_MS = 100;
/** A holder in another process-id namespace can't be looked up; unless we are known to be alone, it counts as dead after this long without a sign of life. */
const FOREIGN_HOLDER_MS = 60 * 60_000;

interface Holder {
  readonly pid: number;
  /** Start time of that process in clock ticks since boot, so that a reused id is not taken for it. */
  readonly started: string;
  readonly namespace: string;
  /** Process group working for the holder; the next one ends it if the holder died. */
  readonly group: { readonly pid: number; readonly started: string } | null;
}

export interface Held {
  /** Records a process group that works under the lock. */
  working(pid: number): Promise<void>;
}

export interface Locks {
  /** Runs `work` while holding the name. Rejects with the signal's reason when aborted while waiting. */
  hold<T>(name: string, signal: AbortSignal, work: (held: Held) => Promise<T>): Promise<T>;
  /** As `hold`, but null at once when somebody else holds it. */
  tryHold<T>(name: string, work: (held: Held) => Promise<T>): Promise<T | null>;
}

/** Field 22 of /proc/<pid>/stat; empty where there is no such process (or no /proc: then the id alone counts). */
async function startTime(pid: number): Promise<string> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === "ESRCH") return "";
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

async function isAlive(process_: { readonly pid: number; readonly started: string }): Promise<boolean> {
  try {
    process.kill(process_.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
  return (await startTime(process_.pid)) === process_.started;
}

/** Ends what a dead holder left running; a group that is gone meanwhile is what was wanted. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Null: given back. Files are put in place whole, so what is no holder was left by a machine that lost its power, and by nobody who lives. */
function readHolder(text: string): Holder | null {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "object" && read !== null && "pid" in read ? (read as Holder) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

async function ownNamespace(): Promise<string> {
  try {
    return await readlink("/proc/self/ns/pid");
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}

/**
 * Locks are numbered files `<name>.<n>`; the highest number is the lock. It is free when its holder gave it back or died,
 * and is then taken by creating the next number, which only one contender can. The highest file is never removed, so
 * numbers only grow, and a late contender that creates a lower number sees that it is not the highest and steps back.
 * `alone`: no living process but this one uses the directory, so that a container that was killed holds up no successor.
 */
export function createLocks(directory: string, clock: Clock, ids: Ids, alone = false): Locks {
  const queue = keyedQueue();
  const fileOf = (name: string, number: number) => join(directory, `${name}.${number}`);

  const numbers = async (name: string) =>
    (await readdir(directory))
      .filter((file) => file.startsWith(`${name}.`) && /^\d+$/.test(file.slice(name.length + 1)))
      .map((file) => Number(file.slice(name.length + 1)))
      .sort((a, b) => b - a);

  const isFree = async (path: string): Promise<boolean> => {
    const holder = readHolder(await readFile(path, "utf8"));
    if (holder === null) return true;
    if (holder.namespace !== (await ownNamespace()))
      return alone || clock.now() - (await stat(path)).mtimeMs > FOREIGN_HOLDER_MS;
    if (await isAlive({ pid: holder.pid, started: holder.started })) return false;
    if (holder.group !== null && (await isAlive(holder.group))) killGroup(holder.group.pid);
    return true;
  };

  const write = async (path: string, holder: Holder) => {
    const fresh = join(directory, `new-${ids.hex(8)}`);
    try {
      await writeFile(fresh, JSON.stringify(holder));
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
    return {
      place: () => link(fresh, path),
      replace: () => rename(fresh, path),
      drop: () => rm(fresh, { force: true }),
    };
  };

  /** The path of the lock file now held, or null when another contender holds the name. */
  const tryTake = async (name: string, self: Holder): Promise<string | null> => {
    try {
      const highest = (await numbers(name))[0] ?? 0;
      if (highest > 0 && !(await isFree(fileOf(name, highest)))) return null;
      const path = fileOf(name, highest + 1);
      const file = await write(path, self);
      try {
        await file.place();
      } finally {
        await file.drop();
      }
      const [now = 0, ...older] = await numbers(name);
      if (now !== highest + 1) {
        await rm(path, { force: true });
        return null;
      }
      await Promise.all(older.map((number) => rm(fileOf(name, number), { force: true })));
      return path;
    } catch (error) {
      // Somebody else took this number, or removed the file that was being read: look again.
      if ((error as NodeJS.ErrnoException).code === "EEXIST" || isMissing(error)) return null;
      throw error;
    }
  };

  const holding = async <T>(path: string, self: Holder, work: (held: Held) => Promise<T>): Promise<T> => {
    try {
      return await work({
        working: async (pid) => {
          const file = await write(path, { ...self, group: { pid, started: await startTime(pid) } });
          await file.replace();
        },
      });
    } finally {
      // Given back means empty: cutting a file short works on a full disk too.
      await truncate(path);
    }
  };

  const prepare = async (): Promise<Holder> => {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const started = await startTime(process.pid);
    return { pid: process.pid, started, namespace: await ownNamespace(), group: null };
  };

  return {
    hold: (name, signal, work) =>
      queue.run(name, async () => {
        const self = await prepare();
        for (;;) {
          signal.throwIfAborted();
          const path = await tryTake(name, self);
          if (path !== null) return holding(path, self, work);
          await clock.sleep(POLL_MS, signal);
        }
      }),
    tryHold: async (name, work) => {
      if (queue.isBusy(name)) return null;
      return queue.run(name, async () => {
        const self = await prepare();
        const path = await tryTake(name, self);
        return path === null ? null : holding(path, self, work);
      });
    },
  };
}
