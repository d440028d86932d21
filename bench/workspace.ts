/** What a workspace costs: the second run on a large repository against a full clone, and three copies of a set-up workspace. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import { chooseSandbox } from "#src/sandbox/choose.ts";
import { createWorkspaces } from "#src/workspace/create-workspaces.ts";
import type { Workspaces } from "#src/workspace/workspace.ts";
import { startGitServer } from "#test/support/git-server.ts";
import { addCommit, makeLargeRepository } from "./large-repository.ts";
import { type Bench, median, type Row, timed } from "./row.ts";

const SIZE = { files: 20_000, commits: 5_000 };
const RUNS = 3;
const CLONE_TARGET = 8;
const PACKAGES = 600;
const FILES_PER_PACKAGE = 50;
const COPIES = 3;
/** What a short run takes besides its copies: twenty turns of a model at two seconds, and suites. The share scales with it. */
const REST_OF_RUN_MS = 60_000;
const SHARE_TARGET = 10;
const REPOSITORY_ID = 1;

const never = new AbortController().signal;
const run = promisify(execFile);
const GIT_ENV = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

/** A string says why no sandbox opens here. */
async function workspacesIn(dataDir: string, host: string): Promise<Workspaces | string> {
  await mkdir(dataDir, { recursive: true });
  const parts = { dataDir, clock: systemClock, ids: systemIds, log: silentLog };
  const chosen = await chooseSandbox("auto", { ...parts, hostPath: process.env.PATH ?? "/usr/bin:/bin" });
  if (!chosen.ok) return chosen.error.message;
  return createWorkspaces({
    ...parts,
    ...{ sandbox: chosen.value, owner: chosen.value.owner, alone: true, redactor: createRedactor() },
    ...{ allowedHosts: [host], gitEnvironment: process.env },
  });
}

function value<T>(result: { ok: true; value: T } | { ok: false; error: { message: string } }): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

async function inTmpfs<T>(work: (root: string) => Promise<T>): Promise<T> {
  const root = await realpath(
    await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "agent-fix-bench-")),
  );
  try {
    return await work(root);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Rows for a second run at the same commit, and at one that is newer. */
async function secondRun(root: string): Promise<readonly Row[] | string> {
  const bare = join(root, "server/owner/large.git");
  await makeLargeRepository(bare, SIZE);
  await using server = await startGitServer(join(root, "server"));
  const workspaces = await workspacesIn(join(root, "data"), server.host);
  if (typeof workspaces === "string") return workspaces;
  const cloneUrl = `${server.url}/owner/large.git`;
  const ready = async (runId: string) => {
    const fetched = await workspaces.fetch({ id: REPOSITORY_ID, cloneUrl }, "main", async () => null, never);
    value(await workspaces.checkout(runId, REPOSITORY_ID, value(fetched).headSha, "base", never));
  };
  const spare = join(root, "data/mirrors", `${REPOSITORY_ID}.ready`, "spare", "made.json");
  const settled = async () => {
    while (!existsSync(spare)) await systemClock.sleep(20);
  };
  const firstMs = await timed(() => ready("first"));
  const measure = async (name: string, before: (number: number) => Promise<void>) => {
    const ours: number[] = [];
    const clones: number[] = [];
    for (let number = 0; number < RUNS; number++) {
      await settled();
      const clone = join(root, "clone");
      clones.push(await timed(() => run("git", ["clone", "-q", cloneUrl, clone], { env: GIT_ENV })));
      await rm(clone, { recursive: true });
      await before(number);
      ours.push(await timed(() => ready(`${name}${number}`)));
      await settled();
      await workspaces.remove(`${name}${number}`, false);
    }
    return { ours, clones, ratios: ours.map((ms, index) => (clones[index] ?? 0) / ms) };
  };
  const same = await measure("same", async () => undefined);
  const newer = await measure("newer", (number) => addCommit(bare, SIZE.commits + number, SIZE.files));
  const row = (name: string, what: string, times: typeof same): Row => ({
    ...{ name, what, unit: "×", values: times.ratios, target: CLONE_TARGET, atLeast: true },
    note: `clone ${median(times.clones).toFixed(0)} ms, ours ${median(times.ours).toFixed(0)} ms; first run ${firstMs.toFixed(0)} ms; ${SIZE.files} files, ${SIZE.commits} commits, tmpfs`,
  });
  return [
    row("workspace", "full clone ÷ second run's workspace, nothing new", same),
    row("workspace", "full clone ÷ second run's workspace, one new commit", newer),
  ];
}

/** Node packages in the shape of a real `node_modules`: many small files, some large. */
async function fillModules(directory: string): Promise<void> {
  for (let number = 0; number < PACKAGES; number++) {
    const folder = join(directory, "node_modules", `package-${number}`, "lib");
    await mkdir(folder, { recursive: true });
    const sizes = Array.from({ length: FILES_PER_PACKAGE }, (_, file) => (file % 10 === 0 ? 20_000 : 1_500));
    await Promise.all(
      sizes.map((size, file) =>
        writeFile(join(folder, `file-${file}.js`), `// ${number}\n`.padEnd(size, "x")),
      ),
    );
  }
}

async function copiesIn(root: string, where: string): Promise<Row | string> {
  const bare = join(root, "server/owner/small.git");
  await makeLargeRepository(bare, { files: 100, commits: 2 });
  await using server = await startGitServer(join(root, "server"));
  const workspaces = await workspacesIn(join(root, "data"), server.host);
  if (typeof workspaces === "string") return workspaces;
  const source = { id: REPOSITORY_ID, cloneUrl: `${server.url}/owner/small.git` };
  const { headSha } = value(await workspaces.fetch(source, "main", async () => null, never));
  const base = value(await workspaces.checkout("run", REPOSITORY_ID, headSha, "base", never));
  await fillModules(base);
  const times: number[] = [];
  for (let number = 0; number < RUNS; number++) {
    times.push(
      await timed(async () => {
        for (let copy = 0; copy < COPIES; copy++) value(await workspaces.copy("run", base, `copy-${copy}`));
      }),
    );
  }
  await workspaces.remove("run", false);
  return {
    ...{ name: "workspace", unit: "%", target: SHARE_TARGET },
    what: `three copies of a workspace with ${PACKAGES * FILES_PER_PACKAGE} files in node_modules, ${where}: share of a run that else takes ${REST_OF_RUN_MS / 1_000} s`,
    values: times.map((ms) => (100 * ms) / (ms + REST_OF_RUN_MS)),
    note: `${median(times).toFixed(0)} ms for three copies`,
  };
}

/** A small file system that shares blocks between copies, in a file; a string says why there is none here. */
async function withReflinks<T>(root: string, work: (place: string) => Promise<T>): Promise<T | string> {
  const image = join(root, "xfs.img");
  const place = join(root, "xfs");
  try {
    await run("truncate", ["-s", "3G", image]);
    await run("mkfs.xfs", ["-q", "-m", "reflink=1", image]);
    await mkdir(place);
    await run("mount", ["-o", "loop", image, place]);
  } catch (error) {
    return `no file system with reflinks: ${String(error).slice(0, 120)}`;
  }
  try {
    return await work(place);
  } finally {
    await run("umount", ["-l", place]);
  }
}

export const workspaceBench: Bench = async () => {
  const second = await inTmpfs(secondRun);
  if (typeof second === "string") return second;
  const plain = await inTmpfs((root) => copiesIn(root, "without reflinks (tmpfs)"));
  const shared = await inTmpfs((root) =>
    withReflinks(root, (place) => copiesIn(place, "with reflinks (XFS in a file on tmpfs)")),
  );
  const rows = [...second];
  for (const copies of [plain, shared]) {
    if (typeof copies === "string") console.error(`workspace: one row is left out: ${copies}`);
    else rows.push(copies);
  }
  return rows;
};
