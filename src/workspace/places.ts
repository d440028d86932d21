/** Where everything of a workspace lies under DATA_DIR, and who may pass through it. */

import { chmod, chown, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { SandboxOwner } from "#src/sandbox/sandbox.ts";
import { isPlainName } from "./names.ts";

export interface Places {
  readonly mirrors: string;
  /** Package caches, by repository id. */
  readonly caches: string;
  readonly runs: string;
  readonly gitHome: string;
  readonly owner: SandboxOwner | null;
  mirror(repositoryId: number): string;
  /** The kept checkout of a repository, beside its mirror and closed like it. */
  ready(repositoryId: number): string;
  run(runId: string): string;
  pristine(runId: string): string;
}

/** Run ids and names come from us, but they become paths: anything else is a mistake in the calling code. */
function plain(name: string): string {
  if (!isPlainName(name)) throw new Error(`not usable as a directory name: ${JSON.stringify(name)}`);
  return name;
}

export function placesUnder(dataDir: string, owner: SandboxOwner | null): Places {
  const runs = join(dataDir, "runs");
  const run = (runId: string) => join(runs, plain(runId));
  return {
    mirrors: join(dataDir, "mirrors"),
    caches: join(dataDir, "caches"),
    runs,
    gitHome: join(dataDir, "git-home"),
    owner,
    mirror: (repositoryId) => join(dataDir, "mirrors", `${Math.trunc(repositoryId)}.git`),
    ready: (repositoryId) => join(dataDir, "mirrors", `${Math.trunc(repositoryId)}.ready`),
    run,
    pristine: (runId) => join(run(runId), "pristine.git"),
  };
}

/** A directory of a run for `name`; never one that the workspace keeps for itself. */
export function namedPlace(places: Places, runId: string, kind: "work" | "scratch", name: string): string {
  const reserved = /^(pristine\.git.*|sandbox|git-.*|scratch-.*)$/.test(plain(name));
  if (reserved) throw new Error(`the name is reserved: ${name}`);
  return join(places.run(runId), kind === "work" ? name : `scratch-${name}`);
}

/** A directory directly under DATA_DIR; one made along with it can be passed by the sandbox's user, whatever the umask. */
export async function makeDataPlace(path: string, mode: number): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first !== undefined && first !== path) await chmod(dirname(path), 0o711);
  await chmod(path, mode);
}

/**
 * Makes the run's directory: entered only by the app and the sandbox's group, so that other users of the machine see
 * nothing of a private repository. `runs` itself can be passed but not listed.
 */
export async function makeRunPlace(places: Places, runId: string): Promise<string> {
  await makeDataPlace(places.runs, 0o711);
  const path = places.run(runId);
  await mkdir(path, { recursive: true });
  if (places.owner !== null) await chown(path, process.getuid?.() ?? 0, places.owner.gid);
  await chmod(path, places.owner === null ? 0o700 : 0o750);
  return path;
}

/** An empty directory that belongs to the sandbox's owner; what was there is removed. */
export async function makeOwnedPlace(places: Places, path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { mode: 0o755 });
  await chmod(path, 0o755);
  if (places.owner !== null) await chown(path, places.owner.uid, places.owner.gid);
}
