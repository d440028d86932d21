/** The container sandbox, by the command line of docker or podman: opens sessions, and cleans up after a killed predecessor. */

import { stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { sha256 } from "#src/base/canonical-json.ts";
import type { Clock } from "#src/base/clock.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { findPrograms } from "#src/sandbox/bubblewrap/host.ts";
import { openFilesCeiling } from "#src/sandbox/command/limits.ts";
import {
  family as familyOf,
  killProcess,
  waitForDeath,
  withArgument,
  withEnvironment,
} from "#src/sandbox/command/processes.ts";
import { sweepSessionFiles } from "#src/sandbox/command/session-files.ts";
import { removeArgv } from "#src/sandbox/container/argv.ts";
import {
  type ContainerContext,
  type ContainerHost,
  type ContainerOptions,
  DATA_LABEL,
} from "#src/sandbox/container/context.ts";
import { callEngine, findEngine, processesCeiling } from "#src/sandbox/container/engine.ts";
import { FORWARDER_VARIABLE } from "#src/sandbox/container/forwarder.ts";
import { isGone } from "#src/sandbox/container/lane.ts";
import { openContainerSession } from "#src/sandbox/container/open.ts";
import { isLeftover, LIST_FORMAT, parseListed, thisOwner } from "#src/sandbox/container/owner.ts";
import { DEFAULT_UID } from "#src/sandbox/policy.ts";
import { checkImages, selfCheck } from "#src/sandbox/probes/self-check.ts";
import type { ProbeLine, Sandbox, SandboxFailure, Session, SessionSpec } from "#src/sandbox/sandbox.ts";

/** Nothing is looked at or started before the first use. */
export function createContainer(options: ContainerOptions): Sandbox {
  const isRoot = process.getuid?.() === 0;
  const uid = options.uid ?? DEFAULT_UID;
  const user = isRoot
    ? { uid, gid: uid }
    : { uid: process.getuid?.() ?? uid, gid: process.getgid?.() ?? uid };
  const live = new Set<string>();
  const instance = options.ids.hex(4);
  let found: Promise<Result<ContainerContext, SandboxFailure>> | null = null;
  const context = () => {
    found ??= inspect(options, isRoot).then(async (host) => {
      if (!host.ok) return host;
      const identity = await identityOf(options.dataDir);
      const mark = `agent-fix-${identity}.${instance}`;
      const owner = await thisOwner();
      return ok({ ...options, host: host.value, isRoot, user, identity, mark, owner, live });
    });
    return found;
  };
  const open = async (spec: SessionSpec): Promise<Result<Session, SandboxFailure>> => {
    try {
      const known = await context();
      return known.ok ? await openContainerSession(known.value, spec) : known;
    } catch (error) {
      return err({ code: "setup_failed", message: `the sandbox could not be prepared: ${messageOf(error)}` });
    }
  };
  const sandbox: Sandbox = {
    name: options.engine,
    warning: null,
    owner: isRoot ? user : null,
    open,
    probe: async (onLine) => {
      const subject = { sandbox, dataDir: options.dataDir, ids: options.ids, isRoot, onLine };
      const lines = await selfCheck(subject);
      // When nothing starts in the general image, its line says why; the others would repeat it.
      const rest = lines.length === 1 ? [] : await checkImages(subject, options.images.slice(1));
      return [...lines, ...rest, ...(await networkLines(context()))];
    },
    sweep: async () => {
      const known = await context();
      if (known.ok) await sweep(known.value);
      else
        options.log.warn(
          { problem: known.error.message },
          "leftovers of an earlier process were not looked for",
        );
    },
  };
  return sandbox;
}

/** The directory itself and not only its name, which may be the same in two containers that share one engine. */
export async function identityOf(dataDir: string): Promise<string> {
  const { dev, ino } = await stat(dataDir);
  return sha256(`${resolve(dataDir)} ${dev} ${ino}`).slice(0, 12);
}

/** Programs of the host that sessions use. */
const PROGRAMS = ["rm", "chmod", "du", "mkfifo", "socat", "nsenter", "setpriv"] as const;

async function inspect(
  options: ContainerOptions,
  isRoot: boolean,
): Promise<Result<ContainerHost, SandboxFailure>> {
  if (options.images.length === 0) {
    return err({
      code: "unavailable",
      message: `SANDBOX=${options.engine} needs IMAGES_ALLOWED: list the images that commands may run in, the general one first`,
    });
  }
  const engine = await findEngine({
    ...{ name: options.engine, hostPath: options.hostPath, env: options.engineEnv, isRoot },
  });
  if (!engine.ok) return engine;
  const found = await findPrograms(PROGRAMS, options.hostPath);
  return ok({
    engine: engine.value,
    programs: {
      ...found,
      rm: found.rm ?? "rm",
      chmod: found.chmod ?? "chmod",
      du: found.du ?? "du",
      mkfifo: found.mkfifo ?? "mkfifo",
    },
    openFilesCeiling: await openFilesCeiling(),
    processesCeiling: await processesCeiling(),
    cpus: availableParallelism(),
  });
}

/** What set-up's network needs on the host. */
async function networkLines(
  context: Promise<Result<ContainerContext, SandboxFailure>>,
): Promise<readonly ProbeLine[]> {
  const known = await context;
  if (!known.ok) return [];
  const { programs } = known.value.host;
  const holds = known.value.isRoot && programs.socat !== null && programs.nsenter !== null;
  const remedy = known.value.isRoot
    ? "install the packages socat and util-linux"
    : "only root can open a way into a container: start agent-fix as root, or use SANDBOX=bubblewrap";
  return [
    {
      name: "network of set-up",
      holds,
      detail: holds ? `${programs.socat}, started in the container's network` : `there is none: ${remedy}`,
    },
  ];
}

const DEATH_MS = 5_000;

/**
 * The engine's own processes of an earlier app carry a container's name: its clients, and its monitors, below which a
 * container hangs that was still being made and that the engine itself does not know yet. Returns how many there were.
 */
async function killStrays(family: string, own: string, clock: Clock): Promise<number> {
  const ours = await withArgument(own);
  const strays = (await withArgument(family)).filter((pid) => !ours.includes(pid));
  const trees = await Promise.all(strays.map(familyOf));
  const all = [...new Set(trees.flat())];
  for (const pid of all) killProcess(pid);
  for (const pid of all) await waitForDeath(pid, DEATH_MS, clock);
  return strays.length;
}

/**
 * Names of the containers that an earlier process with this data directory made, and of those whose maker is dead, wherever
 * its data was: one that was made but never started is not removed by the engine itself.
 */
async function leftContainers(context: ContainerContext): Promise<readonly string[]> {
  const { host, log, mark, identity, owner, clock } = context;
  const all = ["ps", "--all", "--filter", `label=${DATA_LABEL}`, "--format", LIST_FORMAT];
  const listed = await callEngine(host.engine, all);
  if (listed.code !== 0)
    log.warn({ problem: listed.stderr }, "containers of earlier processes could not be looked for");
  const left: string[] = [];
  for (const container of parseListed(listed.stdout, DATA_LABEL)) {
    const own = container.data === identity;
    if (own && container.name.startsWith(`${mark}.`)) continue;
    if (own || (await isLeftover(container, owner, clock.now()))) left.push(container.name);
  }
  return left;
}

/** Everything a process with the same data directory left behind; this process's own sessions stay. */
async function sweep(context: ContainerContext): Promise<void> {
  const { host, log, mark, identity, live } = context;
  const { engine } = host;
  const strays = await killStrays(`agent-fix-${identity}.`, `${mark}.`, context.clock);
  const left = await leftContainers(context);
  const removed = left.length === 0 ? null : await callEngine(engine, removeArgv(engine.name, left));
  if (removed !== null && removed.code !== 0 && !isGone(removed.stderr))
    log.warn({ problem: removed.stderr }, "containers of an earlier process could not be removed");
  const own = await withEnvironment(`${FORWARDER_VARIABLE}=${mark}.`);
  for (const pid of await withEnvironment(`${FORWARDER_VARIABLE}=agent-fix-${identity}.`)) {
    if (!own.includes(pid)) killProcess(pid);
  }
  const directories = await sweepSessionFiles(context.dataDir, live, host.programs, log);
  if (left.length + directories + strays > 0)
    log.info(
      { containers: left.length, processes: strays, directories },
      "removed what an earlier process left in the sandbox",
    );
}
