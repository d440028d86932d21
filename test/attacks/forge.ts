/** Plays a forgery: the project with its bug, the patch over it, real runners in sessions of one backend, and the verdict. */

import { chown, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { err, ok } from "#src/base/result.ts";
import type { Verdict } from "#src/run/verdict.ts";
import { createVerifyPatch } from "#src/verify/procedure.ts";
import { createRunSuite } from "#src/verify/suite.ts";
import { type Forgery, NODE_BASE, PYTHON_BASE } from "#test/attacks/list/forgeries.ts";
import { MIB, type Opened, type Rig } from "#test/sandbox/rig.ts";
import { changesOf, type Texts } from "#test/verify/facts.ts";
import { suiteOf } from "#test/verify/project.ts";

const LIMITS = { memoryBytes: 1024 * MIB, processes: 100, diskBytes: 128 * MIB, openFiles: 512 };
const TIMEOUT_MS = 30_000;

const PROJECTS = {
  node: { base: NODE_BASE, suite: suiteOf("npm test", "node-test") },
  unittest: { base: PYTHON_BASE, suite: suiteOf("python3 -m unittest discover -s tests -t .", "unittest") },
} as const;

/** The verdict on a patch that fixes nothing. */
export async function playForgery(forgery: Forgery, rig: Rig): Promise<Verdict> {
  const { base, suite } = PROJECTS[forgery.project];
  const runSuite = createRunSuite((text) => text);
  const texts: Texts = Object.fromEntries(
    Object.entries(forgery.patch).map(([path, after]) => [path, [base[path] ?? null, after]]),
  );
  const opened = new Map<string, { readonly at: Opened; readonly reports: string }>();
  const signal = new AbortController().signal;
  const project = async (files: Readonly<Record<string, string>>) => {
    const reports = await ownedDirectory(rig, `workspace-reports-${opened.size}-${process.hrtime.bigint()}`);
    const at = await rig.open({
      phase: "verify",
      limits: LIMITS,
      mounts: [{ source: reports, target: "/reports", mode: "rw" }],
    });
    for (const [path, text] of Object.entries(files)) await put(rig, join(at.workspace, path), text);
    opened.set(at.workspace, { at, reports });
    return { at, reports };
  };
  const before = await project(base);
  const run = { suite, filter: null, timeoutMs: TIMEOUT_MS, signal };
  const baseline = await runSuite({
    ...run,
    session: before.at.session,
    reports: before.reports,
    label: "baseline",
  });
  const verdict = await createVerifyPatch(runSuite)({
    ...{ suite, baseline, setupFailed: null, checks: [], parallel: 1, timeoutMs: TIMEOUT_MS, signal },
    changes: changesOf(texts),
    baseText: (path) => texts[path]?.[0] ?? null,
    patchedText: (path) => texts[path]?.[1] ?? null,
    copy: async (_, except) => ok((await project(patched(base, forgery.patch, except))).at.workspace),
    open: async (directory) => {
      const found = opened.get(directory);
      return found === undefined
        ? err("no such copy")
        : ok({ session: found.at.session, reports: found.reports });
    },
    observe: () => undefined,
  });
  for (const { at } of opened.values()) await at.session.close();
  return verdict;
}

function patched(
  base: Readonly<Record<string, string>>,
  patch: Forgery["patch"],
  except: readonly string[],
): Readonly<Record<string, string>> {
  const files: Record<string, string> = { ...base };
  for (const [path, text] of Object.entries(patch)) {
    if (except.includes(path)) continue;
    if (text === null) delete files[path];
    else files[path] = text;
  }
  return files;
}

async function ownedDirectory(rig: Rig, name: string): Promise<string> {
  const path = join(rig.dataDir, name);
  await mkdir(path);
  await give(rig, path);
  return path;
}

async function put(rig: Rig, path: string, text: string): Promise<void> {
  const made = await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { mode: /\.bin\//.test(path) ? 0o755 : 0o644 });
  if (made === undefined) return give(rig, path);
  await give(rig, made);
  for (const entry of await readdir(made, { recursive: true })) await give(rig, join(made, entry));
}

async function give({ sandbox }: Rig, path: string): Promise<void> {
  if (sandbox.owner !== null) await chown(path, sandbox.owner.uid, sandbox.owner.gid);
}
