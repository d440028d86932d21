/** One container of a session. It runs one command at a time, so whatever is left in it after a command is that command's. */

import { readFile } from "node:fs/promises";
import type { Clock } from "#src/base/clock.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { isAlive, isErrno, killProcess, waitForDeath } from "#src/sandbox/command/processes.ts";
import { type ContainerPlan, removeArgv, runArgv } from "#src/sandbox/container/argv.ts";
import { callEngine, type Engine, explainEngine } from "#src/sandbox/container/engine.ts";
import { type Forwarder, startForwarder } from "#src/sandbox/container/forwarder.ts";
import { type ContainerGroups, containerGroups } from "#src/sandbox/container/groups.ts";
import type { SandboxFailure } from "#src/sandbox/sandbox.ts";

export interface Lane {
  readonly name: string;
  readonly groups: ContainerGroups;
  /** False once it was killed, or ended by itself. */
  usable(): Promise<boolean>;
  /** Waits a moment for what is just ending, and kills the container if anything but its first process is left. */
  settle(): Promise<void>;
  /** Kills everything in it; when it resolves, all of that is dead. Safe to call twice. */
  kill(): Promise<void>;
  /** Kills it and removes the container. Resolves with the engine's complaint, or null. */
  remove(): Promise<string | null>;
}

export interface LaneParts {
  readonly engine: Engine;
  readonly plan: ContainerPlan;
  readonly name: string;
  readonly clock: Clock;
  /** True: the app may signal the processes of a container directly. */
  readonly isRoot: boolean;
  /** Programs to start the engine through, so that it dies with the app; may be empty. */
  readonly prefix: readonly string[];
  /** What a session with a network needs; null: it has none. */
  readonly network: {
    readonly socket: string;
    readonly socat: string;
    readonly nsenter: string;
    readonly marker: string;
  } | null;
}

/** Never rejects: one that is started ahead of time has nobody who waits for it yet. */
export async function startLane(parts: LaneParts): Promise<Result<Lane, SandboxFailure>> {
  try {
    return await start(parts);
  } catch (error) {
    await callEngine(parts.engine, removeArgv(parts.engine.name, [parts.name]));
    return err({ code: "unavailable", message: `a container could not be started: ${messageOf(error)}` });
  }
}

async function start(parts: LaneParts): Promise<Result<Lane, SandboxFailure>> {
  const { engine, plan, name } = parts;
  const started = await callEngine(engine, runArgv(plan, name), parts.prefix);
  if (started.code !== 0) {
    await callEngine(engine, removeArgv(engine.name, [name]));
    return err({ code: "unavailable", message: explainEngine(engine.name, started.stderr) });
  }
  const pid = await firstPid(engine, name);
  // A pid of another machine or namespace would be somebody else's here.
  const cgroupFile = pid === null ? null : await cgroupOf(pid, started.stdout.trim());
  const seen = cgroupFile === null ? null : pid;
  const lane = laneOver(parts, seen, containerGroups(cgroupFile));
  if (parts.network === null) return ok(lane);
  const forwarder =
    seen === null
      ? null
      : await startForwarder({ ...parts.network, pid: seen, clock: parts.clock, prefix: parts.prefix });
  if (forwarder === null || typeof forwarder === "string") {
    await lane.remove();
    const why =
      forwarder ?? "the container's process cannot be seen from here, so its network cannot be joined";
    return err({ code: "unavailable", message: `the way to the set-up proxy could not be opened: ${why}` });
  }
  return ok(withForwarder(lane, forwarder));
}

async function firstPid(engine: Engine, name: string): Promise<number | null> {
  const said = await callEngine(engine, ["inspect", "--format", "{{.State.Pid}}", name]);
  const pid = Number(said.stdout.trim());
  return said.code === 0 && Number.isInteger(pid) && pid > 1 ? pid : null;
}

/** Null when the process is not this container's as seen from here. */
async function cgroupOf(pid: number, id: string): Promise<string | null> {
  try {
    const text = await readFile(`/proc/${pid}/cgroup`, "utf8");
    return id !== "" && text.includes(id) ? text : null;
  } catch (error) {
    if (isErrno(error, "ENOENT", "EACCES", "EPERM", "ESRCH")) return null;
    throw error;
  }
}

/** The first process; anything above it belongs to a command. */
const OWN_TASKS = 1;

/** The engine's words when it removed a container by itself, or is about to. */
export function isGone(said: string): boolean {
  return /no such container|no container with|already in progress/i.test(said);
}

const SETTLE_TRIES = 12;
const SETTLE_MS = 5;
const DEATH_MS = 5_000;

function laneOver(parts: LaneParts, pid: number | null, groups: ContainerGroups): Lane {
  const { engine, name, clock } = parts;
  let killing: Promise<void> | null = null;
  let removing: Promise<string | null> | null = null;

  const end = async () => {
    if (pid !== null && parts.isRoot && killProcess(pid) && (await waitForDeath(pid, DEATH_MS, clock)))
      return;
    if (pid !== null && parts.isRoot && !(await isAlive(pid))) return;
    await callEngine(engine, ["kill", "--signal", "KILL", name]);
    if (pid !== null) await waitForDeath(pid, DEATH_MS, clock);
  };
  const kill = () => {
    killing ??= end();
    return killing;
  };
  return {
    name,
    groups,
    usable: async () => killing === null && (pid === null || (await isAlive(pid))),
    settle: async () => {
      for (let attempt = 0; attempt < SETTLE_TRIES; attempt++) {
        const tasks = await groups.tasks();
        if (tasks === OWN_TASKS) return;
        if (tasks === null) break;
        await clock.sleep(SETTLE_MS);
      }
      await kill();
    },
    kill,
    remove: () => {
      removing ??= kill()
        .then(async () => {
          const said = await callEngine(engine, removeArgv(engine.name, [name]));
          return said.code === 0 || isGone(said.stderr) ? null : said.stderr;
        })
        .catch((error: unknown) => messageOf(error));
      return removing;
    },
  };
}

function withForwarder(lane: Lane, forwarder: Forwarder): Lane {
  return {
    ...lane,
    remove: async () => {
      await forwarder.close();
      return lane.remove();
    },
  };
}
