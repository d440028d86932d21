/** Opens one session in containers: its files, its way to the proxy, its image and its first container. */

import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { chmod, chown, readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { err, ok, type Result } from "#src/base/result.ts";
import { inheritedDescriptors } from "#src/sandbox/command/inherited.ts";
import { createPipes } from "#src/sandbox/command/pipes.ts";
import { exists } from "#src/sandbox/command/processes.ts";
import {
  createSessionFiles,
  removeSessionFiles,
  type SessionFiles,
} from "#src/sandbox/command/session-files.ts";
import { type ContainerPlan, KEEPER_UID } from "#src/sandbox/container/argv.ts";
import { type ContainerContext, DATA_LABEL } from "#src/sandbox/container/context.ts";
import { callEngine, explainEngine } from "#src/sandbox/container/engine.ts";
import { chooseImage } from "#src/sandbox/container/image.ts";
import { type LaneParts, startLane } from "#src/sandbox/container/lane.ts";
import { OWNER_LABEL, ownerText } from "#src/sandbox/container/owner.ts";
import { stricterProfile } from "#src/sandbox/container/seccomp.ts";
import { createContainerSession } from "#src/sandbox/container/session.ts";
import { listsLoopback } from "#src/sandbox/network/addresses.ts";
import { startProxy } from "#src/sandbox/network/proxy.ts";
import { type RegistrySettings, settingsFor } from "#src/sandbox/network/registry.ts";
import { BASE_ENV, ETC_STUBS, INSIDE, proxyEnv, specRefusal } from "#src/sandbox/policy.ts";
import type { ImageWish, Mount, SandboxFailure, Session, SessionSpec } from "#src/sandbox/sandbox.ts";

export async function openContainerSession(
  context: ContainerContext,
  spec: SessionSpec,
): Promise<Result<Session, SandboxFailure>> {
  const refusal = specRefusal(spec);
  if (refusal !== null) return err({ code: "setup_failed", message: refusal });
  const cleanup = new AsyncDisposableStack();
  try {
    const session = await build(context, spec, cleanup);
    if (!session.ok) await cleanup.disposeAsync();
    return session;
  } catch (error) {
    await cleanup.disposeAsync();
    throw error;
  }
}

async function build(
  context: ContainerContext,
  spec: SessionSpec,
  cleanup: AsyncDisposableStack,
): Promise<Result<Session, SandboxFailure>> {
  const { host, clock } = context;
  const image = await imageOf(context, spec);
  if (!image.ok) return image;
  const name = `${spec.phase}-${context.ids.hex(4)}`;
  const files = await createSessionFiles(
    context.dataDir,
    spec.runId,
    name,
    context.isRoot ? context.user : null,
  );
  context.live.add(files.root);
  cleanup.defer(async () => {
    await removeSessionFiles(files.root, host.programs);
    context.live.delete(files.root);
  });
  await nameUser(context, files.root);
  const network = await openNetwork(context, spec, files, cleanup);
  if (!network.ok) return network;
  const alive = await makeAlive(context, files.root, cleanup);
  const mounts = await mountsOf(spec, files, network.value.registry);
  const plan: ContainerPlan = {
    engine: host.engine.name,
    rootless: host.engine.rootless,
    image: image.value.name,
    labels: { [DATA_LABEL]: context.identity },
    mounts: [...files.etc, ...(await broughtAlong(context)), ...mounts],
    alive,
    seccomp: await writeFilter(context, files.root),
    limits: spec.limits,
    cpus: host.cpus,
    openFilesCeiling: host.openFilesCeiling,
    processesCeiling: host.processesCeiling,
  };
  let lanes = 0;
  const start = () =>
    startLane({
      ...{ engine: host.engine, clock, isRoot: context.isRoot },
      plan: { ...plan, labels: { ...plan.labels, [OWNER_LABEL]: ownerText(context.owner, clock.now()) } },
      name: `${context.mark}.${name}.${lanes++}`,
      prefix: host.programs.setpriv === null ? [] : [host.programs.setpriv, "--pdeathsig", "KILL", "--"],
      network: network.value.way,
    });
  const first = await start();
  if (!first.ok) return first;
  const { label } = first.value.groups;
  return ok(
    createContainerSession({
      ...{ clock, log: context.log, engine: host.engine, first: first.value, startLane: start },
      owner: context.user,
      env: { ...baseEnv(image.value.env), ...network.value.env, ...spec.env },
      limits: spec.limits,
      pipes: createPipes(files.io, host.programs.mkfifo),
      io: files.io,
      inherited: inheritedDescriptors(),
      du: host.programs.du,
      writable: mounts
        .filter((mount) => mount.mode === "rw" && mount.source !== files.proxySocket)
        .map((mount) => mount.source),
      enforcement: {
        ...{ memory: label, processes: label, disk: "watcher, and rlimit per file", openFiles: "rlimit" },
        ...{ cpuTime: `${label}, and wall clock`, output: "bounded while read" },
        isolation: `${host.engine.name} ${host.engine.version}, ${image.value.why}`,
      },
      secret: () => `agent-fix-${context.ids.hex(16)}`,
      dispose: () => cleanup.disposeAsync(),
    }),
  );
}

const NO_WISH: ImageWish = { asked: null, devcontainer: null, stack: null };

interface Image {
  readonly name: string;
  /** For the trace. */
  readonly why: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The session's image, when the operator allows it and it is here. */
async function imageOf(context: ContainerContext, spec: SessionSpec): Promise<Result<Image, SandboxFailure>> {
  const chosen = chooseImage(spec.image ?? NO_WISH, context.images);
  if (!chosen.ok) return err({ code: "unavailable", message: chosen.error });
  const { image: name, from, notes } = chosen.value;
  const { engine } = context.host;
  const said = await callEngine(engine, ["image", "inspect", "--format", "{{json .Config.Env}}", name]);
  if (said.code !== 0) {
    const message = `the image ${name} cannot be used: ${explainEngine(engine.name, said.stderr)}`;
    return err({ code: "unavailable", message });
  }
  const why = [`image ${name} (${from})`, ...notes].join("; ");
  return ok({ name, why, env: environmentOf(said.stdout) });
}

/** Assignments of an image as `inspect` prints them: a JSON list, or `null`. */
export function environmentOf(text: string): Readonly<Record<string, string>> {
  const listed: unknown = JSON.parse(text);
  if (!Array.isArray(listed)) return {};
  return Object.fromEntries(
    listed.flatMap((entry) => {
      const at = typeof entry === "string" ? entry.indexOf("=") : -1;
      return at > 0 ? [[entry.slice(0, at), entry.slice(at + 1)] as const] : [];
    }),
  );
}

const USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The image says where its programs are; what the app brings along comes last. */
function baseEnv(image: Readonly<Record<string, string>>): Record<string, string> {
  return {
    ...image,
    ...BASE_ENV,
    PATH: `${image.PATH ?? USUAL_PATH}:${INSIDE.toolDirectory}:${INSIDE.nodeDirectory}`,
    HOME: INSIDE.home,
    USER: INSIDE.user,
    LOGNAME: INSIDE.user,
    TMPDIR: INSIDE.tmp,
  };
}

interface Way {
  readonly way: LaneParts["network"];
  readonly env: Readonly<Record<string, string>>;
  readonly registry: RegistrySettings;
}

/** Starts the proxy when the session has a network. */
async function openNetwork(
  context: ContainerContext,
  spec: SessionSpec,
  files: SessionFiles,
  cleanup: AsyncDisposableStack,
): Promise<Result<Way, SandboxFailure>> {
  const registry = settingsFor(context.registry, spec);
  if (spec.network.kind === "none") return ok({ way: null, env: {}, registry });
  const { socat, nsenter } = context.host.programs;
  if (!context.isRoot) {
    return err({
      code: "unavailable",
      message: `set-up needs a network, and only root can open a way into a container of ${context.engine}: start agent-fix as root, or use SANDBOX=bubblewrap`,
    });
  }
  if (socat === null || nsenter === null) {
    return err({
      code: "unavailable",
      message:
        "set-up needs a network, and for that `socat` and `nsenter`: install the packages socat and util-linux",
    });
  }
  const hosts = [...spec.network.hosts, ...registry.hosts];
  const proxy = await startProxy({ socketPath: files.proxySocket, hosts, onHost: spec.network.onHost });
  cleanup.defer(() => proxy.close());
  const marker = `${context.mark}.${spec.phase}`;
  return ok({
    way: { socket: files.proxySocket, socat, nsenter, marker },
    env: { ...proxyEnv(listsLoopback(hosts)), ...registry.env },
    registry,
  });
}

/** Commands keep the id they have outside: engines differ in what they can map. */
async function nameUser({ user }: ContainerContext, directory: string): Promise<void> {
  for (const file of ["passwd", "group"]) {
    const text = (ETC_STUBS[file] ?? "")
      .replace(`${INSIDE.user}:x:${INSIDE.uid}:${INSIDE.gid}:`, `${INSIDE.user}:x:${user.uid}:${user.gid}:`)
      .replace(`${INSIDE.user}:x:${INSIDE.gid}:\n`, `${INSIDE.user}:x:${user.gid}:\n`);
    await writeFile(join(directory, "etc", file), text);
  }
}

const PODMAN_FILTERS = ["/etc/containers/seccomp.json", "/usr/share/containers/seccomp.json"];

/** podman's own filter lets commands make further namespaces; docker's does not. Null: the engine's own is used. */
async function writeFilter({ engine }: ContainerContext, directory: string): Promise<string | null> {
  if (engine === "docker") return null;
  for (const path of PODMAN_FILTERS) {
    if (!(await exists(path))) continue;
    const stricter = stricterProfile(await readFile(path, "utf8"));
    if (stricter === null) continue;
    const written = join(directory, "seccomp.json");
    await writeFile(written, stricter, { mode: 0o600 });
    return written;
  }
  return null;
}

/** The pipe whose end is the end of every container of the session: closed with it, and by the kernel when the app dies. */
async function makeAlive(
  context: ContainerContext,
  directory: string,
  cleanup: AsyncDisposableStack,
): Promise<string> {
  const path = join(directory, "alive");
  await new Promise<void>((resolve, reject) => {
    execFile(context.host.programs.mkfifo, ["-m", "600", path], { env: {} }, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  if (context.isRoot) await chown(path, KEEPER_UID, KEEPER_UID);
  else await chmod(path, 0o604);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  cleanup.defer(() => closeSync(fd));
  return path;
}

/** Where everything comes from, with links resolved, the workspace last; registries' directories that do not exist are left out. */
async function mountsOf(
  spec: SessionSpec,
  files: SessionFiles,
  registry: RegistrySettings,
): Promise<readonly Mount[]> {
  const there = await Promise.all(registry.mounts.map((mount) => exists(mount.source)));
  const given: readonly Mount[] = [
    ...registry.mounts.filter((_, index) => there[index]),
    { source: spec.workspace, target: INSIDE.workspace, mode: "rw" },
    ...spec.mounts,
  ];
  const own: Mount[] = [
    { source: files.home, target: INSIDE.home, mode: "rw" },
    { source: files.tmp, target: INSIDE.tmp, mode: "rw" },
    { source: files.tmp, target: "/var/tmp", mode: "rw" },
  ];
  const resolved = await Promise.all(
    given.map(async (mount) => ({ ...mount, source: await realpath(mount.source) })),
  );
  return [...own, ...resolved];
}

/** ripgrep and the app's own Node: both last on the PATH. */
async function broughtAlong(context: ContainerContext): Promise<readonly Mount[]> {
  const node: Mount = {
    source: await realpath(dirname(process.execPath)),
    target: INSIDE.nodeDirectory,
    mode: "ro",
  };
  const ripgrep = context.ripgrep ?? null;
  if (ripgrep === null || !(await exists(ripgrep))) return [node];
  return [node, { source: await realpath(ripgrep), target: `${INSIDE.toolDirectory}/rg`, mode: "ro" }];
}
