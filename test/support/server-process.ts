/** The real server as a child process: `node src/cli/main.ts serve` with nothing but environment variables. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { processEnvironment } from "#src/config/environment.ts";

const ROOT = join(import.meta.dirname, "../..");
const READY_LIMIT_MS = 90_000;
const STOP_LIMIT_MS = 10_000;
const POLL_MS = 20;

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface ServerProcess {
  readonly pid: number;
  /** Standard error so far. */
  stderr(): string;
  /** Standard output so far. */
  stdout(): string;
  /** The JSON lines of standard error so far. */
  log(): readonly LogLine[];
  /** Null while it runs. */
  exit(): Exit | null;
  readonly exited: Promise<Exit>;
  /** Resolves with the server's URL when it takes webhooks; rejects with its output when it ends instead. */
  ready(): Promise<string>;
  /** SIGKILL, and waits until it is gone. */
  kill9(): Promise<void>;
  /** SIGTERM; rejects when it takes longer than ten seconds (and is then killed). */
  terminate(): Promise<Exit>;
}

/** `env` is all the process gets besides PATH, HOME, TMPDIR, and where Node keeps compiled modules. */
export function launchServer(env: Readonly<Record<string, string>>): ServerProcess {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = processEnvironment();
  const own = Object.entries({ PATH, HOME, TMPDIR, NODE_COMPILE_CACHE }).filter(
    ([, value]) => value !== undefined,
  );
  const child = spawn(process.execPath, ["src/cli/main.ts", "serve"], {
    cwd: ROOT,
    env: { ...Object.fromEntries(own), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return watchServer(child);
}

function watchServer(child: ChildProcess): ServerProcess {
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (piece: string) => {
      text[name] += piece;
    });
  }
  let exit: Exit | null = null;
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    // `close` comes after the last byte of output.
    child.once("close", (code, signal) => {
      exit = { code, signal };
      resolve(exit);
    });
  });
  const log = () => logLines(text.stderr);
  return {
    pid: child.pid ?? -1,
    stderr: () => text.stderr,
    stdout: () => text.stdout,
    log,
    exit: () => exit,
    exited,
    ready: async () => {
      const end = systemClock.now() + READY_LIMIT_MS;
      for (;;) {
        const line = log().find((entry) => entry.msg === "agent-fix is ready");
        if (line !== undefined) return String(line.url);
        const why = exit === null ? "is not ready in time" : `ended with ${JSON.stringify(exit)}`;
        if (exit !== null || systemClock.now() > end)
          throw new Error(`the server ${why}\n${text.stdout}\n${text.stderr}`);
        await systemClock.sleep(POLL_MS);
      }
    },
    kill9: async () => {
      child.kill("SIGKILL");
      await exited;
    },
    terminate: async () => {
      const late = new AbortController();
      const cancel = systemClock.timer(STOP_LIMIT_MS, () => {
        late.abort();
        child.kill("SIGKILL");
      });
      child.kill("SIGTERM");
      const end = await exited;
      cancel();
      if (late.signal.aborted) throw new Error(`the server did not stop within 10 s\n${text.stderr}`);
      return end;
    },
  };
}

/** Lines that are not JSON, such as a list of problems, are left out. */
function logLines(text: string): readonly LogLine[] {
  return text.split("\n").flatMap((line) => {
    if (!line.startsWith("{")) return [];
    try {
      return [JSON.parse(line) as LogLine];
    } catch {
      return []; // The last line may still be on its way.
    }
  });
}
