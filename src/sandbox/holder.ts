/** Keeps a private mount namespace for a session of a root app, in which its user reaches sources below private directories. */

import { spawn } from "node:child_process";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { HOLDER_ROOT, holderArgv, type Programs } from "#src/sandbox/launch.ts";
import type { SandboxFailure } from "#src/sandbox/sandbox.ts";

export interface Holder {
  readonly pid: number;
  /** The path at which a path at or below a source is seen in the namespace; other paths stay as they are. */
  translate(path: string): string;
  isAlive(): boolean;
  /** Ends the namespace. Resolves when it is gone. */
  close(): Promise<void>;
}

/** What the host's own tools need to find each other; nothing of it reaches a command. */
const TOOL_ENV = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
const STDERR_CHARACTERS = 2_000;

/** Starts the keeper and waits until every source is bound. It ends by itself when the app dies, since its input ends then. */
export async function openHolder(
  programs: Programs,
  sources: readonly string[],
): Promise<Result<Holder, SandboxFailure>> {
  const [file, ...args] = holderArgv(programs, sources);
  const child = spawn(file, args, { env: TOOL_ENV, cwd: "/", stdio: "pipe", detached: true });
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(`it ended with ${signal ?? code}`));
    child.once("error", (error) => resolve(messageOf(error)));
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    if (said.length < STDERR_CHARACTERS) said += chunk.toString("utf8");
  });
  child.stdin.on("error", () => undefined); // It ended first; `ended` tells why.
  const ready = new Promise<null>((resolve) => child.stdout.once("data", () => resolve(null)));
  const problem = await Promise.race([ready, ended]);
  if (problem !== null || child.pid === undefined) {
    return err({
      code: "unavailable",
      message: `a private mount namespace could not be made (${said.trim() || problem}): as root, agent-fix needs the right to mount (CAP_SYS_ADMIN); run it as an ordinary user or grant that`,
    });
  }
  let alive = true;
  void ended.then(() => {
    alive = false;
  });
  return ok({
    pid: child.pid,
    translate: (path) => {
      const index = sources.findIndex((source) => path === source || path.startsWith(`${source}/`));
      return index < 0 ? path : `${HOLDER_ROOT}/${index}${path.slice(sources[index]?.length ?? 0)}`;
    },
    isAlive: () => alive,
    close: async () => {
      child.stdin.end();
      child.kill("SIGKILL");
      await ended;
    },
  });
}
