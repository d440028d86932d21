/** Bounds on memory, processes and files of a session: control groups where they can be written, else limits per process. */

import { access, constants, mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#src/base/clock.ts";
import { isErrno, killProcess } from "#src/sandbox/command/processes.ts";
import type { Limits } from "#src/sandbox/sandbox.ts";

/** Where new control groups can be made. */
export type CgroupHome =
  | { readonly kind: "v1"; readonly memory: string; readonly pids: string }
  | { readonly kind: "v2"; readonly root: string };

export interface Limiter {
  /** `cgroup.procs` files that a command writes its pid into before it does anything else. */
  readonly procsFiles: readonly string[];
  /** Options of prlimit for the command. */
  readonly rlimits: readonly string[];
  /** True: the kernel keeps to `memoryBytes`; false: a watcher has to. */
  readonly memoryIsBounded: boolean;
  readonly enforcement: Readonly<Record<string, string>>;
  /** How often the kernel killed a process of this session for its memory. */
  memoryKills(): Promise<number>;
  /** Kills every process in the control groups and removes them. */
  remove(): Promise<void>;
}

/** Processes of the sandbox itself (bubblewrap twice, prlimit before it becomes the command). */
const OWN_PROCESSES = 3;

/** The watcher counts the whole command and comes first; the limit per process is for what it misses. */
const CPU_GRACE_SECONDS = 5;

/** `name` becomes a directory name: `agent-fix-<data directory>.<instance>.<session>`. `openFilesCeiling` is the hard limit we run under. */
export async function createLimiter(
  home: CgroupHome | null,
  name: string,
  limits: Limits,
  options: { readonly openFilesCeiling: number; readonly clock: Clock },
): Promise<Limiter> {
  const shared = [
    "--core=0",
    `--fsize=${limits.diskBytes}`,
    `--nofile=${Math.min(limits.openFiles, options.openFilesCeiling)}`,
    ...(limits.cpuSeconds === undefined ? [] : [`--cpu=${Math.ceil(limits.cpuSeconds) + CPU_GRACE_SECONDS}`]),
  ];
  const enforcement = {
    disk: "watcher, and rlimit per file",
    openFiles: "rlimit",
    cpuTime: limits.cpuSeconds === undefined ? "wall clock" : "watcher, and rlimit per process",
    output: "bounded while read",
  };
  const groups = home === null ? null : await createGroups(home, name, limits);
  if (groups === null) {
    return {
      procsFiles: [],
      rlimits: [...shared, `--nproc=${limits.processes + OWN_PROCESSES}`, `--data=${limits.memoryBytes}`],
      memoryIsBounded: false,
      enforcement: { ...enforcement, memory: "rlimit per process, and watcher", processes: "rlimit" },
      memoryKills: async () => 0,
      remove: async () => undefined,
    };
  }
  const label = `cgroup ${groups.kind}`;
  return {
    procsFiles: groups.directories.map((directory) => join(directory, "cgroup.procs")),
    rlimits: shared,
    memoryIsBounded: true,
    enforcement: { ...enforcement, memory: label, processes: label },
    memoryKills: async () => counter((await read(groups.killCounter)) ?? ""),
    remove: async () => {
      for (const directory of groups.directories) await removeGroup(directory, options.clock);
    },
  };
}

interface Groups {
  readonly kind: CgroupHome["kind"];
  readonly directories: readonly string[];
  readonly killCounter: string;
}

/** Null when the kernel refuses: then the weaker mechanism is used and named. */
async function createGroups(home: CgroupHome, name: string, limits: Limits): Promise<Groups | null> {
  try {
    if (home.kind === "v1") {
      const [memory, pids] = [join(home.memory, name), join(home.pids, name)];
      await mkdir(memory);
      await mkdir(pids);
      await writeFile(join(memory, "memory.limit_in_bytes"), String(limits.memoryBytes));
      await writeIfThere(join(memory, "memory.memsw.limit_in_bytes"), String(limits.memoryBytes));
      await writeFile(join(pids, "pids.max"), String(limits.processes + OWN_PROCESSES));
      return { kind: "v1", directories: [memory, pids], killCounter: join(memory, "memory.oom_control") };
    }
    const group = join(home.root, name);
    await mkdir(group);
    await writeFile(join(group, "memory.max"), String(limits.memoryBytes));
    await writeIfThere(join(group, "memory.swap.max"), "0");
    // A command whose child was killed for its memory would wait for it to the end of its time: all of it is killed at once.
    await writeIfThere(join(group, "memory.oom.group"), "1");
    await writeFile(join(group, "pids.max"), String(limits.processes + OWN_PROCESSES));
    return { kind: "v2", directories: [group], killCounter: join(group, "memory.events") };
  } catch (error) {
    if (isErrno(error, "EACCES", "EPERM", "EROFS", "ENOENT", "EBUSY", "EINVAL")) return null;
    throw error;
  }
}

/** For files of the kernel that older ones, or those without swap, do not have. */
async function writeIfThere(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: "r+" });
  } catch (error) {
    if (!isErrno(error, "ENOENT", "EACCES", "EPERM", "EOPNOTSUPP")) throw error;
  }
}

function counter(text: string): number {
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}

const REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 20;

/** A group can be removed only when its last process is gone, which the kernel may notice a moment later than we do. */
async function removeGroup(directory: string, clock: Clock): Promise<boolean> {
  for (let attempt = 0; attempt < REMOVE_TRIES; attempt++) {
    for (const pid of ((await read(join(directory, "cgroup.procs"))) ?? "").split("\n").filter(Boolean)) {
      killProcess(Number(pid));
    }
    try {
      await rmdir(directory);
      return true;
    } catch (error) {
      if (isErrno(error, "ENOENT")) return true;
      if (!isErrno(error, "EBUSY")) throw error;
      await clock.sleep(REMOVE_PAUSE_MS);
    }
  }
  return false;
}

/** Removes groups whose name starts with `prefix`, except those that `keep` says are in use; returns names that could not be removed. */
export async function sweepGroups(
  home: CgroupHome,
  prefix: string,
  keep: (name: string) => boolean,
  clock: Clock,
): Promise<readonly string[]> {
  const parents = home.kind === "v1" ? [home.memory, home.pids] : [home.root];
  const stuck: string[] = [];
  for (const parent of parents) {
    for (const name of await readdir(parent)) {
      if (!name.startsWith(prefix) || keep(name)) continue;
      if (!(await removeGroup(join(parent, name), clock))) stuck.push(name);
    }
  }
  return stuck;
}

const CGROUP_ROOT = "/sys/fs/cgroup";

/**
 * Finds where control groups can be made. Version 1: below the app's own group, so that limits set on the app hold for
 * its commands too. Version 2: below the app's own group when it was delegated, else below the root of the tree we see, if
 * memory and pids are handed down there.
 */
export async function findCgroups(
  root = CGROUP_ROOT,
  selfFile = "/proc/self/cgroup",
): Promise<CgroupHome | null> {
  const own = (await read(selfFile)) ?? "";
  const memory = await firstWritable(candidates(root, own, "memory"));
  const pids = await firstWritable(candidates(root, own, "pids"));
  if (memory !== null && pids !== null) return { kind: "v1", memory, pids };
  const path = /^0::(.*)$/m.exec(own)?.[1] ?? "/";
  for (const directory of new Set([join(root, path), root].map((one) => one.replace(/\/$/, "")))) {
    if ((await isWritable(directory)) && (await handsDown(directory))) return { kind: "v2", root: directory };
  }
  return null;
}

const WANTED = ["memory", "pids"];
/** Where the app itself goes: a group whose processes are in it cannot hand controllers down. */
const APP_GROUP = "agent-fix-app";

/** True when groups made here get memory and pids; tries to bring that about in a group that was delegated to us. */
async function handsDown(directory: string): Promise<boolean> {
  const lists = async (file: string) => ((await read(join(directory, file))) ?? "").split(/\s+/);
  const includesAll = (names: readonly string[]) => WANTED.every((name) => names.includes(name));
  if (includesAll(await lists("cgroup.subtree_control"))) return true;
  if (!includesAll(await lists("cgroup.controllers"))) return false;
  try {
    const app = join(directory, APP_GROUP);
    await mkdir(app, { recursive: true });
    for (const pid of (await lists("cgroup.procs")).filter(Boolean)) {
      await writeFile(join(app, "cgroup.procs"), pid);
    }
    await writeFile(join(directory, "cgroup.subtree_control"), WANTED.map((name) => `+${name}`).join(" "));
    return true;
  } catch (error) {
    if (isErrno(error, "EACCES", "EPERM", "EROFS", "ENOENT", "EBUSY", "EINVAL", "ESRCH")) return false;
    throw error;
  }
}

function candidates(root: string, ownGroups: string, controller: string): readonly string[] {
  const line = ownGroups.split("\n").find((entry) => entry.split(":")[1]?.split(",").includes(controller));
  const path = line?.split(":").slice(2).join(":").replace(/\/$/, "") ?? "";
  return [join(root, controller, path), join(root, controller)];
}

async function firstWritable(directories: readonly string[]): Promise<string | null> {
  for (const directory of directories) if (await isWritable(directory)) return directory;
  return null;
}

async function isWritable(directory: string): Promise<boolean> {
  try {
    await access(join(directory, "cgroup.procs"), constants.W_OK);
    await access(directory, constants.W_OK);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT", "EACCES", "EPERM", "EROFS", "ENOTDIR")) return false;
    throw error;
  }
}

async function read(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "EACCES", "ENODEV", "ENOTDIR")) return null;
    throw error;
  }
}

/** The hard limit on open files that this process runs under, which an ordinary user cannot exceed. */
export async function openFilesCeiling(limitsFile = "/proc/self/limits"): Promise<number> {
  const line = /^Max open files\s+\S+\s+(\S+)/m.exec((await read(limitsFile)) ?? "");
  const hard = Number(line?.[1]);
  return Number.isFinite(hard) ? hard : 1024;
}

/** For the doctor's line. */
export function describeHome(home: CgroupHome | null): string {
  if (home === null) return "none can be written";
  return home.kind === "v1" ? `version 1, below ${home.memory}` : `version 2, below ${home.root}`;
}
