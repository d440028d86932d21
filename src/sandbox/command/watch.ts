/** Watches what the kernel does not bound: disk space of a session, and memory where there are no control groups. */

import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import type { Clock } from "#src/base/clock.ts";
import { family, memoryOf } from "#src/sandbox/command/processes.ts";

export interface WatchOptions {
  readonly clock: Clock;
  /** Host directories that the session can write. */
  readonly directories: readonly string[];
  readonly diskBytes: number;
  /** Null: the kernel bounds memory. */
  readonly memoryBytes: number | null;
  /** Host pids of the sandboxes' first processes. */
  readonly roots: () => readonly number[];
  /** Absolute path of du. */
  readonly du: string;
  readonly onBreach: (reason: "disk" | "memory") => void;
  readonly onProblem: (error: unknown) => void;
}

export interface Watch {
  /** Looks every second while at least one command runs. */
  started(): void;
  ended(): void;
}

export const WATCH_INTERVAL_MS = 1_000;
/** Free space must fall by this part of the limit before the tree is measured again: one system call instead of a walk. */
const REMEASURE_SHARE = 16;

export function createWatch(options: WatchOptions): Watch {
  let running = 0;
  let cancel: (() => void) | null = null;
  let looking = false;
  /** Free bytes of the file system when the tree was measured last. */
  let freeAtMeasure: number | null = null;

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
    if (await diskIsFull()) options.onBreach("disk");
    if (options.memoryBytes === null) return;
    const families = await Promise.all(options.roots().map(family));
    if ((await memoryOf(families.flat())) > options.memoryBytes) options.onBreach("memory");
  };

  const diskIsFull = async () => {
    const free = await freeBytes(options.directories);
    if (freeAtMeasure !== null && freeAtMeasure - free < options.diskBytes / REMEASURE_SHARE) return false;
    const used = await usedBytes(options.du, options.directories);
    const full = used > options.diskBytes;
    // Over the limit, the next look measures again: the command may be the one that tidies up.
    freeAtMeasure = full ? null : free;
    return full;
  };

  return {
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

async function freeBytes(directories: readonly string[]): Promise<number> {
  const each = await Promise.all(directories.map((directory) => statfs(directory)));
  return each.reduce((sum, entry) => sum + entry.bavail * entry.bsize, 0);
}

/** Bytes on disk below the directories, hard links once, without leaving their file systems; what cannot be read is not counted. */
export function usedBytes(du: string, directories: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    execFile(
      du,
      ["-s", "-x", "-c", "-B1", "--", ...directories],
      { env: { LC_ALL: "C" } },
      (error, stdout) => {
        const total = /^(\d+)\ttotal$/m.exec(stdout)?.[1];
        if (total !== undefined) resolve(Number(total));
        else reject(error ?? new Error(`du printed no total: ${stdout.slice(0, 200)}`));
      },
    );
  });
}
