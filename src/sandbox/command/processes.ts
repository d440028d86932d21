/** What /proc says about processes: who is alive, who descends from whom, who carries our marker. */

import { readdir, readFile, stat } from "node:fs/promises";
import type { Clock } from "#src/base/clock.ts";

/** True while the process can still run code; a zombie cannot, it only waits for its parent to ask. */
export async function isAlive(pid: number): Promise<boolean> {
  const text = await readProc(pid, "stat");
  if (text === null) return false;
  const state = text.slice(text.lastIndexOf(")") + 2, text.lastIndexOf(")") + 3);
  return state !== "Z" && state !== "X";
}

/** When the process started, in the kernel's ticks since boot: with it a number that was given anew is told apart. Null: it cannot be read. */
export async function startTime(pid: number): Promise<string | null> {
  const text = await readProc(pid, "stat");
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}

/** True when there is a process of this number, also one that is somebody else's. */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH")) return false;
    if (isErrno(error, "EPERM")) return true;
    throw error;
  }
}

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 20;

/** Waits until the process is dead; false when it still lives after `withinMs` milliseconds. */
export async function waitForDeath(pid: number, withinMs: number, clock: Clock): Promise<boolean> {
  const deadline = clock.now() + withinMs;
  for (let pause = FIRST_PAUSE_MS; await isAlive(pid); pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    if (clock.now() >= deadline) return false;
    await clock.sleep(pause);
  }
  return true;
}

/** The process and everything below it. Orphans inside a pid namespace hang below its first process, so none is missed there. */
export async function family(root: number): Promise<readonly number[]> {
  const found = [root];
  for (const pid of found) {
    for (const task of await listProc(`${pid}/task`)) {
      const children = (await readProc(pid, `task/${task}/children`)) ?? "";
      found.push(...children.split(" ").filter(Boolean).map(Number));
    }
  }
  return found;
}

/** The same for several. */
export async function families(roots: readonly number[]): Promise<readonly number[]> {
  return [...new Set((await Promise.all(roots.map(family))).flat())];
}

/**
 * Bytes of memory that belong to the processes themselves (anonymous and shared memory, not file cache). `nameless`: bytes of
 * files in memory that they hold open, mapped or not.
 */
export async function memoryOf(pids: readonly number[], nameless: number): Promise<number> {
  const each = await Promise.all(
    pids.map(async (pid) => {
      const status = (await readProc(pid, "status")) ?? "";
      return { own: kilobytes(status, "RssAnon"), shared: kilobytes(status, "RssShmem") };
    }),
  );
  const sum = (part: "own" | "shared") => each.reduce((all, one) => all + one[part], 0) * 1024;
  return sum("own") + Math.max(sum("shared"), nameless);
}

/** Ticks of the kernel's process times a second, the same on every Linux. */
const TICKS = 100;

/** Processor seconds of the processes and of their children that are gone and were collected. */
export async function cpuSecondsOf(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(
    pids.map(async (pid) => {
      const text = (await readProc(pid, "stat")) ?? "";
      // After the name, which may hold anything: utime, stime, cutime and cstime are the 12th to the 15th.
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    }),
  );
  return each.reduce((sum, ticks) => sum + ticks, 0) / TICKS;
}

function kilobytes(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
}

/** Living processes one of whose command-line arguments starts with the text. */
export async function withArgument(prefix: string): Promise<readonly number[]> {
  return living("cmdline", (value) => value.startsWith(prefix));
}

/** True while this very process lives and one of its arguments starts with the text: a pid alone may have been given to another. */
export async function carries(pid: number, prefix: string): Promise<boolean> {
  const text = (await readProc(pid, "cmdline")) ?? "";
  return text.split("\0").some((value) => value.startsWith(prefix));
}

/** Living processes whose initial environment has an entry that starts with the text; for anyone but root only the user's own. */
export async function withEnvironment(prefix: string): Promise<readonly number[]> {
  return living("environ", (value) => value.startsWith(prefix));
}

async function living(file: string, matches: (value: string) => boolean): Promise<readonly number[]> {
  const pids = (await listProc("")).filter((name) => /^\d+$/.test(name)).map(Number);
  const checked = await Promise.all(
    pids.map(async (pid) => {
      if (pid === process.pid) return [];
      const text = (await readProc(pid, file)) ?? "";
      return text.split("\0").some(matches) && (await isAlive(pid)) ? [pid] : [];
    }),
  );
  return checked.flat();
}

/** Sends SIGKILL; a process that is gone, or that belongs to somebody else, is left alone (false). */
export function killProcess(pid: number): boolean {
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH") || isErrno(error, "EPERM")) return false;
    throw error;
  }
}

export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** Null: the process ended, or is not ours to look at. */
async function readProc(pid: number, file: string): Promise<string | null> {
  try {
    return await readFile(`/proc/${pid}/${file}`, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return null;
    throw error;
  }
}

async function listProc(path: string): Promise<readonly string[]> {
  try {
    return await readdir(`/proc/${path}`);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return [];
    throw error;
  }
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return false;
    throw error;
  }
}
