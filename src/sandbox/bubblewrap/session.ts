/** One bubblewrap session: each exec is a process tree of its own that is dead when the call returns. */

import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import { messageOf } from "#src/base/result.ts";
import { bwrapArgv, type Plan } from "#src/sandbox/bubblewrap/argv.ts";
import { type Programs, shellLimits } from "#src/sandbox/bubblewrap/launch.ts";
import type { Launcher } from "#src/sandbox/bubblewrap/launcher.ts";
import { explainStartFailure } from "#src/sandbox/bubblewrap/start-failure.ts";
import { NOTHING } from "#src/sandbox/command/capture.ts";
import type { Limiter } from "#src/sandbox/command/limits.ts";
import type { Pipes } from "#src/sandbox/command/pipes.ts";
import { watchPressure } from "#src/sandbox/command/pressure.ts";
import {
  carries,
  cpuSecondsOf,
  families,
  family,
  isAlive,
  killProcess,
  memoryOf,
  waitForDeath,
  withArgument,
} from "#src/sandbox/command/processes.ts";
import {
  type KillReason,
  type RawResult,
  type Running,
  startCommand,
} from "#src/sandbox/command/run-command.ts";
import { createWatch } from "#src/sandbox/command/watch.ts";
import { INSIDE } from "#src/sandbox/policy.ts";
import type { ExecEnd, ExecRequest, ExecResult, Limits, Session } from "#src/sandbox/sandbox.ts";

export interface SessionParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly programs: Programs;
  readonly plan: Omit<Plan, "prlimit">;
  readonly limiter: Limiter;
  readonly limits: Limits;
  readonly pipes: Pipes;
  /** Directory out of the sandbox's sight. */
  readonly io: string;
  /** Host directories that commands can write. */
  readonly writable: readonly string[];
  /** Command line of du, up to its options. */
  readonly du: readonly string[];
  readonly launcher: Launcher;
  /** Start of the marker that this session's processes carry. */
  readonly marker: string;
  /** Gives back everything `open` made. */
  readonly dispose: () => Promise<void>;
}

/** How long the kernel may take to end a killed pid namespace. */
const DEATH_MS = 5_000;

export function createSession(parts: SessionParts): Session {
  const running = new Set<Running>();
  const killAll = (reason: KillReason) => {
    for (const command of running) command.kill(reason);
  };
  const processes = () => families([...running].flatMap((command) => childPid(command.status()) ?? []));
  const watch = createWatch({
    clock: parts.clock,
    directories: parts.writable,
    diskBytes: parts.limits.diskBytes,
    memory: parts.limiter.memoryIsBounded
      ? null
      : {
          limitBytes: parts.limits.memoryBytes,
          usedBytes: async (nameless) => memoryOf(await processes(), nameless),
        },
    processes,
    du: parts.du,
    onBreach: killAll,
    onProblem: (error) =>
      parts.log.warn({ error: messageOf(error) }, "the sandbox's use could not be measured"),
  });
  let commands = 0;
  let closing: Promise<void> | null = null;

  const exec = async (request: ExecRequest): Promise<ExecResult> => {
    const refusal = refusalOf(request, closing !== null, parts.launcher) ?? (await watch.ready());
    if (refusal !== null) return notStarted(refusal);
    const marker = `${parts.marker}.${commands++}.`;
    let started: Running | null = null;
    const stopWatching = await watchPressure({
      ...{ clock: parts.clock, cpuSeconds: parts.limits.cpuSeconds ?? null },
      counters: { memoryKills: parts.limiter.memoryKills, cpuSeconds: () => cpuSecondsIn(started) },
      onBreach: (reason) => started?.kill(reason),
      onProblem: (error) => parts.log.warn({ error: messageOf(error) }, "a command's use could not be read"),
    });
    const command = start(parts, request, marker);
    started = command;
    running.add(command);
    watch.started();
    if (closing !== null) command.kill("cancelled");
    const raw = await command.result;
    running.delete(command);
    watch.ended();
    const outOfMemory = await stopWatching();
    return {
      end: endOf(raw, outOfMemory),
      stdout: raw.stdout,
      stderr: raw.stderr,
      durationMs: raw.durationMs,
    };
  };

  return {
    exec: (request) => exec(request).catch((error: unknown) => notStarted(messageOf(error))),
    close: () => {
      closing ??= (async () => {
        killAll("cancelled");
        await Promise.all([...running].map((command) => command.result));
        await parts.dispose();
      })().catch((error: unknown) =>
        parts.log.error(
          { error: messageOf(error) },
          "a sandbox session left something behind; the next start sweeps it",
        ),
      );
      return closing;
    },
    enforcement: parts.limiter.enforcement,
  };
}

/** Of everything the command started; 0 before it runs. */
async function cpuSecondsIn(command: Running | null): Promise<number> {
  const pid = command === null ? null : childPid(command.status());
  return pid === null ? 0 : cpuSecondsOf(await family(pid));
}

function start(parts: SessionParts, request: ExecRequest, marker: string): Running {
  const cwd = request.cwd ?? INSIDE.workspace;
  const { shell, inside } = shellLimits(parts.limiter.rlimits);
  const prlimit = parts.programs.prlimit !== null && inside.length > 0 ? parts.programs.prlimit : null;
  const plan: Plan = {
    ...parts.plan,
    prlimit: prlimit === null ? null : { path: prlimit, options: inside },
  };
  const inner = bwrapArgv(plan, { argv: request.argv, cwd, env: request.env ?? {}, marker });
  return startCommand(parts.launcher.starter([parts.programs.bwrap, ...inner], shell), request, {
    clock: parts.clock,
    pipes: parts.pipes,
    directory: parts.io,
    onKill: () => undefined,
    afterExit: async (_, status, killed) => {
      const strays = await leftOf(status, killed, marker);
      for (const pid of strays) if (await carries(pid, marker)) killProcess(pid);
      for (const pid of strays) {
        if (await waitForDeath(pid, DEATH_MS, parts.clock)) continue;
        parts.log.error({ pid }, "a process of a sandbox could not be killed; the kernel holds it");
      }
    },
  });
}

/** bubblewrap ends before its pid namespace does, and if killed early it has not said yet which process that is. */
async function leftOf(status: string, killed: boolean, marker: string): Promise<readonly number[]> {
  const pid = childPid(status);
  if (pid !== null) return (await isAlive(pid)) ? [pid] : [];
  return killed ? withArgument(marker) : [];
}

function refusalOf(request: ExecRequest, closed: boolean, launcher: Launcher): string | null {
  if (closed) return "the session is closed";
  if (request.argv.length === 0) return "no program was given";
  const words = [...request.argv, ...Object.entries(request.env ?? {}).flat(), request.cwd ?? ""];
  if (words.some((word) => word.includes("\0")))
    return "an argument contains a null byte, which no program can be given";
  if (!launcher.isAlive()) return "the session's launcher is gone";
  return null;
}

function notStarted(message: string): ExecResult {
  return { end: { kind: "not_started", message }, stdout: NOTHING, stderr: NOTHING, durationMs: 0 };
}

/** Host pid of the first process in the sandbox; null while bubblewrap has not told. */
export function childPid(status: string): number | null {
  const pid = /"child-pid": (\d+)/.exec(status)?.[1];
  return pid === undefined ? null : Number(pid);
}

/** A file grew beyond the limit per file: 128 + SIGXFSZ, which nothing else here sends. */
const FILE_TOO_LARGE = 153;

/** What a shell answers for a program that does not exist, and for one that cannot be run. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** A process used up its processor time: 128 + SIGXCPU. */
const CPU_USED_UP = 152;

/** What happened, from what bubblewrap reported. Only an `exit-code` line proves that the command was started. */
export function endOf(raw: RawResult, outOfMemory: boolean): ExecEnd {
  if (raw.killed !== null) return { kind: "killed", reason: raw.killed };
  if (raw.spawnError !== null) return { kind: "not_started", message: raw.spawnError };
  const reported = /"exit-code": (\d+)/.exec(raw.status)?.[1];
  const code = reported === undefined ? null : Number(reported);
  if (outOfMemory && code !== 0) return { kind: "killed", reason: "memory" };
  if (code === CPU_USED_UP) return { kind: "killed", reason: "timeout" };
  if (code === FILE_TOO_LARGE) return { kind: "killed", reason: "disk" };
  if (code !== null) return { kind: "exited", code };
  const said = `${raw.stderr.head}${raw.stderr.tail}`;
  const notRun = /^bwrap: execvp .*: (No such file or directory)?/m.exec(said);
  if (notRun !== null) return { kind: "exited", code: notRun[1] === undefined ? NOT_EXECUTABLE : NOT_FOUND };
  return { kind: "not_started", message: explainStartFailure(said) };
}
