/** Checks what the sandbox promises on this machine by trying to break it: the lines of `agent-fix doctor`. */

import { chown, mkdir, realpath, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Ids } from "#src/base/ids.ts";
import { messageOf, type Result } from "#src/base/result.ts";
import type { Host } from "#src/sandbox/host.ts";
import { describeHome } from "#src/sandbox/limits.ts";
import { withArgument } from "#src/sandbox/processes.ts";
import type {
  ExecResult,
  Limits,
  ProbeLine,
  Sandbox,
  SandboxFailure,
  Session,
} from "#src/sandbox/sandbox.ts";

interface Subject {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  readonly ids: Ids;
  readonly host: () => Promise<Result<Host, SandboxFailure>>;
  readonly isRoot: boolean;
}

const MIB = 1024 * 1024;
const LIMITS: Limits = { memoryBytes: 96 * MIB, processes: 24, diskBytes: 256 * MIB, openFiles: 256 };
const TIMEOUT_MS = 15_000;
const OUTPUT_BYTES = 16_384;

/** Never rejects: what goes wrong is a line that does not hold. */
export async function selfCheck(subject: Subject): Promise<readonly ProbeLine[]> {
  const host = await subject.host();
  if (!host.ok) return [{ name: "bubblewrap", holds: false, detail: host.error.message }];
  const runId = `probe-${subject.ids.hex(4)}`;
  const directory = join(subject.dataDir, "runs", runId);
  try {
    const workspace = join(directory, "workspace");
    await mkdir(workspace, { recursive: true, mode: 0o755 });
    const { owner } = subject.sandbox;
    if (owner !== null) await chown(workspace, owner.uid, owner.gid);
    const opened = await subject.sandbox.open({
      ...{ runId, phase: "setup", workspace, mounts: [], network: { kind: "none" }, limits: LIMITS, env: {} },
    });
    if (!opened.ok) return [{ name: "bubblewrap", holds: false, detail: opened.error.message }];
    try {
      return await checks(opened.value, { subject, host: host.value, workspace });
    } finally {
      await opened.value.close();
    }
  } catch (error) {
    return [{ name: "bubblewrap", holds: false, detail: `the check failed: ${messageOf(error)}` }];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

interface Place {
  readonly subject: Subject;
  readonly host: Host;
  readonly workspace: string;
}

async function checks(session: Session, place: Place): Promise<readonly ProbeLine[]> {
  const started = await sh(session, "true");
  if (!succeeded(started)) {
    const detail = started.end.kind === "not_started" ? started.end.message : JSON.stringify(started.end);
    return [{ name: "user namespaces", holds: false, detail }];
  }
  return [
    { name: "user namespaces", holds: true, detail: `${place.host.programs.bwrap} starts commands` },
    await user(session, place),
    await network(session),
    await loopback(session),
    await secrets(session, place),
    await kernelSettings(session),
    await memory(session),
    await processes(session),
    await daemons(session, place),
    {
      name: "control groups",
      holds: place.host.cgroups !== null,
      detail:
        place.host.cgroups === null
          ? "none can be written: memory and processes are bounded per process and by watching, which is weaker; start agent-fix as root or in a container with --memory and --pids-limit"
          : describeHome(place.host.cgroups),
    },
    program(
      "socat",
      place.host.programs.socat,
      "set-up has no network without it: install the package socat",
    ),
    program(
      "prlimit",
      place.host.programs.prlimit,
      "limits per process need it: install the package util-linux",
    ),
    await search(session),
    await toolchains(session, place.host),
  ];
}

async function user(session: Session, place: Place): Promise<ProbeLine> {
  await sh(session, "touch who");
  const { uid } = await stat(join(place.workspace, "who"));
  const weaker = place.subject.isRoot
    ? ""
    : "; this is the app's own user, so only namespaces separate commands from its files: start agent-fix as root to have them run as another user";
  return { name: "user", holds: uid !== 0, detail: `commands run as uid ${uid}${weaker}` };
}

async function network(session: Session): Promise<ProbeLine> {
  const server = createServer((socket) => void socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const result = await sh(session, `exec 3<>/dev/tcp/127.0.0.1/${port} || exec 3<>/dev/tcp/192.0.2.1/80`);
  await new Promise<void>((resolve) => server.close(() => resolve()));
  const holds = result.end.kind === "exited" && result.end.code !== 0;
  return {
    name: "network closed",
    holds,
    detail: holds ? "neither this machine nor others are reached" : "a connection was made",
  };
}

async function loopback(session: Session): Promise<ProbeLine> {
  const holds = succeeded(await sh(session, "grep -q 127.0.0.1 /proc/net/fib_trie"));
  return {
    name: "loopback works",
    holds,
    detail: holds ? "tests can start servers on 127.0.0.1" : "127.0.0.1 is down inside",
  };
}

async function secrets(session: Session, place: Place): Promise<ProbeLine> {
  const dataDir = await realpath(place.subject.dataDir);
  const result = await sh(
    session,
    `for path in /root/.ssh /etc/shadow /sys /var/run/docker.sock "$DATA_DIR"; do [ -e "$path" ] && echo "$path"; done
    tr '\\0' '\\n' < /proc/1/environ | grep -v '^PWD=/$'; true`,
    { DATA_DIR: dataDir },
  );
  const seen = result.stdout.head.trim();
  const holds = succeeded(result) && seen === "";
  return {
    name: "secrets invisible",
    holds,
    detail: holds
      ? "the app's environment, data and the host's accounts are not there inside"
      : `visible inside: ${seen}`,
  };
}

async function kernelSettings(session: Session): Promise<ProbeLine> {
  const result = await sh(
    session,
    "(: >> /proc/sys/kernel/core_pattern) 2>/dev/null && echo w; unshare -Ur true 2>/dev/null && echo n; true",
  );
  const holds = succeeded(result) && result.stdout.head === "";
  return {
    name: "kernel settings closed",
    holds,
    detail: holds
      ? "no setting can be written, no further namespace be made"
      : "a kernel setting or a further namespace is open inside",
  };
}

async function memory(session: Session): Promise<ProbeLine> {
  const result = await sh(session, "head -c 300M /dev/zero | tail -c 290M | wc -c");
  const holds = !(succeeded(result) && Number(result.stdout.head) > LIMITS.memoryBytes);
  return { name: "memory limit", holds, detail: `by ${session.enforcement.memory}` };
}

async function processes(session: Session): Promise<ProbeLine> {
  const result = await sh(session, "exec sh -c 'i=0; while [ $i -lt 100 ]; do sleep 9 & i=$((i+1)); done'");
  return { name: "process limit", holds: !succeeded(result), detail: `by ${session.enforcement.processes}` };
}

async function daemons(session: Session, place: Place): Promise<ProbeLine> {
  const name = `daemon-${place.subject.ids.hex(6)}`;
  await sh(session, `setsid sh -c 'sleep 300' ${name} </dev/null >/dev/null 2>&1 &`);
  const left = await withArgument(name);
  return {
    name: "daemons die",
    holds: left.length === 0,
    detail: left.length === 0 ? "nothing outlives its command" : `still running: ${left.join(", ")}`,
  };
}

function program(name: string, path: string | null, remedy: string): ProbeLine {
  return { name, holds: path !== null, detail: path ?? remedy };
}

async function search(session: Session): Promise<ProbeLine> {
  const result = await sh(session, "rg --version");
  return {
    name: "ripgrep",
    holds: succeeded(result),
    detail:
      result.stdout.head.split("\n")[0] || "no rg inside: run npm ci again, or install the package ripgrep",
  };
}

const TOOLS = ["node", "npm", "python3", "pip", "go", "cargo", "java", "mvn", "ruby", "php", "make", "gcc"];

async function toolchains(session: Session, host: Host): Promise<ProbeLine> {
  const result = await sh(session, `for tool in ${TOOLS.join(" ")}; do command -v $tool; done`);
  const found = result.stdout.head.split("\n").filter(Boolean);
  const notes = host.toolchains.notes.map((note) => `; ${note}`).join("");
  return { name: "toolchains", holds: found.length > 0, detail: `${found.join(" ") || "none"}${notes}` };
}

function succeeded(result: ExecResult): boolean {
  return result.end.kind === "exited" && result.end.code === 0;
}

function sh(
  session: Session,
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ExecResult> {
  return session.exec({
    argv: ["bash", "-o", "pipefail", "-c", script],
    ...{ env, timeoutMs: TIMEOUT_MS, outputBytes: OUTPUT_BYTES, signal: new AbortController().signal },
  });
}
