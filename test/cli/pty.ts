/** The command line on a pseudo-terminal, through `script` of util-linux: what a person sees, and keys pressed when something is seen. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { processEnvironment } from "#src/config/environment.ts";
import { skipUnless } from "#test/support/tier.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const SEEN_LIMIT_MS = 120_000;

/** For a test's `skip`. */
export const NO_TERMINAL = skipUnless(
  (processEnvironment().PATH ?? "").split(":").some((directory) => existsSync(join(directory, "script"))),
  "the program script (package bsdutils or util-linux-script) is not installed, which makes a terminal",
);

export const CTRL_C = "\u0003";

export interface Sitting {
  /** Everything shown so far, without what only moves the cursor or colours. */
  text(): string;
  /** As it came. */
  raw(): string;
  /** Of agent-fix itself. */
  pid(): number;
  /** Resolves when `pattern` is seen in what was shown after the last match; rejects with the text when it ends or takes too long. */
  sees(pattern: RegExp): Promise<void>;
  press(keys: string): void;
  /** The exit code; of a process that a signal ended, 128 + its number. */
  readonly ended: Promise<number>;
}

export interface SittingPlace {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export function sitDown(args: readonly string[], { env, cwd }: SittingPlace): Sitting {
  const { PATH, HOME, TMPDIR } = processEnvironment();
  const own = Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined);
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(" ");
  const line = `stty cols 100; echo "pid=$$"; exec ${command}`;
  const child = spawn("script", ["--quiet", "--return", "--flush", "--command", line, "/dev/null"], {
    env: { ...Object.fromEntries(own), TERM: "xterm-256color", SHELL: "/bin/sh", ...env },
    cwd,
    stdio: ["pipe", "pipe", "inherit"],
  });
  let raw = "";
  let from = 0;
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of [...listeners]) listener();
  };
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    raw += piece;
    tell();
  });
  let over = false;
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      over = true;
      resolve(code ?? -1);
      tell();
    });
  });
  return {
    text: () => shown(raw),
    raw: () => raw,
    pid: () => Number(/pid=(\d+)/.exec(raw)?.[1] ?? Number.NaN),
    sees: (pattern) =>
      new Promise((resolve, reject) => {
        const settle = (error: Error | null) => {
          listeners.delete(look);
          cancel();
          if (error === null) resolve();
          else reject(error);
        };
        const fail = (why: string) => settle(new Error(`${why}: ${pattern}\n${shown(raw).slice(from)}`));
        const look = () => {
          const match = pattern.exec(shown(raw).slice(from));
          if (match !== null) {
            from += match.index + match[0].length;
            settle(null);
          } else if (over) fail("ended without");
        };
        const cancel = systemClock.timer(SEEN_LIMIT_MS, () => fail("not seen in time"));
        listeners.add(look);
        look();
      }),
    press: (keys) => child.stdin.write(keys),
    ended,
  };
}

const ESC = "\u001b";
const SEQUENCE = new RegExp(`${ESC}\\[[0-9;?]*[A-Za-z]`, "g");
const UNFINISHED = new RegExp(`${ESC}(\\[[0-9;?]*)?$`);

/** Without colours and cursor movements; an escape sequence that is still coming is left out. */
function shown(raw: string): string {
  return raw.replace(SEQUENCE, "").replace(UNFINISHED, "").replaceAll("\r\n", "\n");
}
