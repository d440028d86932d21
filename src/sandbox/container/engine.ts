/** The docker or podman program: where it is, what it can do here, and its words turned into what an operator has to do. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { err, ok, type Result } from "#src/base/result.ts";
import { findPrograms } from "#src/sandbox/bubblewrap/host.ts";
import type { EngineName } from "#src/sandbox/container/argv.ts";
import type { SandboxFailure } from "#src/sandbox/sandbox.ts";

export interface Engine {
  readonly name: EngineName;
  /** Absolute path. */
  readonly program: string;
  readonly version: string;
  readonly rootless: boolean;
  /** The whole environment of the program: what it needs to find its own parts and its service, nothing of the app. */
  readonly env: Readonly<Record<string, string>>;
}

/** What the programs read from their environment; everything else of the app's stays away from them. */
const ENGINE_VARIABLES = [
  ...["PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS"],
  ...["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"],
  ...["CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF"],
] as const;

export function engineEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ENGINE_VARIABLES.flatMap((name) => {
      const value = env[name];
      return value === undefined || value === "" ? [] : [[name, value] as const];
    }),
  );
}

export interface Said {
  /** Null: it was stopped or could not be started. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const CALL_MS = 120_000;
const CALL_BYTES = 4 * 1024 * 1024;

/** Runs one short command of the engine to its end. Never rejects. `prefix`: programs to start it through. */
export function callEngine(
  engine: Pick<Engine, "program" | "env">,
  args: readonly string[],
  prefix: readonly string[] = [],
): Promise<Said> {
  const [file = engine.program, ...rest] = [...prefix, engine.program, ...args];
  return new Promise((resolve) => {
    execFile(
      file,
      rest,
      { env: engine.env, cwd: "/", timeout: CALL_MS, killSignal: "SIGKILL", maxBuffer: CALL_BYTES },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
        resolve({ code, stdout, stderr: stderr === "" && error !== null ? error.message : stderr });
      },
    );
  });
}

export interface EngineOptions {
  readonly name: EngineName;
  readonly hostPath: string;
  readonly env: Readonly<Record<string, string>>;
  readonly isRoot: boolean;
}

const PODMAN_INFO = "{{.Host.Security.Rootless}} {{.Host.CgroupsVersion}} {{.Version.Version}}";
const DOCKER_INFO = "{{json .SecurityOptions}} {{.CgroupVersion}} {{.ServerVersion}}";
/** `keep-id`, bounded ids and `--time` of `rm` as they are used here. */
const OLDEST_PODMAN = 4;

/** The engine when it answers and can bound and separate what runs in it; else why not and what to do. */
export async function findEngine(options: EngineOptions): Promise<Result<Engine, SandboxFailure>> {
  const { name, env } = options;
  const program = (await findPrograms([name], options.hostPath))[name] ?? null;
  if (program === null) {
    return unavailable(
      `${name} is not installed (no \`${name}\` on the PATH): install ${name}, or choose another SANDBOX`,
    );
  }
  const said = await callEngine({ program, env }, [
    "info",
    "--format",
    name === "podman" ? PODMAN_INFO : DOCKER_INFO,
  ]);
  if (said.code !== 0) return unavailable(explainEngine(name, said.stderr));
  const rootless = name === "podman" ? said.stdout.startsWith("true") : said.stdout.includes("name=rootless");
  const version = said.stdout.trim().split(" ").at(-1) ?? "";
  const refusal = refusalOf(name, rootless, said.stdout, version);
  if (refusal !== null) return unavailable(refusal);
  return ok({ name, program, version, rootless, env });
}

function refusalOf(name: EngineName, rootless: boolean, info: string, version: string): string | null {
  if (name === "docker" && rootless) {
    return "this docker runs rootless, where only uid 0 inside could write the workspace, and commands never run as uid 0: use podman, or docker with its service as root";
  }
  if (rootless && / (v1|1) /.test(info)) {
    return "podman of an ordinary user cannot bound memory and processes with control groups of version 1: start agent-fix as root, or boot with systemd.unified_cgroup_hierarchy=1";
  }
  if (name === "podman" && Number(version.split(".")[0]) < OLDEST_PODMAN) {
    return `podman ${version} is too old: 4.0 or newer is needed`;
  }
  return null;
}

function unavailable(message: string) {
  return err({ code: "unavailable" as const, message });
}

const HINTS: readonly (readonly [RegExp, (name: EngineName) => string])[] = [
  [
    /permission denied.*(?:socket|docker\.sock|connect)|dial unix.*permission denied/is,
    (name) =>
      `the user that runs agent-fix may not use ${name}'s socket: add it to the group \`docker\` (which makes it as good as root), or use podman`,
  ],
  [
    /cannot connect to the docker daemon|connection refused|is the docker daemon running/i,
    (name) => `its service does not run: start ${name} (systemctl start ${name})`,
  ],
  [
    /no such image|image not known|unable to find image|image is not present|does not resolve to|image.*not found/i,
    (name) => `the image is not on this machine, and agent-fix fetches none: run \`${name} pull\` for it`,
  ],
  [
    /newuidmap|subuid|insufficient UIDs|cannot set up namespace/i,
    () =>
      "an ordinary user's podman needs subordinate ids: install the package uidmap and add the user to /etc/subuid and /etc/subgid",
  ],
  [
    /user namespaces are not enabled|clone.*operation not permitted|unshare.*operation not permitted/i,
    () => "user namespaces are switched off here: allow them, or start agent-fix as root",
  ],
  [
    /rlimit/i,
    () =>
      "this machine lets nobody raise a limit (no CAP_SYS_RESOURCE), and the engine's own default is higher: set default_ulimits in containers.conf",
  ],
  [
    /cgroup.*(?:permission|not delegated|no such file)|systemd.*cgroup/i,
    () =>
      "control groups cannot be made for this user: delegate them (systemd: Delegate=yes), or start agent-fix as root",
  ],
  [
    /"?bash"?: executable file not found|exec.*bash.*no such file/i,
    () => "the image has no bash, which agent-fix needs in it",
  ],
  [
    /invalid mount|bind source path does not exist|statfs.*no such file/i,
    (name) =>
      `${name} does not see agent-fix's files: its service has to run on the same machine, and DATA_DIR must have the same path for both`,
  ],
];

const SHOWN = 500;

/** One sentence with the engine's own words and, where the cause is known, the remedy. Pure. */
export function explainEngine(name: EngineName, stderr: string): string {
  const said = stderr.trim().slice(-SHOWN) || `${name} ended without a word`;
  const hint = HINTS.find(([pattern]) => pattern.test(said))?.[1](name);
  return hint === undefined ? `${name} could not do it: ${said}` : `${said}: ${hint}`;
}

/** The hard limit of processes per user that this process runs under. */
export async function processesCeiling(limitsFile = "/proc/self/limits"): Promise<number> {
  const hard = Number(/^Max processes\s+\S+\s+(\S+)/m.exec(await readFile(limitsFile, "utf8"))?.[1]);
  return Math.min(Number.isFinite(hard) ? hard : MOST_PROCESSES, MOST_PROCESSES);
}

/** One user's processes over all sessions: far above what sessions are allowed, below what any machine lets be asked for. */
const MOST_PROCESSES = 16_384;
