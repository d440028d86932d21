/** Looks at the host once: where the programs are, how / is laid out, which toolchains and parts of /etc can be shown. */

import { execFile } from "node:child_process";
import { access, constants, lstat, readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { err, ok, type Result } from "#src/base/result.ts";
import type { RootEntry } from "#src/sandbox/bubblewrap/argv.ts";
import type { Programs } from "#src/sandbox/bubblewrap/launch.ts";
import { type HostFiles, resolveToolchains, type Toolchains } from "#src/sandbox/bubblewrap/toolchains.ts";
import { type CgroupHome, findCgroups, openFilesCeiling } from "#src/sandbox/command/limits.ts";
import { exists, isErrno } from "#src/sandbox/command/processes.ts";
import { ETC_VISIBLE, INSIDE } from "#src/sandbox/policy.ts";
import type { Mount, SandboxFailure } from "#src/sandbox/sandbox.ts";

export interface Host {
  readonly programs: Programs;
  readonly rootEntries: readonly RootEntry[];
  readonly etc: readonly Mount[];
  readonly toolchains: Toolchains;
  /** The app's Node and ripgrep, where the host has none of its own. */
  readonly broughtAlong: readonly Mount[];
  readonly path: string;
  readonly cgroups: CgroupHome | null;
  readonly openFilesCeiling: number;
}

const EXTRA_DIRECTORIES = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"];

/** Full paths of the named programs in the directories of a PATH and in the usual places; null for those not found. */
export async function findPrograms<Name extends string>(
  names: readonly Name[],
  hostPath: string,
): Promise<Record<Name, string | null>> {
  const directories = [...hostPath.split(":").filter((part) => part.startsWith("/")), ...EXTRA_DIRECTORIES];
  const find = async (name: string) => {
    for (const directory of directories)
      if (await isExecutable(join(directory, name))) return join(directory, name);
    return null;
  };
  const entries = await Promise.all(names.map(async (name) => [name, await find(name)] as const));
  return Object.fromEntries(entries) as Record<Name, string | null>;
}

const NEEDED = ["bwrap", "bash", "mkfifo", "nice", "rm", "chmod", "du"] as const;
const NEEDED_BY_ROOT = ["setpriv"] as const;
const OPTIONAL = ["prlimit", "socat"] as const;
const OLDEST_BWRAP = [0, 8];

/** The programs a sandbox is made of, or what to install. */
export async function locatePrograms(
  hostPath: string,
  isRoot: boolean,
): Promise<Result<Programs, SandboxFailure>> {
  const found = await findPrograms([...NEEDED, ...NEEDED_BY_ROOT, ...OPTIONAL], hostPath);
  if (found.bwrap === null) {
    return unavailable(
      "bubblewrap is not installed (no `bwrap` on the PATH): install the package `bubblewrap`",
    );
  }
  const missing = [...NEEDED, ...(isRoot ? NEEDED_BY_ROOT : [])].filter((name) => found[name] === null);
  if (missing.length > 0) {
    return unavailable(
      `these programs are missing: ${missing.join(", ")}; install the packages bash, coreutils and util-linux`,
    );
  }
  const version = await bwrapVersion(found.bwrap);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major === OLDEST_BWRAP[0] && minor < (OLDEST_BWRAP[1] ?? 0)) {
    return unavailable(`bubblewrap ${version} is too old: 0.8.0 or newer is needed for --disable-userns`);
  }
  return ok({
    ...found,
    bwrap: found.bwrap,
    bash: found.bash ?? "/bin/bash",
    mkfifo: found.mkfifo ?? "mkfifo",
    nice: found.nice ?? "nice",
    rm: found.rm ?? "rm",
    chmod: found.chmod ?? "chmod",
    du: found.du ?? "du",
  });
}

function unavailable(message: string) {
  return err({ code: "unavailable" as const, message });
}

function bwrapVersion(bwrap: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(bwrap, ["--version"], { env: {} }, (_, stdout) => resolve(/[\d.]+/.exec(stdout)?.[0] ?? "0.0"));
  });
}

export interface HostOptions {
  readonly hostPath: string;
  /** The app's data, which no directory of programs may hold or lie in. */
  readonly dataDir: string;
  readonly isRoot: boolean;
  /** ripgrep's program brought along; null: none. */
  readonly ripgrep: string | null;
}

export async function inspectHost(options: HostOptions): Promise<Result<Host, SandboxFailure>> {
  const programs = await locatePrograms(options.hostPath, options.isRoot);
  if (!programs.ok) return programs;
  const files = hostFiles(options.isRoot);
  const toolchains = await resolveToolchains(
    options.hostPath.split(":"),
    files,
    await realOr(options.dataDir),
  );
  const broughtAlong = await bringAlong(toolchains, options.ripgrep);
  const path = [...toolchains.path, ...new Set(broughtAlong.map((mount) => pathEntry(mount)))];
  return ok({
    programs: programs.value,
    rootEntries: await rootLayout(),
    etc: await visibleEtc(),
    toolchains,
    broughtAlong,
    path: path.join(":"),
    cgroups: await findCgroups(),
    openFilesCeiling: await openFilesCeiling(),
  });
}

async function realOr(path: string): Promise<string> {
  return (await orNull(() => realpath(path))) ?? path;
}

function pathEntry(mount: Mount): string {
  return mount.target === INSIDE.nodeDirectory ? mount.target : dirname(mount.target);
}

async function bringAlong(toolchains: Toolchains, ripgrep: string | null): Promise<readonly Mount[]> {
  const mounts: Mount[] = [];
  const hasNode = await Promise.all(
    toolchains.path.map((directory) => isExecutable(join(directory, "node"))),
  );
  if (!hasNode.includes(true)) {
    mounts.push({ source: dirname(process.execPath), target: INSIDE.nodeDirectory, mode: "ro" });
  }
  if (ripgrep !== null && (await exists(ripgrep))) {
    mounts.push({ source: await realpath(ripgrep), target: `${INSIDE.toolDirectory}/rg`, mode: "ro" });
  }
  return mounts;
}

const ROOT_NAMES = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

async function rootLayout(): Promise<readonly RootEntry[]> {
  const entries = await Promise.all(
    ROOT_NAMES.map(async (name): Promise<RootEntry[]> => {
      const path = `/${name}`;
      if (!(await exists(path))) return [];
      const link = (await lstat(path)).isSymbolicLink() ? await readlink(path) : null;
      return [{ path, link }];
    }),
  );
  return entries.flat();
}

async function visibleEtc(): Promise<readonly Mount[]> {
  const names = await readdir("/etc");
  const wanted = ETC_VISIBLE.flatMap((entry) =>
    entry.endsWith("*") ? names.filter((name) => name.startsWith(entry.slice(0, -1))) : [entry],
  );
  const mounts: Mount[] = [];
  for (const name of wanted) {
    const path = `/etc/${name}`;
    if (await exists(path)) mounts.push({ source: await realpath(path), target: path, mode: "ro" });
  }
  return mounts;
}

/** `isRoot`: commands will run as a user that owns nothing, so only what is open to everyone counts. */
export function hostFiles(isRoot: boolean): HostFiles {
  return {
    real: async (path) => orNull(() => realpath(path)),
    isDirectory: async (path) => (await orNull(() => stat(path)))?.isDirectory() ?? false,
    isExecutable,
    text: async (path) => orNull(() => readFile(path, "utf8")),
    list: async (path) => (await orNull(() => readdir(path))) ?? [],
    isOpenToSandbox: async (path) => {
      const mode = (await orNull(() => stat(path)))?.mode ?? 0;
      return !isRoot || (mode & 0o005) === 0o005;
    },
  };
}

async function isExecutable(path: string): Promise<boolean> {
  const found = await orNull(() => stat(path));
  if (found === null || !found.isFile()) return false;
  return (await orNull(async () => (await access(path, constants.X_OK)) ?? true)) ?? false;
}

async function orNull<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "EISDIR", "EINVAL")) return null;
    throw error;
  }
}
