/** Runs one program to its end: bounded output, one deadline, a kill that reaches everything, and an answer in any case. */

import { chmodSync, closeSync, unlinkSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { basename, join } from "node:path";
import type { Clock } from "#src/base/clock.ts";
import { messageOf } from "#src/base/result.ts";
import { type Capture, createCapture, NOTHING } from "#src/sandbox/command/capture.ts";
import type { Pipe, Pipes } from "#src/sandbox/command/pipes.ts";
import type { Captured, ExecEnd, ExecRequest } from "#src/sandbox/sandbox.ts";

export type KillReason = Extract<ExecEnd, { kind: "killed" }>["reason"];

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What a program is started on. */
export interface Streams {
  /** Path of a file; null: end-of-file at once. */
  readonly stdin: string | null;
  readonly stdout: Pipe;
  readonly stderr: Pipe;
}

/** A program that runs. */
export interface Program {
  /** Its host pid. */
  readonly pid: number;
  /** Its end, or why there was none. */
  readonly ended: Promise<Exit | string>;
  /** What the sandbox itself reported about it so far. */
  status(): string;
  /** Sends SIGKILL, if it still runs. */
  kill(): void;
}

/** Starts a program; when it resolves, the program holds its ends of the streams. A string: why it could not be started. */
export type Start = (streams: Streams) => Promise<Program | string>;

export interface RawResult {
  /** Null: the program could not be started, see `spawnError`. */
  readonly exit: Exit | null;
  readonly spawnError: string | null;
  readonly killed: KillReason | null;
  readonly status: string;
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly durationMs: number;
}

export interface Tools {
  readonly clock: Clock;
  readonly pipes: Pipes;
  /** Directory out of the sandbox's sight, for standard input. */
  readonly directory: string;
  /** Kills what the program started as far as the program's own death does not. */
  readonly onKill: (pid: number) => void;
  /** Called after the program's exit; resolves when everything it started is dead too. Never rejects. */
  readonly afterExit: (pid: number, status: string, killed: boolean) => Promise<void>;
}

export interface Running {
  /** Ends it, for the first reason given. */
  kill(reason: KillReason): void;
  /** See `Program.status`. */
  status(): string;
  /** Host pid of the program; null before it started. */
  pid(): number | null;
  /** Never rejects. */
  readonly result: Promise<RawResult>;
}

/** A killed program that the kernel cannot end (stuck in a device) is given up after this long. */
const EXIT_AFTER_KILL_MS = 5_000;
/** With every writer dead, the pipes end at once; this is for writers that could not be killed. */
const DRAIN_MS = 1_000;

export function startCommand(start: Start, request: ExecRequest, tools: Tools): Running {
  const job: Job = {
    start,
    request,
    tools,
    startedAt: tools.clock.now(),
    killed: null,
    program: null,
  };
  const gaveUp = Promise.withResolvers<null>();
  const timers: (() => void)[] = [];

  const kill = (reason: KillReason) => {
    if (job.killed !== null) return;
    job.killed = reason;
    if (job.program !== null) end(job.program);
  };
  const end = (program: Program) => {
    program.kill();
    tools.onKill(program.pid);
    timers.push(tools.clock.timer(EXIT_AFTER_KILL_MS, () => gaveUp.resolve(null)));
  };
  const onAbort = () => kill("cancelled");
  const started = (program: Program) => {
    job.program = program;
    if (job.killed !== null) return end(program);
    timers.push(tools.clock.timer(request.timeoutMs, () => kill("timeout")));
  };

  if (request.signal.aborted) onAbort();
  else request.signal.addEventListener("abort", onAbort, { once: true });
  const result = conduct(job, started, gaveUp.promise)
    .catch((error: unknown) => describe(job, { spawnError: messageOf(error) }))
    .finally(() => {
      request.signal.removeEventListener("abort", onAbort);
      for (const cancel of timers) cancel();
    });
  return {
    kill,
    status: () => job.program?.status() ?? "",
    pid: () => job.program?.pid ?? null,
    result,
  };
}

interface Job {
  readonly start: Start;
  readonly request: ExecRequest;
  readonly tools: Tools;
  readonly startedAt: number;
  killed: KillReason | null;
  program: Program | null;
}

async function conduct(
  job: Job,
  onStart: (program: Program) => void,
  gaveUp: Promise<null>,
): Promise<RawResult> {
  if (job.killed !== null) return describe(job, {});
  const started = await start(job);
  if (typeof started === "string") return describe(job, { spawnError: started });
  const { program, stdout, stderr } = started;
  onStart(program);
  const exit = await Promise.race([program.ended, gaveUp]);
  await job.tools.afterExit(program.pid, program.status(), job.killed !== null);
  await Promise.all([stdout.drain(), stderr.drain()]);
  if (typeof exit === "string") return describe(job, { spawnError: exit });
  return describe(job, { exit, stdout: stdout.captured(), stderr: stderr.captured() });
}

function describe(job: Job, known: Partial<RawResult>): RawResult {
  return {
    exit: null,
    spawnError: null,
    killed: job.killed,
    status: job.program?.status() ?? "",
    stdout: NOTHING,
    stderr: NOTHING,
    durationMs: job.tools.clock.now() - job.startedAt,
    ...known,
  };
}

interface Started {
  readonly program: Program;
  readonly stdout: Reader;
  readonly stderr: Reader;
}

/** The started program, or why it could not be started. */
async function start(job: Job): Promise<Started | string> {
  const { request, tools } = job;
  const pipes: Pipe[] = [];
  let stdin: string | null = null;
  let started = false;
  try {
    const stdout = await tools.pipes.take();
    pipes.push(stdout);
    const stderr = await tools.pipes.take();
    pipes.push(stderr);
    if (request.stdin !== undefined) stdin = writeInput(request.stdin, stdout.path, tools.directory);
    const program = await job.start({ stdin, stdout, stderr });
    if (typeof program === "string") return program;
    started = true;
    const [out, error] = [stdout, stderr].map((pipe) => createReader(pipe, request.outputBytes, tools.clock));
    if (out === undefined || error === undefined) throw new Error("a pipe is missing");
    return { program, stdout: out, stderr: error };
  } catch (error) {
    return messageOf(error);
  } finally {
    for (const pipe of pipes) {
      closeSync(pipe.writeFd);
      if (!started) closeSync(pipe.readFd);
      unlinkSync(pipe.path);
    }
    if (stdin !== null) unlinkSync(stdin);
  }
}

/** Standard input comes from a file: a pipe that nobody reads would block, and `/dev/stdin` cannot be opened on a socket. */
function writeInput(bytes: Uint8Array, unique: string, directory: string): string {
  const path = join(directory, `stdin-${basename(unique)}`);
  writeFileSync(path, bytes, { mode: 0o644 });
  chmodSync(path, 0o644); // Whatever the app's umask is.
  return path;
}

interface Reader {
  /** Resolves at end-of-file, or when the grace is over. */
  drain(): Promise<void>;
  captured(): Captured;
  destroy(): void;
}

const READ_BYTES = 64 * 1024;

function createReader(pipe: Pipe, bytes: number, clock: Clock): Reader {
  const capture: Capture = createCapture(bytes);
  // Every read goes into the same buffer: a new one for each would pile up by the megabyte under a flood of output.
  const buffer = Buffer.alloc(READ_BYTES);
  const callback = (count: number) => {
    capture.push(buffer.subarray(0, count));
    return true;
  };
  const options = { fd: pipe.readFd, readable: true, writable: false, onread: { buffer, callback } };
  const socket = new Socket(options);
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.resume();
  // A read error on our own end of a pipe means its data is over; what was kept stays valid.
  socket.on("error", () => socket.destroy());
  return {
    drain: async () => {
      const cancel = clock.timer(DRAIN_MS, () => socket.destroy());
      await ended;
      cancel();
    },
    captured: () => capture.finish(),
    destroy: () => void socket.destroy(),
  };
}
