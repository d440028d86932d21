/** Runs git plumbing on the bare repositories of the embedded GitHub, with an environment of its own. */

import { spawn } from "node:child_process";

export interface GitRun {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface GitOptions {
  readonly input?: Uint8Array | string;
  readonly env?: Readonly<Record<string, string>>;
}

/** No user's or machine's configuration, no prompt, and git found on the usual paths. */
export const GIT_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin",
  HOME: "/nonexistent",
  LANG: "C.UTF-8",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
};

/** Rejects only when git cannot be started. */
export function runGit(
  directory: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitRun> {
  return new Promise((resolve, reject) => {
    const child = spawn("git", args, { cwd: directory, env: { ...GIT_ENVIRONMENT, ...options.env } });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    child.on("error", reject);
    child.on("close", (code) =>
      resolve({
        code: code ?? 128,
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr).toString("utf8"),
      }),
    );
    // git may end before it has read all input; its exit code then says why.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
  });
}

/** Standard output of a git that must succeed; rejects with git's words when it does not. */
export async function git(
  directory: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<Buffer> {
  const run = await runGit(directory, args, options);
  if (run.code !== 0) throw new Error(`git ${args[0]} ended with ${run.code}: ${run.stderr.trim()}`);
  return run.stdout;
}
