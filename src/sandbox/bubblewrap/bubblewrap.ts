/** The bubblewrap sandbox: opens sessions, and cleans up after a killed predecessor. */

import { chmod, realpath, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { sha256 } from "#src/base/canonical-json.ts";
import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import type { Plan } from "#src/sandbox/bubblewrap/argv.ts";
import { type Host, inspectHost } from "#src/sandbox/bubblewrap/host.ts";
import { duArgv } from "#src/sandbox/bubblewrap/launch.ts";
import { openLauncher } from "#src/sandbox/bubblewrap/launcher.ts";
import { seccompProgram } from "#src/sandbox/bubblewrap/seccomp.ts";
import { createSession } from "#src/sandbox/bubblewrap/session.ts";
import { inheritedDescriptors } from "#src/sandbox/command/inherited.ts";
import { createLimiter, sweepGroups } from "#src/sandbox/command/limits.ts";
import { createPipes } from "#src/sandbox/command/pipes.ts";
import { exists, killProcess, waitForDeath, withArgument } from "#src/sandbox/command/processes.ts";
import {
  createSessionFiles,
  removeSessionFiles,
  type SessionFiles,
  sweepSessionFiles,
} from "#src/sandbox/command/session-files.ts";
import { listsLoopback } from "#src/sandbox/network/addresses.ts";
import { startProxy } from "#src/sandbox/network/proxy.ts";
import { type RegistrySettings, settingsFor } from "#src/sandbox/network/registry.ts";
import { BASE_ENV, DEFAULT_UID, INSIDE, proxyEnv, specRefusal } from "#src/sandbox/policy.ts";
import { selfCheck } from "#src/sandbox/probes/self-check.ts";
import type { Mount, Sandbox, SandboxFailure, Session, SessionSpec } from "#src/sandbox/sandbox.ts";

export interface BubblewrapOptions {
  /** All state of the app; sessions live below `<dataDir>/runs/<run>/sandbox`. One process at a time uses it. */
  readonly dataDir: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The operator's PATH: where bubblewrap and the toolchains are. */
  readonly hostPath: string;
  /** As root: the user and group id that commands run as; default 61000. Two apps on one machine need two. */
  readonly uid?: number;
  /** The host's own registries and certificates, for sessions with a network. */
  readonly registry?: RegistrySettings;
  /** Path of a ripgrep program to show inside, behind the host's own. */
  readonly ripgrep?: string | null;
}

interface Context extends BubblewrapOptions {
  readonly host: Host;
  readonly isRoot: boolean;
  readonly owner: Sandbox["owner"];
  /** `agent-fix-<data directory>.<this process>`: in names of control groups and on command lines. */
  readonly mark: string;
  /** Session directories in use. */
  readonly live: Set<string>;
}

/** Nothing is looked at or started before the first use. */
export function createBubblewrap(options: BubblewrapOptions): Sandbox {
  const isRoot = process.getuid?.() === 0;
  const uid = options.uid ?? DEFAULT_UID;
  const owner = isRoot ? { uid, gid: uid } : null;
  const family = `agent-fix-${sha256(resolve(options.dataDir)).slice(0, 12)}.`;
  const mark = `${family}${options.ids.hex(4)}`;
  const live = new Set<string>();
  let inspected: Promise<Result<Host, SandboxFailure>> | null = null;
  const host = () => {
    inspected ??= inspectHost({
      ...{ hostPath: options.hostPath, dataDir: options.dataDir, isRoot },
      ripgrep: options.ripgrep ?? null,
    });
    return inspected;
  };
  const open = async (spec: SessionSpec): Promise<Result<Session, SandboxFailure>> => {
    const found = await host();
    if (!found.ok) return found;
    return openSession({ ...options, host: found.value, isRoot, owner, mark, live }, spec);
  };
  const sandbox: Sandbox = {
    name: "bubblewrap",
    warning: null,
    owner,
    open,
    probe: (onLine) =>
      selfCheck({ sandbox, dataDir: options.dataDir, ids: options.ids, host, isRoot, onLine }),
    sweep: async () => {
      const found = await host();
      if (found.ok) await sweep({ ...options, host: found.value, isRoot, owner, mark, live }, family);
    },
  };
  return sandbox;
}

async function openSession(context: Context, spec: SessionSpec): Promise<Result<Session, SandboxFailure>> {
  const refusal = specRefusal(spec);
  if (refusal !== null) return err({ code: "setup_failed", message: refusal });
  const cleanup = new AsyncDisposableStack();
  try {
    const session = await build(context, spec, cleanup);
    if (!session.ok) await cleanup.disposeAsync();
    return session;
  } catch (error) {
    await cleanup.disposeAsync().catch((left: unknown) => {
      context.log.error({ error: messageOf(left) }, "a session that did not open left something behind");
    });
    return err({ code: "setup_failed", message: `the sandbox could not be prepared: ${messageOf(error)}` });
  }
}

async function build(
  context: Context,
  spec: SessionSpec,
  cleanup: AsyncDisposableStack,
): Promise<Result<Session, SandboxFailure>> {
  const { host, clock, mark } = context;
  const name = `${spec.phase}-${context.ids.hex(4)}`;
  const files = await createSessionFiles(context.dataDir, spec.runId, name, context.owner);
  context.live.add(files.root);
  cleanup.defer(async () => {
    await removeSessionFiles(files.root, host.programs);
    context.live.delete(files.root);
  });
  const proxied = spec.network.kind === "allow";
  const registry = settingsFor(context.registry, spec);
  const env = await openNetwork(context, spec, { files, registry, cleanup });
  if (!env.ok) return env;

  const limiter = await createLimiter(host.cgroups, `${mark}.${name}`, spec.limits, {
    openFilesCeiling: host.openFilesCeiling,
    clock,
  });
  cleanup.defer(() => limiter.remove());
  const mounts = await hostMounts(spec, registry);
  const { owner } = context;
  const pipes = createPipes(files.io, host.programs.mkfifo);
  const filter = await writeFilter(files.io);
  const launcher = await openLauncher({
    filter,
    ...{ programs: host.programs, pipes, directory: files.io, procsFiles: limiter.procsFiles },
    drop: owner === null ? null : { ...owner, sources: holderSources(host, files, mounts) },
    marker: `${mark}.${name}`,
    inherited: inheritedDescriptors(),
  });
  if (!launcher.ok) return launcher;
  cleanup.defer(() => launcher.value.close());

  const binds = bindsOf(host, files, mounts, proxied);
  const plan: Omit<Plan, "prlimit"> = {
    rootEntries: host.rootEntries,
    binds: binds.map((bind) => ({ ...bind, source: launcher.value.translate(bind.source) })),
    env: { ...baseEnv(host), ...env.value, ...spec.env },
    proxied,
    filtered: filter !== null,
  };
  return ok(
    createSession({
      ...{ clock, log: context.log, programs: host.programs, plan, limiter, limits: spec.limits },
      pipes,
      io: files.io,
      writable: binds
        .filter((bind) => bind.mode === "rw" && bind.source !== files.proxySocket)
        .map((bind) => bind.source),
      du: duArgv(host.programs, context.isRoot),
      launcher: launcher.value,
      marker: `${mark}.${name}`,
      dispose: () => cleanup.disposeAsync(),
    }),
  );
}

/** The system call filter as a file that the launcher can read; null on a machine whose calls are not known. */
async function writeFilter(directory: string): Promise<string | null> {
  const program = seccompProgram(process.arch);
  if (program === null) return null;
  const path = join(directory, "filter");
  await writeFile(path, program);
  await chmod(path, 0o644);
  return path;
}

/** Starts the proxy when the session has a network; the result is the environment that leads to it. */
async function openNetwork(
  context: Context,
  spec: SessionSpec,
  parts: {
    readonly files: SessionFiles;
    readonly registry: RegistrySettings;
    readonly cleanup: AsyncDisposableStack;
  },
): Promise<Result<Record<string, string>, SandboxFailure>> {
  if (spec.network.kind === "none") return ok({});
  if (context.host.programs.socat === null) {
    return err({
      code: "unavailable",
      message: "set-up needs a network, and for that `socat`: install the package socat",
    });
  }
  const hosts = [...spec.network.hosts, ...parts.registry.hosts];
  const proxy = await startProxy({ socketPath: parts.files.proxySocket, hosts, onHost: spec.network.onHost });
  parts.cleanup.defer(() => proxy.close());
  return ok({ ...proxyEnv(listsLoopback(hosts)), ...parts.registry.env });
}

/** The caller's mounts with links resolved, the workspace first; registries' directories that do not exist are left out. */
async function hostMounts(spec: SessionSpec, registry: RegistrySettings): Promise<readonly Mount[]> {
  const workspace: Mount = { source: spec.workspace, target: INSIDE.workspace, mode: "rw" };
  const there = await Promise.all(registry.mounts.map((mount) => exists(mount.source)));
  const all = [workspace, ...spec.mounts, ...registry.mounts.filter((_, index) => there[index])];
  return Promise.all(all.map(async (mount) => ({ ...mount, source: await realpath(mount.source) })));
}

/** What lies outside the system's directories, and so may be below a directory that the sandbox's user cannot enter. */
function holderSources(host: Host, files: SessionFiles, mounts: readonly Mount[]): readonly string[] {
  const all = [
    files.root,
    ...host.toolchains.directories,
    ...[...host.broughtAlong, ...mounts].map((m) => m.source),
  ];
  return [...new Set(all)].sort((a, b) => b.length - a.length);
}

function bindsOf(
  host: Host,
  files: SessionFiles,
  mounts: readonly Mount[],
  proxied: boolean,
): readonly Mount[] {
  const toolchains = host.toolchains.directories.map(
    (path): Mount => ({ source: path, target: path, mode: "ro" }),
  );
  const own: Mount[] = [
    { source: files.home, target: INSIDE.home, mode: "rw" },
    { source: files.tmp, target: INSIDE.tmp, mode: "rw" },
  ];
  if (proxied) own.push({ source: files.proxySocket, target: INSIDE.proxySocket, mode: "rw" });
  return [...host.etc, ...files.etc, ...toolchains, ...host.broughtAlong, ...own, ...mounts];
}

function baseEnv(host: Host): Record<string, string> {
  return {
    ...BASE_ENV,
    PATH: host.path,
    HOME: INSIDE.home,
    USER: INSIDE.user,
    LOGNAME: INSIDE.user,
    TMPDIR: INSIDE.tmp,
    CARGO_HOME: `${INSIDE.home}/.cargo`,
    ...host.toolchains.env,
  };
}

const DEATH_MS = 5_000;

/** Everything a process with the same data directory left behind; this process's own sessions stay. */
async function sweep(context: Context, family: string): Promise<void> {
  const { host, clock, log, mark } = context;
  const strays: number[] = [];
  const own = await withArgument(`${mark}.`);
  for (const pid of await withArgument(family)) {
    if (!own.includes(pid) && killProcess(pid)) strays.push(pid);
  }
  for (const pid of strays) await waitForDeath(pid, DEATH_MS, clock);
  if (host.cgroups !== null) {
    const stuck = await sweepGroups(host.cgroups, family, (name) => name.startsWith(`${mark}.`), clock);
    if (stuck.length > 0)
      log.warn({ groups: stuck }, "control groups of an earlier process could not be removed");
  }
  const directories = await sweepSessionFiles(context.dataDir, context.live, host.programs, log);
  if (strays.length + directories > 0) {
    log.info(
      { processes: strays.length, directories },
      "removed what an earlier process left in the sandbox",
    );
  }
}
