/** A sandbox session without a sandbox: commands run directly in the workspace, with bounded output and a hard time limit. */

import { spawn } from "node:child_process";
import type { Captured, ExecEnd, ExecRequest, ExecResult, Session } from "#src/sandbox/sandbox.ts";

/** Variables of the test process that a command needs to find its programs. */
const INHERITED = ["PATH", "HOME", "TMPDIR"];

function createBuffer(limit: number) {
  const half = Math.floor(limit / 2);
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let total = 0;
  return {
    push: (chunk: Buffer) => {
      total += chunk.length;
      const room = half - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      if (chunk.length > room)
        tail = Buffer.concat([tail, chunk.subarray(Math.max(0, room))]).subarray(-half);
    },
    captured: (): Captured => ({
      head: head.toString("utf8"),
      tail: tail.toString("utf8"),
      totalBytes: total,
      droppedBytes: total - head.length - tail.length,
    }),
  };
}

/** Commands see `directory` as their working directory; there is no /workspace. */
export function createLocalSession(directory: string): Session {
  return {
    enforcement: {},
    close: async () => undefined,
    exec: (request) => execute(directory, request),
  };
}

function execute(directory: string, request: ExecRequest): Promise<ExecResult> {
  const startedAt = performance.now();
  const [program = "", ...args] = request.argv;
  const stdout = createBuffer(request.outputBytes);
  const stderr = createBuffer(request.outputBytes);
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  const inherited = INHERITED.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  const child = spawn(program, args, {
    cwd: directory,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...Object.fromEntries(inherited), CI: "true", ...request.env },
  });
  let reason: "timeout" | "cancelled" | null = null;
  const killAll = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // The group is gone already.
    }
  };
  const stop = (why: "timeout" | "cancelled") => {
    reason ??= why;
    killAll();
  };
  const onAbort = () => stop("cancelled");
  const timer = setTimeout(() => stop("timeout"), request.timeoutMs);
  request.signal.addEventListener("abort", onAbort, { once: true });
  if (request.signal.aborted) onAbort();
  const settle = (end: ExecEnd) => {
    clearTimeout(timer);
    request.signal.removeEventListener("abort", onAbort);
    resolve({
      end,
      stdout: stdout.captured(),
      stderr: stderr.captured(),
      durationMs: performance.now() - startedAt,
    });
  };
  child.stdout.on("data", stdout.push);
  child.stderr.on("data", stderr.push);
  child.on("error", (error) => settle({ kind: "not_started", message: error.message }));
  // Whoever is left in the background is killed when the command itself has ended, which closes the pipes.
  child.on("exit", killAll);
  child.on("close", (code, signal) => {
    if (reason !== null) settle({ kind: "killed", reason });
    else settle({ kind: "exited", code: code ?? 128 + (signal === "SIGKILL" ? 9 : 15) });
  });
  return promise;
}
