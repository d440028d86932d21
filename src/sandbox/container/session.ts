/** One session in containers: a command has a container to itself, and one that is not clean afterwards is thrown away. */

import { constants } from "node:os";
import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import { messageOf, type Result } from "#src/base/result.ts";
import { NOTHING } from "#src/sandbox/command/capture.ts";
import type { Pipes } from "#src/sandbox/command/pipes.ts";
import { watchPressure } from "#src/sandbox/command/pressure.ts";
import {
  type KillReason,
  type RawResult,
  type Running,
  startCommand,
} from "#src/sandbox/command/run-command.ts";
import { spawnProgram } from "#src/sandbox/command/spawn-program.ts";
import { createWatch } from "#src/sandbox/command/watch.ts";
import { execArgv } from "#src/sandbox/container/argv.ts";
import { type Engine, explainEngine } from "#src/sandbox/container/engine.ts";
import type { Lane } from "#src/sandbox/container/lane.ts";
import { createLanePool, type LanePool } from "#src/sandbox/container/lane-pool.ts";
import { type Entered, entered, MARKER_ROOM } from "#src/sandbox/container/output.ts";
import { INSIDE } from "#src/sandbox/policy.ts";
import type {
  ExecEnd,
  ExecRequest,
  ExecResult,
  Limits,
  SandboxFailure,
  SandboxOwner,
  Session,
} from "#src/sandbox/sandbox.ts";

export interface ContainerSessionParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: Engine;
  /** The container that the session was opened with. */
  readonly first: Lane;
  readonly startLane: () => Promise<Result<Lane, SandboxFailure>>;
  readonly owner: SandboxOwner;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly pipes: Pipes;
  readonly io: string;
  readonly inherited: readonly number[];
  readonly du: string;
  /** Host directories that commands can write. */
  readonly writable: readonly string[];
  readonly enforcement: Readonly<Record<string, string>>;
  /** A new text nobody can guess. */
  readonly secret: () => string;
  readonly dispose: () => Promise<void>;
}

export function createContainerSession(parts: ContainerSessionParts): Session {
  const running = new Set<Running>();
  const killAll = (reason: KillReason) => {
    for (const command of running) command.kill(reason);
  };
  const watch = createWatch({
    clock: parts.clock,
    directories: parts.writable,
    diskBytes: parts.limits.diskBytes,
    // Each container has its own bound by the kernel; what they have together has none.
    memory: { limitBytes: parts.limits.memoryBytes, usedBytes: () => memoryOfAll(pool.lanes()) },
    processes: async () => (await Promise.all(pool.lanes().map((lane) => lane.groups.processes()))).flat(),
    du: [parts.du],
    onBreach: killAll,
    onProblem: (error) =>
      parts.log.warn({ error: messageOf(error) }, "the sandbox's use could not be measured"),
  });
  const pool = createLanePool(parts.first, parts.startLane);
  let closing: Promise<void> | null = null;

  const exec = async (request: ExecRequest): Promise<ExecResult> => {
    const refusal = refusalOf(request, closing !== null) ?? (await watch.ready());
    if (refusal !== null) return notStarted(refusal);
    if (request.signal.aborted) return cancelled();
    const taken = await pool.take(request.signal);
    if (taken === null) return cancelled();
    if (!taken.ok) return notStarted(taken.error.message);
    const lane = taken.value;
    watch.started();
    try {
      return await runIn(lane, request, parts, {
        began: (command) => {
          running.add(command);
          if (closing !== null) command.kill("cancelled");
        },
        ended: (command) => void running.delete(command),
      });
    } finally {
      watch.ended();
      await pool.giveBack(lane);
    }
  };

  return {
    exec: (request) => exec(request).catch((error: unknown) => notStarted(messageOf(error))),
    close: () => {
      closing ??= closeAll(parts, pool, running, killAll);
      return closing;
    },
    enforcement: parts.enforcement,
  };
}

async function memoryOfAll(lanes: readonly Lane[]): Promise<number> {
  const each = await Promise.all(lanes.map((lane) => lane.groups.memoryBytes()));
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

async function closeAll(
  parts: ContainerSessionParts,
  pool: LanePool,
  running: ReadonlySet<Running>,
  killAll: (reason: KillReason) => void,
): Promise<void> {
  try {
    killAll("cancelled");
    await Promise.all([...running].map((command) => command.result));
    for (const problem of await pool.close()) {
      parts.log.error({ problem }, "a container could not be removed; the next start tries again");
    }
    await parts.dispose();
  } catch (error) {
    parts.log.error(
      { error: messageOf(error) },
      "a sandbox session left something behind; the next start sweeps it",
    );
  }
}

interface Observer {
  readonly began: (command: Running) => void;
  readonly ended: (command: Running) => void;
}

async function runIn(
  lane: Lane,
  request: ExecRequest,
  parts: ContainerSessionParts,
  observer: Observer,
): Promise<ExecResult> {
  const { clock, engine, owner } = parts;
  const marker = parts.secret();
  const args = execArgv({
    ...{ name: lane.name, uid: owner.uid, gid: owner.gid, argv: request.argv, marker },
    cwd: request.cwd ?? INSIDE.workspace,
    env: { ...parts.env, ...request.env },
    hasInput: request.stdin !== undefined,
  });
  const start = spawnProgram({ argv: [engine.program, ...args], env: engine.env, cwd: "/" }, parts.inherited);
  const wider = { ...request, outputBytes: request.outputBytes + MARKER_ROOM };
  let command: Running | null = null;
  const stopWatching = await watchPressure({
    ...{ clock, counters: lane.groups, cpuSeconds: parts.limits.cpuSeconds ?? null },
    onBreach: (reason) => command?.kill(reason),
    onProblem: (error) => parts.log.warn({ error: messageOf(error) }, "a command's use could not be read"),
  });
  command = startCommand(start, wider, {
    ...{ clock, pipes: parts.pipes, directory: parts.io },
    // The engine's client is not the command: its death alone would leave the command running.
    onKill: () => void lane.kill(),
    afterExit: (_, __, killed) => (killed ? lane.kill() : lane.settle()),
  });
  observer.began(command);
  const raw = await command.result;
  observer.ended(command);
  const outOfMemory = await stopWatching();
  const seen = entered(raw, marker, request.outputBytes);
  return {
    end: endOfContainer(raw, seen, outOfMemory, engine),
    ...(seen.kind === "started"
      ? { stdout: seen.stdout, stderr: seen.stderr }
      : { stdout: NOTHING, stderr: NOTHING }),
    durationMs: raw.durationMs,
  };
}

/** A file grew beyond the limit per file: 128 + SIGXFSZ, which nothing else here sends. */
const FILE_TOO_LARGE = 153;

/** A process used up its processor time: 128 + SIGXCPU. */
const CPU_USED_UP = 152;

/** What happened, from the engine's exit and from whether the command was started at all. Pure. */
export function endOfContainer(
  raw: RawResult,
  seen: Entered,
  outOfMemory: boolean,
  engine: Pick<Engine, "name">,
): ExecEnd {
  if (raw.killed !== null) return { kind: "killed", reason: raw.killed };
  if (raw.spawnError !== null) return { kind: "not_started", message: raw.spawnError };
  if (seen.kind === "no_directory")
    return { kind: "not_started", message: "the working directory does not exist inside the sandbox" };
  const signal = raw.exit?.signal ?? null;
  const code = raw.exit?.code ?? (signal === null ? 0 : 128 + constants.signals[signal]);
  if (outOfMemory && code !== 0) return { kind: "killed", reason: "memory" };
  if (seen.kind === "not_started")
    return { kind: "not_started", message: explainEngine(engine.name, seen.said) };
  if (code === CPU_USED_UP) return { kind: "killed", reason: "timeout" };
  if (code === FILE_TOO_LARGE) return { kind: "killed", reason: "disk" };
  return { kind: "exited", code };
}

function refusalOf(request: ExecRequest, closed: boolean): string | null {
  if (closed) return "the session is closed";
  if (request.argv.length === 0) return "no program was given";
  const words = [...request.argv, ...Object.entries(request.env ?? {}).flat(), request.cwd ?? ""];
  if (words.some((word) => word.includes("\0")))
    return "an argument contains a null byte, which no program can be given";
  return null;
}

function notStarted(message: string): ExecResult {
  return { end: { kind: "not_started", message }, stdout: NOTHING, stderr: NOTHING, durationMs: 0 };
}

function cancelled(): ExecResult {
  return { end: { kind: "killed", reason: "cancelled" }, stdout: NOTHING, stderr: NOTHING, durationMs: 0 };
}
