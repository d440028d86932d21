/** Verifies patches of the verdict bench with the real procedure, sandbox and runners. */

import { chown, cp, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { err, ok } from "#src/base/result.ts";
import type { Verdict } from "#src/run/verdict.ts";
import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import type { Mount, Sandbox } from "#src/sandbox/sandbox.ts";
import { createVerifyPatch } from "#src/verify/procedure.ts";
import { recognise } from "#src/verify/runners.ts";
import { createRunSuite } from "#src/verify/suite.ts";
import { createTamper } from "#src/verify/tamper/offload.ts";
import type { DetectedSuite, SuiteResult } from "#src/verify/verify.ts";
import type { ChangedFile } from "#src/workspace/workspace.ts";
import type { Case, Ecosystem, Files } from "./verdict-cases.ts";

const GIB = 1024 ** 3;
const SUITE_MS = 120_000;

/** Where runners that are no part of the machine lie. */
export interface Runners {
  /** A `node_modules` with Mocha, Jest and Vitest; null: none. */
  readonly nodeModules: string | null;
  /** A folder with pytest and what it needs; null: none. */
  readonly python: string | null;
}

export interface Bench {
  baseline(ecosystem: Ecosystem): Promise<SuiteResult>;
  verify(ecosystem: Ecosystem, baseline: SuiteResult, one: Case): Promise<Verdict>;
  close(): Promise<void>;
}

export function suiteOf(ecosystem: Ecosystem): DetectedSuite {
  const { command } = ecosystem;
  return { command, directory: ".", runner: recognise(command), because: "the bench says so" };
}

async function giveTo(path: string, owner: { readonly uid: number; readonly gid: number }): Promise<void> {
  await chown(path, owner.uid, owner.gid);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) await giveTo(inside, owner);
    else if (entry.isFile()) await chown(inside, owner.uid, owner.gid);
  }
}

function patched(files: Files, changed: Case["changed"], except: readonly string[]): Files {
  const all: Record<string, string> = { ...files };
  for (const [path, text] of Object.entries(changed)) {
    if (except.includes(path)) continue;
    if (text === null) delete all[path];
    else all[path] = text;
  }
  return all;
}

/** Fresh workspaces of a project and sessions over them. */
function createPlaces(root: string, sandbox: Sandbox, runners: Runners) {
  let made = 0;

  const place = async (ecosystem: Ecosystem, files: Files) => {
    const home = join(root, String(++made));
    const [directory, reports] = [join(home, "workspace"), join(home, "reports")];
    for (const path of [directory, reports]) await mkdir(path, { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), text, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
    }
    const python = runners.python;
    if (python !== null && /\bpytest\b/.test(ecosystem.command))
      for (const name of await readdir(python))
        await cp(join(python, name), join(directory, name), { recursive: true });
    if (sandbox.owner !== null) await giveTo(home, sandbox.owner);
    return { home, directory, reports };
  };
  const open = async (directory: string, reports: string) => {
    const modules = runners.nodeModules;
    const mounts: Mount[] = [{ source: reports, target: "/reports", mode: "rw" }];
    if (modules !== null) mounts.push({ source: modules, target: "/node_modules", mode: "ro" });
    return sandbox.open({
      runId: "verdicts",
      phase: "verify",
      workspace: directory,
      mounts,
      network: { kind: "none" },
      limits: { memoryBytes: 3 * GIB, processes: 400, diskBytes: 2 * GIB, openFiles: 4096 },
      env: {},
    });
  };
  return { place, open };
}

export async function openBench(runners: Runners, parallel: number): Promise<Bench> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "agent-fix-verdicts-")));
  const sandbox: Sandbox = createBubblewrap({
    dataDir: root,
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
    hostPath: process.env.PATH ?? "/usr/bin:/bin",
  });
  const runSuite = createRunSuite((text) => text);
  const verifyPatch = createVerifyPatch(runSuite, createTamper(systemClock));
  const { place, open } = createPlaces(root, sandbox, runners);

  return {
    baseline: async (ecosystem) => {
      const at = await place(ecosystem, ecosystem.files);
      const session = await open(at.directory, at.reports);
      if (!session.ok) throw new Error(session.error.message);
      try {
        return await runSuite({
          session: session.value,
          suite: suiteOf(ecosystem),
          label: "baseline",
          reports: at.reports,
          filter: null,
          timeoutMs: SUITE_MS,
          signal: new AbortController().signal,
        });
      } finally {
        await session.value.close();
        await rm(at.home, { recursive: true, force: true });
      }
    },
    verify: async (ecosystem, baseline, { changed }) => {
      const homes: string[] = [];
      const reportsOf = new Map<string, string>();
      const texts = ecosystem.files;
      try {
        return await verifyPatch({
          suite: suiteOf(ecosystem),
          setupFailed: null,
          baseline,
          changes: changesOf(texts, changed),
          baseText: (path) => texts[path] ?? null,
          patchedText: (path) => changed[path] ?? null,
          readBase: async (path) => texts[path] ?? null,
          checks: [],
          copy: async (_, except) => {
            const at = await place(ecosystem, patched(texts, changed, except));
            homes.push(at.home);
            reportsOf.set(at.directory, at.reports);
            return ok(at.directory);
          },
          open: async (directory) => {
            const reports = reportsOf.get(directory) ?? "";
            const session = await open(directory, reports);
            return session.ok ? ok({ session: session.value, reports }) : err(session.error.message);
          },
          timeoutMs: SUITE_MS,
          parallel,
          signal: new AbortController().signal,
          observe: () => undefined,
        });
      } finally {
        for (const home of homes) await rm(home, { recursive: true, force: true });
      }
    },
    close: async () => {
      await sandbox.sweep();
      await rm(root, { recursive: true, force: true });
    },
  };
}

function changesOf(files: Files, changed: Case["changed"]): readonly ChangedFile[] {
  return Object.entries(changed).map(([path, text]) => ({
    path,
    status: text === null ? "deleted" : files[path] === undefined ? "added" : "modified",
    mode: "100644",
    sha256: text === null ? null : "0".repeat(64),
    added: 1,
    removed: 1,
  }));
}
