/** What the kernel counts for one container: its processes, its kills for memory, its processor time. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "#src/sandbox/command/processes.ts";

export interface ContainerGroups {
  /** For the trace: `container, cgroup v1`. */
  readonly label: string;
  /** Living processes and threads, zombies too; null: it cannot be read. */
  tasks(): Promise<number | null>;
  /** Host pids of everything in it; empty: they cannot be read. */
  processes(): Promise<readonly number[]>;
  memoryKills(): Promise<number>;
  /** Memory that the kernel could not simply take back, files in /dev/shm included; 0: it cannot be read. */
  memoryBytes(): Promise<number>;
  /** Processor seconds used since the container started; null: it cannot be read. */
  cpuSeconds(): Promise<number | null>;
}

const ROOT = "/sys/fs/cgroup";

/** `cgroupFile`: text of /proc/<pid>/cgroup of the container's first process; null: that process cannot be seen from here. */
export function containerGroups(cgroupFile: string | null, root = ROOT): ContainerGroups {
  const text = cgroupFile ?? "";
  const [pids, memory, cpu] = ["pids", "memory", "cpuacct"].map((controller) => pathOf(text, controller));
  if (pids !== null && pids !== undefined && memory !== null && memory !== undefined) {
    return {
      label: "container, cgroup v1",
      tasks: () => number(join(root, "pids", pids, "pids.current")),
      processes: async () => listed(await read(join(root, "pids", pids, "cgroup.procs"))),
      memoryKills: async () => kills(await read(join(root, "memory", memory, "memory.oom_control"))),
      memoryBytes: async () => held(await read(join(root, "memory", memory, "memory.stat"))),
      cpuSeconds: async () => {
        const nanoseconds = cpu == null ? null : await number(join(root, "cpuacct", cpu, "cpuacct.usage"));
        return nanoseconds === null ? null : nanoseconds / 1e9;
      },
    };
  }
  const unified = /^0::(.*)$/m.exec(text)?.[1];
  if (unified !== undefined) {
    const directory = join(root, unified);
    return {
      label: "container, cgroup v2",
      tasks: () => number(join(directory, "pids.current")),
      processes: async () => listed(await read(join(directory, "cgroup.procs"))),
      memoryKills: async () => kills(await read(join(directory, "memory.events"))),
      memoryBytes: async () => held(await read(join(directory, "memory.stat"))),
      cpuSeconds: async () => {
        const used = /^usage_usec (\d+)$/m.exec((await read(join(directory, "cpu.stat"))) ?? "")?.[1];
        return used === undefined ? null : Number(used) / 1e6;
      },
    };
  }
  return {
    label: "container",
    tasks: async () => null,
    processes: async () => [],
    memoryKills: async () => 0,
    memoryBytes: async () => 0,
    cpuSeconds: async () => null,
  };
}

function pathOf(text: string, controller: string): string | null {
  const line = text.split("\n").find((entry) => entry.split(":")[1]?.split(",").includes(controller));
  return line?.split(":").slice(2).join(":") ?? null;
}

function listed(text: string | null): readonly number[] {
  return (text ?? "").split("\n").filter(Boolean).map(Number);
}

function kills(text: string | null): number {
  return Number(/^oom_kill (\d+)$/m.exec(text ?? "")?.[1] ?? 0);
}

/** Version 1 counts what lies below under names of its own, version 2 always does. */
function held(stat: string | null): number {
  const line = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(stat ?? "")?.[1] ?? 0);
  const inV1 = line("total_rss") + line("total_shmem");
  return inV1 > 0 ? inV1 : line("anon") + line("shmem");
}

async function number(path: string): Promise<number | null> {
  const text = await read(path);
  return text === null || text.trim() === "" ? null : Number(text);
}

async function read(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "EACCES", "EPERM", "ENODEV", "ENOTDIR")) return null;
    throw error;
  }
}
