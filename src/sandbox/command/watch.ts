/** Watches what the kernel does not bound: disk space and files of a session, and memory where no control group holds all of it. */

import { execFile } from "node:child_process";
import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import type { Clock } from "#src/base/clock.ts";
import { family, memoryOf } from "#src/sandbox/command/processes.ts";

export interface WatchOptions {
  readonly clock: Clock;
  /** Host directories that the session can write. */
  readonly directories: readonly string[];
  /** Also bounds the number of files and directories: one for each `BYTES_PER_FILE`. */
  readonly diskBytes: number;
  /** Null: the kernel bounds the memory of the whole session. */
  readonly memory: { readonly limitBytes: number; readonly usedBytes: () => Promise<number> } | null;
  /** Absolute path of du. */
  readonly du: string;
  readonly onBreach: (reason: "disk" | "memory") => void;
  readonly onProblem: (error: unknown) => void;
}

export interface Watch {
  /** Asked before a command starts: why none may, or null. What lies there over the limit may be tidied up, at twice the limit nothing runs. */
  ready(): Promise<string | null>;
  /** Looks every second while at least one command runs. */
  started(): void;
  ended(): void;
}

export const WATCH_INTERVAL_MS = 1_000;
/** Free space must fall by this part of the limit before the tree is measured again: one system call instead of a walk. */
const REMEASURE_SHARE = 16;
/** Others who free space on the same file system hide what was written here: after so many times it is measured all the same. */
const MOST_SKIPPED = 16;
/** Empty files take no space that du sees, but a file system has only so many. */
const BYTES_PER_FILE = 4_096;

export function createWatch(options: WatchOptions): Watch {
  let running = 0;
  let cancel: (() => void) | null = null;
  let looking = false;
  const { du, directories, diskBytes } = options;
  const gauges = [
    createGauge(diskBytes, () => usedBytes(du, directories)),
    createGauge(diskBytes / BYTES_PER_FILE, () => usedFiles(du, directories)),
  ] as const;

  const schedule = () => {
    cancel = options.clock.timer(WATCH_INTERVAL_MS, () => {
      schedule();
      if (looking) return;
      looking = true;
      look()
        .catch(options.onProblem)
        .finally(() => {
          looking = false;
        });
    });
  };

  const look = async () => {
    const [bytes, files] = await freeIn(directories);
    const exceeded = [await gauges[0].exceeded(bytes), await gauges[1].exceeded(files)];
    if (exceeded.includes(true)) options.onBreach("disk");
    const { memory } = options;
    if (memory !== null && (await memory.usedBytes()) > memory.limitBytes) options.onBreach("memory");
  };

  const fullAtRest = async () => {
    if (running > 0) return null; // The looks go on.
    const [bytes, files] = await freeIn(directories);
    const full = [await gauges[0].fullAtRest(bytes), await gauges[1].fullAtRest(files)];
    return full.includes(true) ? FULL : null;
  };

  return {
    ready: () =>
      fullAtRest().catch((error: unknown) => {
        options.onProblem(error);
        return null;
      }),
    started: () => {
      running += 1;
      if (cancel === null) schedule();
    },
    ended: () => {
      running -= 1;
      if (running > 0) return;
      cancel?.();
      cancel = null;
    },
  };
}

const FULL =
  "the commands of this session have left twice as many bytes or files as the disk limit allows; nothing can run here any more";

interface Gauge {
  /** While commands run: they wrote more than they may. */
  exceeded(free: number): Promise<boolean>;
  /** While none runs: what is there is more than anybody may leave behind. */
  fullAtRest(free: number): Promise<boolean>;
}

/** Measures only when the free rest of the file system has fallen far enough since it did last, or was over the limit then. */
function createGauge(limit: number, measure: () => Promise<number>): Gauge {
  const step = limit / REMEASURE_SHARE;
  let freeAtStart: number | null = null;
  let freeAtMeasure: number | null = null;
  let over = false;
  let skipped = 0;
  /** The next command may leave as much as lies there when it starts, and a little more: it may be the one that tidies up. */
  let allowed = limit;

  /** Null: nothing worth measuring has happened since `before` was free. */
  const used = async (free: number, before: number | null): Promise<number | null> => {
    const fell = before === null || before - free >= step;
    if (!over && !fell && skipped++ < MOST_SKIPPED) return null;
    skipped = 0;
    const found = await measure();
    over = found > limit;
    freeAtMeasure = free;
    return found;
  };
  return {
    exceeded: async (free) => ((await used(free, freeAtMeasure)) ?? 0) > allowed,
    fullAtRest: async (free) => {
      // A session starts with what the app put there: no command has to wait until that is measured.
      freeAtStart ??= free;
      const found = await used(free, freeAtMeasure ?? freeAtStart);
      if (found !== null) allowed = found > limit ? found + step : limit;
      return (found ?? 0) > 2 * limit;
    },
  };
}

/** Free bytes, and how many more files there can be: a file system without a fixed number of them spends bytes on them. */
async function freeIn(directories: readonly string[]): Promise<readonly [bytes: number, files: number]> {
  const each = await Promise.all(directories.map((directory) => statfs(directory)));
  const sum = (part: (entry: StatsFs) => number) => each.reduce((all, entry) => all + part(entry), 0);
  const bytes = sum((entry) => entry.bavail * entry.bsize);
  return [bytes, each.some((entry) => entry.files === 0) ? bytes / BYTES_PER_FILE : sum((e) => e.ffree)];
}

/** Memory of the processes that descend from these, in bytes. */
export async function memoryBelow(roots: readonly number[]): Promise<number> {
  return memoryOf((await Promise.all(roots.map(family))).flat());
}

/** Bytes on disk below the directories, hard links once, without leaving their file systems; what cannot be read is not counted. */
export function usedBytes(du: string, directories: readonly string[]): Promise<number> {
  return total(du, ["-B1", "--", ...directories]);
}

/** Files and directories of all kinds, counted likewise. */
function usedFiles(du: string, directories: readonly string[]): Promise<number> {
  return total(du, ["--inodes", "--", ...directories]);
}

function total(du: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    execFile(du, ["-s", "-x", "-c", ...args], { env: { LC_ALL: "C" } }, (error, stdout) => {
      const found = /^(\d+)\ttotal$/m.exec(stdout)?.[1];
      if (found !== undefined) resolve(Number(found));
      else reject(error ?? new Error(`du printed no total: ${stdout.slice(0, 200)}`));
    });
  });
}
