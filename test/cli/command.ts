/** Runs the command line as a person would: a process of its own with nothing but the environment it is given. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { processEnvironment } from "#src/config/environment.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Command {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Started {
  /** What it has printed on standard output so far. */
  stdout(): string;
  /** Resolves when standard output holds `pattern`; rejects when the process ends without. */
  prints(pattern: RegExp): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** `code` is null when a signal ended it. */
  readonly ended: Promise<Ended>;
}

/** PATH, HOME, TMPDIR and where Node keeps compiled modules are passed on, unless `env` has others. */
export function startAgentFix(args: readonly string[], { env = {}, cwd }: Command = {}): Started {
  const { PATH, HOME, TMPDIR } = processEnvironment();
  const own = Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined);
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...Object.fromEntries(own), NO_COLOR: "1", ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (piece: string) => {
      text[name] += piece;
    });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...text }));
  });
  return {
    stdout: () => text.stdout,
    prints: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (pattern.test(text.stdout)) resolve();
        };
        child.stdout.on("data", look);
        ended.then(() => reject(new Error(`ended without ${pattern}\n${text.stdout}${text.stderr}`)), reject);
        look();
      }),
    kill: (signal) => child.kill(signal),
    ended,
  };
}

/** The same, to its end. */
export function agentFix(args: readonly string[], command: Command = {}): Promise<Ended> {
  return startAgentFix(args, command).ended;
}
