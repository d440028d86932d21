/** Builds the command lines of docker and podman from a plan: pure, so that what a container shows can be tested without one. */

import { INSIDE, SHARED_MEMORY_BYTES } from "#src/sandbox/policy.ts";
import type { Limits, Mount } from "#src/sandbox/sandbox.ts";

export type EngineName = "docker" | "podman";

/** Everything that a container's command line depends on. */
export interface ContainerPlan {
  readonly engine: EngineName;
  /** An ordinary user's podman: the user inside is then mapped to the app's own. */
  readonly rootless: boolean;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  /** Host path of the named pipe that ends with the app. */
  readonly alive: string;
  /** Host path of a system call filter to use instead of the engine's own; null: the engine's own. */
  readonly seccomp: string | null;
  readonly limits: Limits;
  readonly cpus: number;
  /** The most open files, and processes of one user, that may be asked for here. */
  readonly openFilesCeiling: number;
  readonly processesCeiling: number;
}

/** What varies from command to command. */
export interface ContainerCommand {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>;
  /** Printed to standard error before the command starts, and known to nobody inside. */
  readonly marker: string;
  readonly hasInput: boolean;
}

/** The user of a container's first process: not the commands' one, who therefore can neither trace nor imitate it. */
export const KEEPER_UID = 65_534;

/** Where the first process finds the named pipe whose other end the app holds. */
const ALIVE = "/run/agent-fix/alive";

/**
 * The first process waits for the end of a pipe, which comes when the app closes it or dies; then it ends, and the kernel
 * kills the rest. bash, since it collects orphans while it waits.
 */
const KEEP = `read -r _ < ${ALIVE}`;

/** The runtime's own threads while it starts a command, and the first process: they count like the command's. */
const OWN_PROCESSES = 24;

/** Arguments of the engine that start a container of this name, and print its id. */
export function runArgv(plan: ContainerPlan, name: string): string[] {
  const { limits } = plan;
  const files = Math.min(limits.openFiles, plan.openFilesCeiling);
  return [
    // Removed by the engine when its first process ends: after a crash of the app no later start is needed for that.
    ...["run", "--detach", "--rm", "--pull=never", "--name", name],
    ...Object.entries(plan.labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
    ...["--network", "none", "--hostname", INSIDE.hostname],
    ...["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
    ...["--user", `${KEEPER_UID}:${KEEPER_UID}`, "--workdir", "/"],
    ...["--memory", `${limits.memoryBytes}b`, "--memory-swap", `${limits.memoryBytes}b`],
    ...["--pids-limit", String(limits.processes + OWN_PROCESSES), "--cpus", String(plan.cpus)],
    ...["--ulimit", `nofile=${files}:${files}`, "--ulimit", "core=0:0"],
    ...["--ulimit", `fsize=${limits.diskBytes}:${limits.diskBytes}`],
    ...["--ulimit", `nproc=${plan.processesCeiling}:${plan.processesCeiling}`],
    ...["--shm-size", `${SHARED_MEMORY_BYTES}b`, "--tmpfs", "/sys:ro,size=4k,mode=0555"],
    ...["--log-driver", "none"],
    ...(plan.seccomp === null ? [] : ["--security-opt", `seccomp=${plan.seccomp}`]),
    ...engineArgv(plan),
    ...plan.mounts.flatMap((mount) => ["--mount", mountText(mount)]),
    ...["--mount", mountText({ source: plan.alive, target: ALIVE, mode: "ro" })],
    ...["--entrypoint", "bash", plan.image],
    ...["--noprofile", "--norc", "-c", KEEP],
  ];
}

/** podman adds writable places and the caller's proxy settings unless told not to. */
function engineArgv(plan: ContainerPlan): string[] {
  if (plan.engine === "docker") return [];
  return [
    ...["--read-only-tmpfs=false", "--http-proxy=false", "--no-hosts"],
    ...(plan.rootless ? ["--userns", "keep-id"] : []),
  ];
}

/** A value of `--mount`, which is a line of comma-separated values. */
function mountText({ source, target, mode }: Mount): string {
  const fields = [
    "type=bind",
    `source=${source}`,
    `target=${target}`,
    ...(mode === "ro" ? ["readonly=true"] : []),
  ];
  return fields.map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(",");
}

/** Exit code of the script below when the directory is not there. */
export const NO_DIRECTORY = 125;

/** $1: marker, $2: directory, then the command. Whatever the engine itself prints comes before the marker. */
const ENTER = `cd -- "$2" 2>/dev/null || { echo "$1 no such directory" >&2; exit ${NO_DIRECTORY}; }
echo "$1" >&2
shift 2
exec "$@"`;

/** Arguments of the engine that run a command. Its environment replaces the image's, so nothing of the engine's settings shows. */
export function execArgv(command: ContainerCommand): string[] {
  const env = Object.entries(command.env).map(([name, value]) => `${name}=${value}`);
  return [
    ...["exec", "--user", `${command.uid}:${command.gid}`],
    ...(command.hasInput ? ["--interactive"] : []),
    ...[command.name, "sh", "-c", ENTER, "agent-fix", command.marker, command.cwd],
    ...["env", "-i", ...env, "sh", "-c", 'exec "$@"', "agent-fix", ...command.argv],
  ];
}

/** Kills a container's processes and removes it. */
export function removeArgv(engine: EngineName, names: readonly string[]): string[] {
  return ["rm", "--force", "--volumes", ...(engine === "podman" ? ["--time", "0"] : []), ...names];
}
