/** Runs host programs, in a thread of its own: a start copies the page tables of the whole process, and the starting thread stands still for it. */

import { type ChildProcess, spawn } from "node:child_process";
import { setPriority } from "node:os";

export interface ChildRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Bytes, the descriptor of an open file, or nothing. */
  readonly stdin: Uint8Array | number | null;
  /** Further output ends it with `failed`. */
  readonly outputBytes: number;
}

export type ChildEnd =
  | { readonly kind: "exited"; readonly code: number; readonly stdout: Uint8Array; readonly stderr: string }
  | { readonly kind: "failed"; readonly text: string };

/** Of 19, as the commands of a sandbox. */
const NICENESS = 10;
const STDERR_BYTES = 64 * 1024;

interface Running {
  readonly child: ChildProcess;
  readonly end: Promise<ChildEnd>;
}

const running = new Map<number, Running>();

/** Starts a program in its own process group; returns its id, or null when it could not be started. `key` is what the others know it by. */
export function start(key: number, run: ChildRun): number | null {
  const { program, args, cwd, environment: env, stdin } = run;
  const child = spawn(program, args, {
    cwd,
    env,
    detached: true,
    stdio: [stdin === null ? "ignore" : stdin instanceof Uint8Array ? "pipe" : stdin, "pipe", "pipe"],
  });
  running.set(key, { child, end: endOf(child, run) });
  if (child.pid !== undefined) giveWay(child.pid);
  return child.pid ?? null;
}

/** Large repositories must not keep webhooks waiting. An app that is itself nicer than that may not take niceness back, and need not. */
function giveWay(pid: number): void {
  try {
    setPriority(pid, NICENESS);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_SYSTEM_ERROR") throw error;
  }
}

/** Settles when the pipes of what was started are closed; asked once. Never rejects. */
export async function ended(key: number): Promise<ChildEnd> {
  const end = await running.get(key)?.end;
  running.delete(key);
  return end ?? { kind: "failed", text: "it was not started" };
}

/** Kills the program and every helper it started; one that has ended is what was wanted. */
export function stop(key: number): void {
  const child = running.get(key)?.child;
  if (child !== undefined) killGroup(child);
}

function endOf(child: ChildProcess, { program, stdin, outputBytes }: ChildRun): Promise<ChildEnd> {
  return new Promise((resolve) => {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let outSize = 0;
    let errSize = 0;
    let failed: string | null = null;
    child.stdout?.on("data", (chunk: Buffer) => {
      outSize += chunk.length;
      if (outSize <= outputBytes) return stdout.push(chunk);
      failed = `more than ${outputBytes} bytes of output`;
      return killGroup(child);
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      // The cause comes last in git's progress chatter, so older text gives way.
      stderr.push(chunk);
      errSize += chunk.length;
      while (errSize > STDERR_BYTES && stderr.length > 1) errSize -= stderr.shift()?.length ?? 0;
    });
    const settle = (end: ChildEnd) => resolve(failed === null ? end : { kind: "failed", text: failed });
    child.on("error", (error) =>
      settle({ kind: "failed", text: `${program} could not be started: ${error.message}` }),
    );
    child.on("close", (code) => {
      settle({
        kind: "exited",
        code: code ?? 128,
        stdout: unpooled(Buffer.concat(stdout)),
        stderr: Buffer.concat(stderr).toString(),
      });
    });
    if (stdin instanceof Uint8Array) {
      // git may end without reading all of it; its exit code tells.
      child.stdin?.on("error", (error) => stderr.push(Buffer.from(`\n${error.message}`)));
      child.stdin?.end(stdin);
    }
  });
}

/** Bytes with a memory of their own: what is sent to another thread is copied with all the memory it lies in. */
export function unpooled(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}

/** Ends a process group; a group that is already gone is what was wanted. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
