/** Runs the probes on this machine: the lines of `agent-fix doctor`, and part of the conformance suite. */

import { chown, mkdir, realpath, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Ids } from "#src/base/ids.ts";
import { messageOf, ok, type Result } from "#src/base/result.ts";
import type { Host } from "#src/sandbox/bubblewrap/host.ts";
import { describeHome } from "#src/sandbox/command/limits.ts";
import { COMMAND_PROBES } from "#src/sandbox/probes/commands.ts";
import { ISOLATION_PROBES } from "#src/sandbox/probes/isolation.ts";
import { LIMIT_PROBES } from "#src/sandbox/probes/limits.ts";
import {
  describeEnd,
  PROBE_LIMITS,
  PROBE_TIMEOUT_MS,
  type Probe,
  type ProbePlace,
} from "#src/sandbox/probes/probe.ts";
import type { Limits, ProbeLine, Sandbox, SandboxFailure, Session } from "#src/sandbox/sandbox.ts";

/** Every promise of a sandbox that a script can try. */
export const PROBES: readonly Probe[] = [...COMMAND_PROBES, ...ISOLATION_PROBES, ...LIMIT_PROBES];

const IMAGE_PROBES = COMMAND_PROBES.filter(({ name }) =>
  ["commands start", "bash", "git", "file tools", "toolchains"].includes(name),
);

interface Subject {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  readonly ids: Ids;
  readonly isRoot: boolean;
  /** Told of lines as they are found; not of all: the result is the whole. */
  readonly onLine?: ((line: ProbeLine) => void) | undefined;
  /** An image to try instead of the general one. */
  readonly image?: string;
  /** What the sandbox found on the host, for lines about its programs; absent: it has none of its own. */
  readonly host?: () => Promise<Result<Host, SandboxFailure>>;
}

/** Never rejects: what goes wrong is a line that does not hold. */
export async function selfCheck(subject: Subject): Promise<readonly ProbeLine[]> {
  const { name } = subject.sandbox;
  const host = subject.host === undefined ? ok(null) : await subject.host();
  if (!host.ok) return [{ name, holds: false, detail: host.error.message }];
  try {
    await using bench = await openProbeBench(subject);
    const lines: ProbeLine[] = [];
    for (const probe of PROBES) {
      const line = await bench.run(probe);
      lines.push(line);
      // When no command starts, every other line would say the same.
      if (lines.length === 1 && !line.holds) return [{ ...line, name }];
      subject.onLine?.(line);
    }
    return [...lines, ...(host.value === null ? [] : hostLines(host.value))];
  } catch (error) {
    return [{ name, holds: false, detail: `the check failed: ${messageOf(error)}` }];
  }
}

/** Tries what an image must have, in each but the general one, which the whole check is made in. Never rejects. */
export async function checkImages(
  subject: Omit<Subject, "host" | "image">,
  images: readonly string[],
): Promise<readonly ProbeLine[]> {
  const lines: ProbeLine[] = [];
  for (const image of images) {
    try {
      await using bench = await openProbeBench({ ...subject, image });
      for (const probe of IMAGE_PROBES) {
        const line = await bench.run(probe);
        lines.push({ ...line, name: `${image}, ${line.name}` });
      }
    } catch (error) {
      lines.push({ name: image, holds: false, detail: messageOf(error) });
    }
  }
  return lines;
}

export interface ProbeBench extends AsyncDisposable {
  /** Tries one promise. Rejects when the sandbox itself cannot be asked. */
  run(probe: Probe): Promise<ProbeLine>;
}

interface Opened {
  readonly session: Session;
  /** On the host. */
  readonly workspace: string;
}

/** Prepares a place for probes: a workspace, one session for those with the usual limits, and a server that nobody must reach. */
export async function openProbeBench(subject: Omit<Subject, "host">): Promise<ProbeBench> {
  const { sandbox, ids } = subject;
  const runId = `probe-${ids.hex(4)}`;
  const directory = join(subject.dataDir, "runs", runId);
  const dataDir = await realpath(subject.dataDir);
  const server = createServer((socket) => void socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const sessions: Session[] = [];
  let shared: Opened | string | null = null;
  let opened = 0;

  const open = async (limits: Limits): Promise<Opened | string> => {
    const workspace = join(directory, `workspace-${opened++}`);
    await mkdir(workspace, { recursive: true, mode: 0o755 });
    if (sandbox.owner !== null) await chown(workspace, sandbox.owner.uid, sandbox.owner.gid);
    const session = await sandbox.open({
      ...{ runId, phase: "setup", workspace, mounts: [], network: { kind: "none" }, limits, env: {} },
      image:
        subject.image === undefined ? undefined : { asked: subject.image, devcontainer: null, stack: null },
    });
    if (!session.ok) return session.error.message;
    sessions.push(session.value);
    return { session: session.value, workspace };
  };
  const close = async () => {
    for (const session of sessions) await session.close();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(directory, { recursive: true, force: true });
  };
  return {
    run: async (probe) => {
      if (probe.limits === undefined) shared ??= await open(PROBE_LIMITS);
      const own = probe.limits === undefined ? null : await open({ ...PROBE_LIMITS, ...probe.limits });
      const place = own ?? shared ?? "there is no session";
      if (typeof place === "string") return { name: probe.name, holds: false, detail: place };
      const facts = { sandbox, dataDir, port, pid: process.pid, isRoot: subject.isRoot };
      const line = await tryOut(probe, { ...place, ...facts, unique: `agent-fix-probe-${ids.hex(6)}` });
      if (place !== shared) await place.session.close();
      return line;
    },
    [Symbol.asyncDispose]: close,
  };
}

const OUTPUT_BYTES = 16_384;

async function tryOut(probe: Probe, place: ProbePlace): Promise<ProbeLine> {
  const result = await place.session.exec({
    argv: ["bash", "-o", "pipefail", "-c", probe.script],
    env: {
      UNIQUE: place.unique,
      DATA_DIR: place.dataDir,
      PORT: String(place.port),
      APP_PID: String(place.pid),
    },
    ...(probe.stdin === undefined ? {} : { stdin: Buffer.from(probe.stdin) }),
    timeoutMs: probe.timeoutMs ?? PROBE_TIMEOUT_MS,
    outputBytes: probe.outputBytes ?? OUTPUT_BYTES,
    signal: new AbortController().signal,
  });
  if (result.end.kind !== "not_started" && (await probe.holds(result, place))) {
    const detail = typeof probe.held === "string" ? probe.held : await probe.held(result, place);
    return { name: probe.name, holds: true, detail };
  }
  const seen = describeEnd(result);
  const detail = result.end.kind === "not_started" ? seen : `${probe.remedy} (${seen})`;
  return { name: probe.name, holds: false, detail };
}

function hostLines(host: Host): readonly ProbeLine[] {
  const { socat, prlimit } = host.programs;
  return [
    {
      name: "control groups",
      holds: host.cgroups !== null,
      detail:
        host.cgroups === null
          ? "none can be written: memory and processes are bounded per process and by watching, which is weaker; start agent-fix as root or in a container with --memory and --pids-limit"
          : describeHome(host.cgroups),
    },
    program("socat", socat, "set-up has no network without it: install the package socat"),
    program("prlimit", prlimit, "limits per process need it: install the package util-linux"),
    ...host.toolchains.notes.map((note) => ({ name: "toolchain", holds: true, detail: note })),
  ];
}

function program(name: string, path: string | null, remedy: string): ProbeLine {
  return { name, holds: path !== null, detail: path ?? remedy };
}
