/**
 * Real pipes for a command's output: Node's own are socket pairs, on which `> /dev/stdout` and `tee /dev/stderr` fail.
 * They are named pipes made a few at a time and opened at both ends; their names are gone when the command has them.
 */

import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { hostProgram } from "#src/sandbox/command/host-program.ts";

export interface Pipe {
  /** Non-blocking end for the app. */
  readonly readFd: number;
  /** End for the command; the app closes it right after the start. */
  readonly writeFd: number;
  /** Its name, for a start that cannot be given a descriptor; the app removes it right after the start. */
  readonly path: string;
}

export interface Pipes {
  /** A fresh pipe; rejects only when the directory is gone or full. */
  take(): Promise<Pipe>;
}

/** Three for each command. Starting `mkfifo` takes longer than making a few more names. */
const BATCH = 48;

/** `directory` must exist and be out of the sandbox's sight. */
export function createPipes(directory: string, mkfifo: string): Pipes {
  const ready: string[] = [];
  let made = 0;
  let making: Promise<void> | null = null;

  const make = async () => {
    const paths = Array.from({ length: BATCH }, () => join(directory, `pipe-${made++}`));
    // The command may open its standard output again by name, as another user than the one that made the pipe.
    const { code, said } = await hostProgram(mkfifo, ["-m", "622", ...paths]);
    if (code !== 0) throw new Error(`mkfifo ended with ${code}: ${said.trim()}`);
    ready.push(...paths);
  };
  const refill = () => {
    making ??= make().finally(() => {
      making = null;
    });
    return making;
  };

  return {
    take: async () => {
      while (ready.length === 0) await refill();
      const path = ready.shift() ?? "";
      return open(path);
    },
  };
}

function open(path: string): Pipe {
  const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const writeFd = openSync(path, constants.O_WRONLY);
    return { readFd, writeFd, path };
  } catch (error) {
    closeSync(readFd);
    throw error;
  }
}
