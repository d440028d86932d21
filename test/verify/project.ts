/** A throw-away project with a sandbox session over it, for tests that run real test runners. */

import { spawnSync } from "node:child_process";
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import type { SuiteEvidence } from "#src/run/verdict.ts";
import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import type { Sandbox, Session } from "#src/sandbox/sandbox.ts";
import { createRunSuite } from "#src/verify/suite.ts";
import type { DetectedSuite, RunnerKind, SuiteResult } from "#src/verify/verify.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";

export const FIXTURES = join(import.meta.dirname, "../../fixtures/verify");
/** Rust is installed below a home where it is; everything else lies in the system's directories. */
export const HOST_PATH = `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${homedir()}/.cargo/bin`;
const never = new AbortController().signal;

export const runSuite = createRunSuite((text) => text.replaceAll("hunter2-secret", "***"));

export interface Project {
  /** Host directory seen as /workspace. */
  readonly directory: string;
  /** Host directory seen as /reports. */
  readonly reports: string;
  readonly session: Session;
  run(
    suite: DetectedSuite,
    options?: { label?: SuiteEvidence["label"]; filter?: string; timeoutMs?: number },
  ): Promise<SuiteResult>;
  /** Exit code of a shell text in the workspace. */
  shell(text: string): Promise<number | null>;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export function suiteOf(command: string, runner: RunnerKind, directory = "."): DetectedSuite {
  return { command, directory, runner, because: "the test says so" };
}

function giveTo(path: string, owner: { readonly uid: number; readonly gid: number }): void {
  chownSync(path, owner.uid, owner.gid);
  for (const entry of readdirSync(path, { recursive: true, encoding: "utf8" }))
    chownSync(join(path, entry), owner.uid, owner.gid);
}

/** Inspecting the host takes longest: one sandbox serves all projects of a test file. */
let shared: Promise<{ readonly sandbox: Sandbox; remove(): Promise<void> }> | null = null;

after(async () => {
  const open = await shared;
  await open?.sandbox.sweep();
  await open?.remove();
});

async function sandboxOfFile(): Promise<Sandbox> {
  shared ??= (async () => {
    const temp = await tempDir("verify-data-");
    const sandbox = createBubblewrap({
      dataDir: temp.path,
      clock: systemClock,
      ids: systemIds,
      log: silentLog,
      hostPath: HOST_PATH,
    });
    return { sandbox, remove: temp.remove };
  })();
  return (await shared).sandbox;
}

const PYTEST_PARTS = ["pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py"];

/** Puts the machine's pytest (pure Python) into a workspace, where `python3 -m` finds it; false: the machine has none. */
export function copyPytest(directory: string): boolean {
  const found = spawnSync(
    "python3",
    ["-c", "import pytest, os; print(os.path.dirname(os.path.dirname(pytest.__file__)))"],
    {
      encoding: "utf8",
    },
  );
  if (found.status !== 0) return false;
  for (const name of PYTEST_PARTS) {
    const from = join(found.stdout.trim(), name);
    if (existsSync(from))
      cpSync(from, join(directory, name), {
        recursive: true,
        filter: (path) => !path.includes("__pycache__"),
      });
  }
  return true;
}

/** `fixture` names a folder of fixtures/verify to start from; `files` come on top. */
export async function openProject(
  files: Readonly<Record<string, string>>,
  fixture: string | null = null,
): Promise<Project> {
  const temp = await tempDir("verify-");
  const directory = join(temp.path, "workspace");
  const reports = join(temp.path, "reports");
  for (const path of [directory, reports]) mkdirSync(path);
  if (fixture !== null) cpSync(join(FIXTURES, fixture), directory, { recursive: true });
  await writeTree(directory, files);
  const sandbox = await sandboxOfFile();
  const own = () => {
    if (sandbox.owner !== null) for (const path of [directory, reports]) giveTo(path, sandbox.owner);
  };
  own();
  const opened = await sandbox.open({
    runId: "verify",
    phase: "verify",
    workspace: directory,
    mounts: [{ source: reports, target: "/reports", mode: "rw" }],
    network: { kind: "none" },
    limits: { memoryBytes: 2 ** 31, processes: 200, diskBytes: 2 ** 30, openFiles: 1024 },
    env: {},
  });
  if (!opened.ok) throw new Error(opened.error.message);
  const session = opened.value;
  return {
    directory,
    reports,
    session,
    run: (suite, options = {}) =>
      runSuite({
        session,
        suite,
        label: options.label ?? "patched",
        reports,
        filter: options.filter ?? null,
        timeoutMs: options.timeoutMs ?? 60_000,
        signal: never,
      }),
    shell: async (text) => {
      const result = await session.exec({
        argv: ["bash", "-c", text],
        timeoutMs: 10_000,
        outputBytes: 4096,
        signal: never,
      });
      return result.end.kind === "exited" ? result.end.code : null;
    },
    write: async (more) => {
      await writeTree(directory, more);
      own();
    },
    [Symbol.asyncDispose]: async () => {
      await session.close();
      await temp.remove();
    },
  };
}

/** Outcomes by id, in the order of the report. */
export function outcomes(result: SuiteResult): Readonly<Record<string, string>> {
  return Object.fromEntries(result.cases.map((one) => [one.id, one.outcome]));
}
