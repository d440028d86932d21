/** What the sandbox suites share: a sandbox over a temporary data directory, sessions, and short ways to run commands. */

import assert from "node:assert/strict";
import { chown, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { rgPath } from "@vscode/ripgrep";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import { findCgroups } from "#src/sandbox/command/limits.ts";
import { createContainer } from "#src/sandbox/container/container.ts";
import { callEngine, engineEnvironment, findEngine } from "#src/sandbox/container/engine.ts";
import type { ExecRequest, ExecResult, Sandbox, Session, SessionSpec } from "#src/sandbox/sandbox.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { testPart } from "#test/support/tier.ts";

export const MIB = 1024 * 1024;
export const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

export type Make = (dataDir: string) => Sandbox;

/** How one adapter is put through the suites. */
export interface Subject {
  readonly name: string;
  readonly make: Make;
  /** Part of the cases (0 to 1) in the quick tier; absent: all. */
  readonly share?: number;
  /** Whose programs and /etc are seen inside: the host's, or those of an image. */
  readonly system: "host" | "image";
  /** Why a case cannot hold for this adapter; null when it must. */
  readonly skip: (kind: CaseKind) => string | null;
}

/** `any`: every adapter; the others need what the name says. */
export type CaseKind = "any" | "isolation" | "kernel memory" | "processes";

export interface Rig {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  /** A new session over a new workspace; closed with the rig. */
  open(change?: Partial<SessionSpec>): Promise<Opened>;
  /** One session for all cases that leave nothing in the way of others. */
  shared(): Promise<Opened>;
  close(): Promise<void>;
}

export interface Opened {
  readonly session: Session;
  /** The workspace on the host. */
  readonly workspace: string;
  exec(argv: readonly string[], change?: Partial<ExecRequest>): Promise<ExecResult>;
  /** Runs a bash script; `text` is its whole standard output. */
  sh(script: string, change?: Partial<ExecRequest>): Promise<ExecResult & { readonly text: string }>;
}

/** A backend that can be opened in this process, as the user who runs it. */
export interface Backend extends Subject {
  /** Why it cannot be tried here; null when it can. A test hands it to `skipUnless`. */
  readonly missing: string | null;
}

/**
 * The backends under test for whoever runs this process: as root bubblewrap (which drops to a user of its own), as an
 * ordinary user bubblewrap with what such a user may do. A suite runs once for each, and once more in a child that gave
 * root up (`runAsOrdinaryUser`).
 */
export async function backendsHere(): Promise<readonly Backend[]> {
  return [await bubblewrapBackend(), ...(process.getuid?.() === 0 ? [await containerBackend()] : [])];
}

/** For the child processes of tests, which are told a name. */
export async function backendNamed(name: string): Promise<Backend> {
  return name === CONTAINER ? containerBackend() : bubblewrapBackend();
}

const CONTAINER = "podman as root";

/** Made by `scripts/make-test-image.sh`. */
export const TEST_IMAGE = "localhost/agent-fix-test:2";

export async function containerBackend(): Promise<Backend> {
  const engineEnv = engineEnvironment({ PATH: SYSTEM_PATH, HOME: "/root" });
  const engine = await findEngine({ name: "podman", hostPath: SYSTEM_PATH, env: engineEnv, isRoot: true });
  const image = engine.ok ? await callEngine(engine.value, ["image", "exists", TEST_IMAGE]) : null;
  return {
    name: CONTAINER,
    share: 0.12,
    system: "image",
    make: (dataDir) =>
      createContainer({
        ...{ ...options(dataDir), engine: "podman", engineEnv, images: [TEST_IMAGE], ripgrep: rgPath },
      }),
    skip: () => null,
    missing: !engine.ok
      ? engine.error.message
      : image?.code === 0
        ? null
        : `the image ${TEST_IMAGE} is not here: run scripts/setup-system.sh full`,
  };
}

export async function bubblewrapBackend(): Promise<Backend> {
  const cgroups = await findCgroups();
  return {
    name: `bubblewrap as ${process.getuid?.() === 0 ? "root" : "an ordinary user"}`,
    system: "host",
    make: (dataDir) => createBubblewrap(options(dataDir)),
    skip: (kind) =>
      kind === "kernel memory" && cgroups === null
        ? "no control groups can be written here: memory is bounded per process and by a watcher"
        : null,
    missing: null,
  };
}

export const LIMITS = { memoryBytes: 768 * MIB, processes: 200, diskBytes: 512 * MIB, openFiles: 1024 };

export async function createRig(make: Make): Promise<Rig> {
  const dir = await tempDir("sandbox-");
  const dataDir = join(dir.path, "data");
  await mkdir(dataDir, { mode: 0o700 });
  const sandbox = make(dataDir);
  const sessions: Session[] = [];
  let count = 0;
  let shared: Promise<Opened> | null = null;
  const rig: Rig = {
    sandbox,
    dataDir,
    shared: () => {
      shared ??= rig.open();
      return shared;
    },
    open: async (change = {}) => {
      const workspace = join(dataDir, `workspace-${count++}`);
      await mkdir(workspace);
      if (sandbox.owner !== null) await chown(workspace, sandbox.owner.uid, sandbox.owner.gid);
      const opened = await sandbox.open({ ...specOf(workspace), ...change });
      if (!opened.ok) assert.fail(opened.error.message);
      sessions.push(opened.value);
      return describe(opened.value, change.workspace ?? workspace);
    },
    close: async () => {
      await Promise.all(sessions.map((session) => session.close()));
      await dir.remove();
    },
  };
  return rig;
}

/** Variables that a command may have with the same value as the app by chance. */
const COMMON =
  /^(PATH|LANG|TERM|PAGER|CI|PWD|SHLVL|_|DEBIAN_FRONTEND|PYTHON\w+|PIP_\w+|RUSTUP_AUTO_INSTALL)=/;

/** Assignments in the environment of this process, which stands for the app: none may be found in a command. */
export async function environmentOfTheApp(): Promise<readonly string[]> {
  const text = await readFile("/proc/self/environ", "utf8");
  const planted = text.split("\0").filter((entry) => entry !== "" && !COMMON.test(entry));
  assert.ok(planted.length > 0, "the app has no environment: nothing would be tested");
  return planted;
}

export function specOf(workspace: string): SessionSpec {
  return {
    ...{ runId: "run1", phase: "agent", workspace, mounts: [], network: { kind: "none" }, env: {} },
    limits: LIMITS,
  };
}

function describe(session: Session, workspace: string): Opened {
  const exec = (argv: readonly string[], change: Partial<ExecRequest> = {}) =>
    session.exec(request(argv, change));
  return {
    session,
    workspace,
    exec,
    sh: async (script, change) => {
      const result = await exec(["bash", "-c", script], change);
      return { ...result, text: result.stdout.head + result.stdout.tail };
    },
  };
}

export function request(argv: readonly string[], change: Partial<ExecRequest> = {}): ExecRequest {
  const base = { argv, timeoutMs: 60_000, outputBytes: 64 * 1024, signal: new AbortController().signal };
  return { ...base, ...change };
}

/** Asserts that the command ended by itself with this code, showing its output when not. */
export function assertExit(result: ExecResult, code: number): void {
  const shown = `${result.stdout.head}${result.stdout.tail}\n${result.stderr.head}${result.stderr.tail}`;
  assert.deepEqual(result.end, { kind: "exited", code }, shown);
}

export function options(dataDir: string) {
  return { dataDir, clock: systemClock, ids: systemIds, log: silentLog, hostPath: SYSTEM_PATH };
}

/**
 * A case of a suite; `kind` says what an adapter must be able to do. In the quick tier slow adapters run part of the cases,
 * a different one each time.
 */
export function caseOf(subject: Subject, rig: () => Rig) {
  const part = testPart(subject.share ?? 1);
  return (kind: CaseKind, title: string, body: (rig: Rig, context: TestContext) => Promise<void>) => {
    const reason = subject.skip(kind);
    part(`${subject.name}: ${title}`, { skip: reason ?? false }, (context) => body(rig(), context));
  };
}
