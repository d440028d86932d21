/** No sandbox, only when asked for by name: commands run as the app's own user, with a clean environment and a sure end. */

import { realpath } from "node:fs/promises";
import { constants } from "node:os";
import { resolve } from "node:path";
import { sha256 } from "#src/base/canonical-json.ts";
import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import { err, messageOf, ok } from "#src/base/result.ts";
import { findPrograms } from "#src/sandbox/bubblewrap/host.ts";
import { NOTHING } from "#src/sandbox/command/capture.ts";
import { inheritedDescriptors } from "#src/sandbox/command/inherited.ts";
import { createLimiter, openFilesCeiling } from "#src/sandbox/command/limits.ts";
import { createPipes } from "#src/sandbox/command/pipes.ts";
import {
  families,
  killProcess,
  memoryOf,
  waitForDeath,
  withEnvironment,
} from "#src/sandbox/command/processes.ts";
import { type RawResult, type Running, startCommand } from "#src/sandbox/command/run-command.ts";
import {
  createSessionFiles,
  removeSessionFiles,
  sweepSessionFiles,
} from "#src/sandbox/command/session-files.ts";
import { spawnProgram } from "#src/sandbox/command/spawn-program.ts";
import { createWatch } from "#src/sandbox/command/watch.ts";
import { BASE_ENV, INSIDE } from "#src/sandbox/policy.ts";
import type {
  ExecEnd,
  ExecRequest,
  ExecResult,
  Sandbox,
  SandboxFailure,
  Session,
  SessionSpec,
} from "#src/sandbox/sandbox.ts";

export interface NoneOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly hostPath: string;
}

const WARNING =
  "These commands ran without a sandbox (SANDBOX=none): they could read what the app's user can read and reach the network.";
const NO_ROOT: SandboxFailure = {
  code: "unavailable",
  message:
    "SANDBOX=none never runs commands as root: start agent-fix as an ordinary user, or use SANDBOX=bubblewrap",
};
/** Set on every process, so that those that leave their process group are found too. */
const MARKER_VARIABLE = "AGENT_FIX_MARKER";

export function createNone(options: NoneOptions): Sandbox {
  const isRoot = process.getuid?.() === 0;
  const family = `agent-fix-${sha256(resolve(options.dataDir)).slice(0, 12)}.`;
  const mark = `${family}${options.ids.hex(4)}`;
  const live = new Set<string>();
  return {
    name: "none",
    warning: WARNING,
    owner: null,
    probe: async () => [
      {
        name: "user",
        holds: !isRoot,
        detail: isRoot ? NO_ROOT.message : `commands run as the app's own user (${process.getuid?.()})`,
      },
      { name: "isolation", holds: false, detail: `${WARNING} Install bubblewrap and set SANDBOX=auto.` },
    ],
    open: async (spec) => {
      if (isRoot) return err(NO_ROOT);
      try {
        return ok(await openSession(options, spec, mark, live));
      } catch (error) {
        return err({ code: "setup_failed", message: messageOf(error) });
      }
    },
    sweep: async () => {
      const programs = await programsOf(options.hostPath);
      const own = await withEnvironment(`${MARKER_VARIABLE}=${mark}.`);
      for (const pid of await withEnvironment(`${MARKER_VARIABLE}=${family}`)) {
        if (!own.includes(pid)) killProcess(pid);
      }
      await sweepSessionFiles(options.dataDir, live, programs, options.log);
    },
  };
}

async function programsOf(hostPath: string) {
  const found = await findPrograms(["rm", "chmod", "du", "mkfifo", "prlimit"], hostPath);
  return {
    rm: found.rm ?? "rm",
    chmod: found.chmod ?? "chmod",
    du: found.du ?? "du",
    mkfifo: found.mkfifo ?? "mkfifo",
    prlimit: found.prlimit,
  };
}

async function openSession(
  options: NoneOptions,
  spec: SessionSpec,
  mark: string,
  live: Set<string>,
): Promise<Session> {
  const { clock } = options;
  const programs = await programsOf(options.hostPath);
  const name = `${spec.phase}-${options.ids.hex(4)}`;
  const files = await createSessionFiles(options.dataDir, spec.runId, name, null);
  live.add(files.root);
  const places = await placesOf(spec, files);
  const limiter = await createLimiter(null, name, spec.limits, {
    openFilesCeiling: await openFilesCeiling(),
    clock,
  });
  // A limit on processes would count all of this user's: it would stop the app before it stopped the command.
  const rlimits = limiter.rlimits.filter((option) => !option.startsWith("--nproc"));
  const running = new Set<Running>();
  const processes = () => families([...running].flatMap((command) => command.pid() ?? []));
  const watch = createWatch({
    clock,
    directories: [places.workspace, files.home, files.tmp],
    diskBytes: spec.limits.diskBytes,
    memory: {
      limitBytes: spec.limits.memoryBytes,
      usedBytes: async (nameless) => memoryOf(await processes(), nameless),
    },
    processes,
    du: [programs.du],
    onBreach: (reason) => {
      for (const command of running) command.kill(reason);
    },
    onProblem: (error) =>
      options.log.warn({ error: messageOf(error) }, "a command's use could not be measured"),
  });
  const pipes = createPipes(files.io, programs.mkfifo);
  let count = 0;
  let closing: Promise<void> | null = null;

  const exec = async (request: ExecRequest): Promise<ExecResult> => {
    const full = closing === null ? await watch.ready() : null;
    if (closing !== null) return notStarted("the session is closed");
    if (full !== null) return notStarted(full);
    const marker = `${MARKER_VARIABLE}=${mark}.${name}.${count++}`;
    const launch = launchOf({ request, spec, places, marker, hostPath: options.hostPath });
    if (launch === null) return notStarted("no program was given");
    const wrapped = programs.prlimit === null ? launch.argv : [programs.prlimit, ...rlimits, ...launch.argv];
    const [program = "", ...args] = wrapped;
    const start = spawnProgram({ ...launch, argv: [program, ...args] }, inheritedDescriptors());
    const command = startCommand(start, request, {
      ...{ clock, pipes, directory: files.io },
      onKill: (pid) => void killProcess(-pid),
      afterExit: (pid) => killEverything(pid, marker, clock),
    });
    running.add(command);
    watch.started();
    const raw = await command.result;
    running.delete(command);
    watch.ended();
    return { end: endOf(raw), stdout: raw.stdout, stderr: raw.stderr, durationMs: raw.durationMs };
  };

  return {
    exec: (request) => exec(request).catch((error: unknown) => notStarted(messageOf(error))),
    close: () => {
      closing ??= (async () => {
        for (const command of running) command.kill("cancelled");
        await Promise.all([...running].map((command) => command.result));
        await removeSessionFiles(files.root, programs);
        live.delete(files.root);
      })();
      return closing;
    },
    enforcement: {
      ...limiter.enforcement,
      cpuTime: spec.limits.cpuSeconds === undefined ? "wall clock" : "rlimit per process",
      ...{ processes: "not bounded", isolation: "none" },
    },
  };
}

type Places = Readonly<Record<string, string>> & { readonly workspace: string };

/** Where the paths of a sandbox are without one. */
async function placesOf(
  spec: SessionSpec,
  files: { readonly home: string; readonly tmp: string },
): Promise<Places> {
  const workspace = await realpath(spec.workspace);
  const mounts = await Promise.all(
    spec.mounts.map(async (mount) => [mount.target, await realpath(mount.source)] as const),
  );
  return {
    workspace,
    [INSIDE.workspace]: workspace,
    [INSIDE.home]: files.home,
    ...Object.fromEntries(mounts),
    // Not replaced in texts: /tmp is a path of the host too.
    tmp: files.tmp,
  };
}

/** Every mention of a path of the sandbox, replaced by the host's. Only whole path components count. */
export function toHostPaths(text: string, places: Readonly<Record<string, string>>): string {
  return Object.entries(places)
    .filter(([inside]) => inside.startsWith("/"))
    .reduce((result, [inside, outside]) => {
      const escaped = inside.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      return result.replace(new RegExp(`(?<![\\w./-])${escaped}(?![\\w.-])`, "g"), () => outside);
    }, text);
}

function launchOf(parts: {
  readonly request: ExecRequest;
  readonly spec: SessionSpec;
  readonly places: Places;
  readonly marker: string;
  readonly hostPath: string;
}) {
  const { request, places } = parts;
  const translate = (text: string) => toHostPaths(text, places);
  const [program, ...args] = request.argv.map(translate);
  if (program === undefined) return null;
  const path = parts.hostPath.split(":").filter((directory) => !directory.endsWith("/node_modules/.bin"));
  const added = Object.entries({ ...parts.spec.env, ...request.env });
  const separator = parts.marker.indexOf("=");
  const env: Record<string, string> = {
    ...BASE_ENV,
    PATH: path.join(":"),
    HOME: places[INSIDE.home] ?? "",
    TMPDIR: places.tmp ?? "",
    ...Object.fromEntries(added.map(([name, value]) => [name, translate(value)])),
    [parts.marker.slice(0, separator)]: parts.marker.slice(separator + 1),
  };
  return { argv: [program, ...args] as const, env, cwd: translate(request.cwd ?? INSIDE.workspace) };
}

const SWEEPS = 20;
const DEATH_MS = 5_000;

/** The process group first, then everything marked: again and again, since a dying tree can still fork. */
async function killEverything(pid: number, marker: string, clock: Clock): Promise<void> {
  killProcess(-pid);
  for (let round = 0; round < SWEEPS; round++) {
    const left = await withEnvironment(`${marker}`);
    if (left.length === 0) return;
    for (const stray of left) killProcess(stray);
    for (const stray of left) await waitForDeath(stray, DEATH_MS, clock);
  }
}

function notStarted(message: string): ExecResult {
  return { end: { kind: "not_started", message }, stdout: NOTHING, stderr: NOTHING, durationMs: 0 };
}

function endOf(raw: RawResult): ExecEnd {
  if (raw.killed !== null) return { kind: "killed", reason: raw.killed };
  if (raw.exit === null)
    return { kind: "not_started", message: raw.spawnError ?? "the command did not start" };
  const code = raw.exit.code ?? 128 + (raw.exit.signal === null ? 0 : constants.signals[raw.exit.signal]);
  if (code === 128 + constants.signals.SIGXFSZ) return { kind: "killed", reason: "disk" };
  if (code === 128 + constants.signals.SIGXCPU) return { kind: "killed", reason: "timeout" };
  return { kind: "exited", code };
}
