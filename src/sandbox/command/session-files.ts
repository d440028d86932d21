/** A session's directories on the host: home, tmp and stand-ins for /etc, removed with everything hostile code put there. */

import { execFile } from "node:child_process";
import { chmod, chown, mkdir, readdir, realpath, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Log } from "#src/base/log.ts";
import { messageOf } from "#src/base/result.ts";
import type { Programs } from "#src/sandbox/bubblewrap/launch.ts";
import { isErrno } from "#src/sandbox/command/processes.ts";
import { ETC_STUBS } from "#src/sandbox/policy.ts";
import type { Mount, SandboxOwner } from "#src/sandbox/sandbox.ts";

export interface SessionFiles {
  readonly root: string;
  readonly home: string;
  readonly tmp: string;
  /** Pipes and input files: not shown in the sandbox, and outside it passable for the sandbox's user, who cannot list it. */
  readonly io: string;
  readonly proxySocket: string;
  readonly etc: readonly Mount[];
}

/** Makes `<dataDir>/runs/<runId>/sandbox/<name>`; rejects when the disk is full or the directory exists. */
export async function createSessionFiles(
  dataDir: string,
  runId: string,
  name: string,
  owner: SandboxOwner | null,
): Promise<SessionFiles> {
  const root = await makeRoot(join(dataDir, "runs", runId, "sandbox"), name);
  const etcDirectory = join(root, "etc");
  await mkdir(etcDirectory);
  await chmod(etcDirectory, 0o755);
  const etc: Mount[] = [];
  for (const [file, text] of Object.entries(ETC_STUBS)) {
    const source = join(etcDirectory, file);
    await writeFile(source, text);
    await chmod(source, 0o644);
    etc.push({ source, target: `/etc/${file}`, mode: "ro" });
  }
  const files = { root, home: join(root, "home"), tmp: join(root, "tmp"), io: join(root, "io") };
  await mkdir(files.io);
  await chmod(files.io, 0o711);
  for (const directory of [files.home, files.tmp]) {
    await mkdir(directory, { mode: 0o700 });
    if (owner !== null) await chown(directory, owner.uid, owner.gid);
  }
  await chmod(files.tmp, 0o1777);
  return { ...files, proxySocket: join(root, "proxy.sock"), etc };
}

const MAKE_TRIES = 5;

/** Another session of the run may be removing the empty parent at the same moment. */
async function makeRoot(parent: string, name: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      await mkdir(parent, { recursive: true, mode: 0o700 });
      const root = join(await realpath(parent), name);
      await mkdir(root);
      // Passable, not readable: the sandbox's user reaches its own home and tmp below. The parent is closed to all others.
      await chmod(root, 0o711);
      return root;
    } catch (error) {
      if (attempt === MAKE_TRIES || !isErrno(error, "ENOENT")) throw error;
    }
  }
}

/**
 * Removes a tree that hostile code filled, and the run's `sandbox` directory when it was the last in it. Uses rm: it walks
 * without following links and manages trees that are deeper than any path may be long. No process may use the tree. Rejects
 * when something stays.
 */
export async function removeSessionFiles(
  root: string,
  programs: Pick<Programs, "rm" | "chmod">,
): Promise<void> {
  const empty = await Promise.all(["home", "tmp"].map((name) => isEmpty(join(root, name))));
  // A program costs some 10 ms to start, and most sessions leave both empty.
  if (!empty.includes(false)) await rm(root, { recursive: true, force: true });
  else if (!(await run(programs.rm, ["-rf", "--one-file-system", "--", root]))) {
    // Package managers leave read-only directories behind, which their owner has to open first.
    await run(programs.chmod, ["-R", "u+rwX", "--", root]);
    if (!(await run(programs.rm, ["-rf", "--one-file-system", "--", root])))
      throw new Error(`${root} could not be removed`);
  }
  try {
    await rmdir(dirname(root));
  } catch (error) {
    if (!isErrno(error, "ENOTEMPTY", "ENOENT", "EEXIST")) throw error;
  }
}

/** False also for a directory that a command closed to its owner. */
async function isEmpty(directory: string): Promise<boolean> {
  try {
    return (await namesIn(directory)).length === 0;
  } catch (error) {
    if (isErrno(error, "EACCES")) return false;
    throw error;
  }
}

/** Removes the session directories that are not in use; returns how many. One that cannot be removed is told in the log. */
export async function sweepSessionFiles(
  dataDir: string,
  live: ReadonlySet<string>,
  programs: Pick<Programs, "rm" | "chmod">,
  log: Log,
): Promise<number> {
  let removed = 0;
  for (const directory of await listSessionFiles(dataDir)) {
    if (live.has(directory)) continue;
    try {
      await removeSessionFiles(directory, programs);
      removed += 1;
    } catch (error) {
      log.warn({ error: messageOf(error) }, "what a session left could not be removed");
    }
  }
  return removed;
}

/** Session directories of every run below the data directory. */
export async function listSessionFiles(dataDir: string): Promise<readonly string[]> {
  const runs = join(dataDir, "runs");
  const found: string[] = [];
  for (const run of await namesIn(runs)) {
    const parent = join(runs, run, "sandbox");
    for (const name of await namesIn(parent)) found.push(join(await realpath(parent), name));
  }
  return found;
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** True when the program ended with 0. */
function run(file: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(file, args, { env: {}, maxBuffer: 64 * 1024 * 1024 }, (error) => resolve(error === null));
  });
}
