/** Runs one program to its end: bounded output, one deadline, a kill that reaches everything, and an answer in any case. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Clock } from "#src/base/clock.ts";
import { messageOf } from "#src/base/result.ts";
import { type Capture, createCapture, NOTHING } from "#src/sandbox/capture.ts";
import type { Pipe, Pipes } from "#src/sandbox/pipes.ts";
import type { Captured, ExecEnd, ExecRequest } from "#src/sandbox/sandbox.ts";

export type KillReason = Extract<ExecEnd, { kind: "killed" }>["reason"];

export interface Launch {
  /** Absolute path of the program, then its arguments. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** True: descriptor 3 is a pipe whose text comes back as `status`. */
  readonly statusFd: boolean;
}

export interface RawResult {
  /** Null: the program could not be started, see `spawnError`. */
  readonly exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | null;
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
  /** Directory closed to the sandbox's user, for standard input. */
  readonly directory: string;
  /** Descriptors that must not reach the program, see `inheritedDescriptors`. */
  readonly inherited: readonly number[];
  /** Kills what the program started as far as the program's own death does not. */
  readonly onKill: (pid: number) => void;
  /** Called after the program's exit; resolves when everything it started is dead too. Never rejects. */
  readonly afterExit: (pid: number, status: string, killed: boolean) => Promise<void>;
}

export interface Running {
  /** Ends it, for the first reason given. */
  kill(reason: KillReason): void;
  /** Text of the status descriptor so far. */
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
const STATUS_BYTES = 4_096;

export function startCommand(launch: Launch, request: ExecRequest, tools: Tools): Running {
  const job: Job = {
    launch,
    request,
    tools,
    startedAt: tools.clock.now(),
    killed: null,
    child: null,
    status: "",
  };
  const gaveUp = Promise.withResolvers<null>();
  const timers: (() => void)[] = [];

  const kill = (reason: KillReason) => {
    if (job.killed !== null) return;
    job.killed = reason;
    if (job.child !== null) end();
  };
  const end = () => {
    job.child?.kill("SIGKILL");
    tools.onKill(job.child?.pid ?? 0);
    timers.push(tools.clock.timer(EXIT_AFTER_KILL_MS, () => gaveUp.resolve(null)));
  };
  const onAbort = () => kill("cancelled");
  const started = (child: ChildProcess) => {
    job.child = child;
    if (job.killed !== null) return end();
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
  return { kill, status: () => job.status, pid: () => job.child?.pid ?? null, result };
}

interface Job {
  readonly launch: Launch;
  readonly request: ExecRequest;
  readonly tools: Tools;
  readonly startedAt: number;
  killed: KillReason | null;
  child: ChildProcess | null;
  status: string;
}

async function conduct(
  job: Job,
  onStart: (child: ChildProcess) => void,
  gaveUp: Promise<null>,
): Promise<RawResult> {
  if (job.killed !== null) return describe(job, {});
  const started = await start(job);
  if (typeof started === "string") return describe(job, { spawnError: started });
  const { child, exited, stdout, stderr } = started;
  onStart(child);
  const exit = await Promise.race([exited, gaveUp]);
  if (child.pid !== undefined) await job.tools.afterExit(child.pid, job.status, job.killed !== null);
  await Promise.all([stdout.drain(), stderr.drain()]);
  if (typeof exit === "string") return describe(job, { spawnError: exit });
  return describe(job, { exit, stdout: stdout.captured(), stderr: stderr.captured() });
}

function describe(job: Job, known: Partial<RawResult>): RawResult {
  return {
    exit: null,
    spawnError: null,
    killed: job.killed,
    status: job.status,
    stdout: NOTHING,
    stderr: NOTHING,
    durationMs: job.tools.clock.now() - job.startedAt,
    ...known,
  };
}

const STATUS_INDEX = 3;

interface Started {
  readonly child: ChildProcess;
  readonly exited: Promise<NonNullable<RawResult["exit"]> | string>;
  readonly stdout: Reader;
  readonly stderr: Reader;
}

/** The started program, or why it could not be started. */
async function start(job: Job): Promise<Started | string> {
  const { launch, request, tools } = job;
  const opened: Pipe[] = [];
  const toClose: number[] = [];
  try {
    for (let count = 0; count < 2; count++) {
      const pipe = await tools.pipes.take();
      opened.push(pipe);
      toClose.push(pipe.writeFd);
    }
    const stdin = request.stdin === undefined ? "ignore" : openInput(request.stdin, toClose[0] ?? 0, tools);
    if (stdin !== "ignore") toClose.push(stdin);
    const stdio: (number | "ignore" | "pipe")[] = [stdin, ...opened.map((pipe) => pipe.writeFd)];
    stdio.push(launch.statusFd ? "pipe" : "ignore");
    toClose.push(...coverInherited(stdio, tools.inherited));
    const [file, ...args] = launch.argv;
    const child = spawn(file, args, { env: launch.env, cwd: launch.cwd, stdio, detached: true });
    const exited = exitOf(child);
    child.stdio[STATUS_INDEX]?.on("data", (chunk: Buffer) => {
      if (job.status.length < STATUS_BYTES) job.status += chunk.toString("latin1");
    });
    const [stdout, stderr] = opened.map((pipe) => createReader(pipe, request.outputBytes, tools.clock));
    if (stdout === undefined || stderr === undefined) throw new Error("a pipe is missing");
    opened.length = 0;
    return { child, exited, stdout, stderr };
  } catch (error) {
    toClose.push(...opened.map((pipe) => pipe.readFd));
    return startProblem(error);
  } finally {
    for (const fd of toClose) closeSync(fd);
  }
}

/** Puts the null device where the command would get the app's own inherited descriptors; returns what to close after the start. */
function coverInherited(
  stdio: (number | "ignore" | "pipe")[],
  inherited: readonly number[],
): readonly number[] {
  if (inherited.length === 0) return [];
  const nothing = openSync("/dev/null", "r");
  for (const fd of inherited) {
    while (stdio.length <= fd) stdio.push("ignore");
    if (stdio[fd] === "ignore") stdio[fd] = nothing;
  }
  return [nothing];
}

function startProblem(error: unknown): string {
  const message = messageOf(error);
  return message.includes("E2BIG")
    ? "the command line is too long for the system (128 KiB an argument): write it to a file and run that"
    : message;
}

/** Standard input comes from a file: a pipe that nobody reads would block, and `/dev/stdin` cannot be opened on a socket. */
function openInput(bytes: Uint8Array, unique: number, tools: Tools): number {
  const path = join(tools.directory, `stdin-${unique}`);
  writeFileSync(path, bytes, { mode: 0o644 });
  const fd = openSync(path, "r");
  unlinkSync(path);
  return fd;
}

/** The exit, or the reason why there was no process at all. */
function exitOf(child: ChildProcess): Promise<NonNullable<RawResult["exit"]> | string> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", (error) => {
      if (child.pid === undefined) resolve(startProblem(error));
    });
  });
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
