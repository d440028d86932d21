/** Watches what the kernel does not bound: disk space and files of a session, and memory where no control group holds all of it. */

import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import type { Clock } from "#src/base/clock.ts";
import { hostProgram } from "#src/sandbox/command/host-program.ts";
import { type NamelessBytes, namelessBytes } from "#src/sandbox/command/nameless.ts";

export interface WatchOptions {
  readonly clock: Clock;
  /** Host directories that the session can write. */
  readonly directories: readonly string[];
  /** Also bounds the number of files and directories: one for each `BYTES_PER_FILE`. */
  readonly diskBytes: number;
  /** Null: the kernel bounds the memory of the whole session. */
  readonly memory: {
    readonly limitBytes: number;
    /** `nameless`: files in memory that the processes hold. */
    readonly usedBytes: (nameless: number) => Promise<number>;
  } | null;
  /** Processes of the commands that run now. */
  readonly processes: () => Promise<readonly number[]>;
  /** Command line of du, up to its options. */
  readonly du: readonly string[];
  /** For tests; absent: the system is asked. */
  readonly spaceIn?: (directory: string) => Promise<Space>;
  readonly onBreach: (reason: "disk" | "memory") => void;
  readonly onProblem: (error: unknown) => void;
}

/** What `statfs` says of a file system. */
export type Space = Pick<StatsFs, "bavail" | "bsize" | "blocks" | "files" | "ffree">;

export interface Watch {
  /** Asked before a command starts: why none may, or null. What lies there over the limit may be tidied up; where still more comes beyond twice the limit, nothing runs. */
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
/** Of the file system, or of the limit where that is less: whatever hides what commands write, the rest of the disk is not theirs. */
const RESERVE_SHARE = 50;
const RESERVE_OF_LIMIT = 4;
/** Empty files take no space that du sees, but a file system has only so many. */
const BYTES_PER_FILE = 4_096;

export function createWatch(options: WatchOptions): Watch {
  let running = 0;
  let cancel: (() => void) | null = null;
  let looking = false;
  const { du, directories, diskBytes } = options;
  const nameless = async (): Promise<NamelessBytes> => namelessBytes(await options.processes(), directories);
  const bytesUsed = async () => (await usedBytes(du, directories)) + (await nameless()).onDisk;
  const gauges = [
    createGauge(diskBytes, bytesUsed),
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
    const { bytes, files, reserve } = await freeIn(options);
    const low = gauges[0].fellSinceStart(bytes) && bytes < reserve;
    if (low) options.onBreach("disk");
    const exceeded = [await gauges[0].exceeded(bytes), await gauges[1].exceeded(files)];
    if (!low && exceeded.includes(true)) options.onBreach("disk");
    const { memory } = options;
    if (memory === null) return;
    const used = await memory.usedBytes((await nameless()).elsewhere);
    if (used > memory.limitBytes) options.onBreach("memory");
  };

  const fullAtRest = async () => {
    if (running > 0) return null; // The looks go on.
    const { bytes, files } = await freeIn(options);
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
  /** Much of the file system was taken since the session began, by whomever. */
  fellSinceStart(free: number): boolean;
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
  /** What may lie there when a command starts, once it was twice the limit; null: it is less. */
  let mostAtRest: number | null = null;

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
    fellSinceStart: (free) => {
      freeAtStart ??= free;
      return freeAtStart - free >= step;
    },
    exceeded: async (free) => ((await used(free, freeAtMeasure)) ?? 0) > allowed,
    fullAtRest: async (free) => {
      // A session starts with what the app put there: no command has to wait until that is measured.
      freeAtStart ??= free;
      const found = await used(free, freeAtMeasure ?? freeAtStart);
      if (found === null) return false;
      allowed = found > limit ? found + step : limit;
      // A fast disk takes more than that before the first look: whoever stopped there may still tidy up, but not go on.
      mostAtRest = found <= 2 * limit ? null : (mostAtRest ?? found + limit);
      return mostAtRest !== null && found > mostAtRest;
    },
  };
}

/**
 * Free bytes, how many more files there can be (a file system without a fixed number of them spends bytes on them), and how
 * few bytes must be left: all summed over the directories, also where they share a file system.
 */
async function freeIn({ directories, diskBytes, spaceIn = (directory) => statfs(directory) }: WatchOptions) {
  const each = await Promise.all(directories.map(spaceIn));
  const sum = (part: (entry: Space) => number) => each.reduce((all, entry) => all + part(entry), 0);
  const bytes = sum((entry) => entry.bavail * entry.bsize);
  const files = each.some((entry) => entry.files === 0) ? bytes / BYTES_PER_FILE : sum((e) => e.ffree);
  const reserve = sum((entry) =>
    Math.min((entry.blocks * entry.bsize) / RESERVE_SHARE, diskBytes / RESERVE_OF_LIMIT),
  );
  return { bytes, files, reserve };
}

/** Bytes on disk below the directories, hard links once, without leaving their file systems; what cannot be read is not counted. */
function usedBytes(du: readonly string[], directories: readonly string[]): Promise<number> {
  return total(du, ["-B1", "--", ...directories]);
}

/** Files and directories of all kinds, counted likewise. */
function usedFiles(du: readonly string[], directories: readonly string[]): Promise<number> {
  return total(du, ["--inodes", "--", ...directories]);
}

const SHOWN = 200;

/** Only the sums are printed, and complaints are dropped: closed directories by the thousand would else stop the walk. */
async function total(du: readonly string[], args: readonly string[]): Promise<number> {
  const [program = "du", ...first] = du;
  const all = [...first, "-s", "-x", "-c", ...args];
  const { code, stdout, said } = await hostProgram(program, all, { LC_ALL: "C" });
  const found = /^(\d+)\ttotal$/m.exec(stdout)?.[1];
  if (found !== undefined) return Number(found);
  throw new Error(`du ended with ${code} and no total: ${(stdout || said).slice(0, SHOWN)}`);
}
