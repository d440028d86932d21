/** The mirror cache: one bare repository per repository id, fetched under a lock, healed when damaged, capped in size. */

import { access, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { thrownFailure } from "./failure.ts";
import type { HostGit } from "./git.ts";
import type { Locks } from "./lock.ts";
import { explainMissing, type Fetching, fetchRefs } from "./mirror-fetch.ts";
import { type MirrorState, packsStand, readState, writeState } from "./mirror-state.ts";
import { allowUrl, isBranchName } from "./names.ts";
import { makeDataPlace, type Places } from "./places.ts";
import { readyBytes } from "./ready.ts";
import { entriesBelow, namesIn } from "./tree-walk.ts";
import type { GitFailure, GitToken, IsFree, RepositorySource } from "./workspace.ts";

/** So many packs make every look-up slow; then they are put into one. */
const PACKS_BEFORE_REPACK = 40;
/** A mirror unused for this long goes, whatever its size. */
const LONG_UNUSED_MS = 30 * 24 * 60 * 60_000;
/** A mirror used this recently may be read by a run; it is not evicted. */
const IN_USE_MS = 60 * 60_000;

export interface Mirrors {
  fetch(request: FetchRequest): Promise<Result<{ readonly headSha: string }, GitFailure>>;
  /** Runs `work` while nobody writes or evicts the mirror; `not_found` when there is none. */
  read<T>(
    repositoryId: number,
    work: (path: string) => Promise<Result<T, GitFailure>>,
  ): Promise<Result<T, GitFailure>>;
  /** Has the mirror fetched anew at the next fetch, since it was found damaged. */
  distrust(repositoryId: number): Promise<void>;
  /** Repositories that have a mirror or a kept checkout, or the rest of one. */
  ids(): Promise<readonly number[]>;
  /** Removes both; false when somebody works with them or `isFree` says no. */
  drop(repositoryId: number, isFree: IsFree): Promise<boolean>;
}

export interface FetchRequest {
  readonly source: RepositorySource;
  readonly branch: string;
  readonly token: GitToken;
  readonly signal: AbortSignal;
}

export interface MirrorOptions {
  readonly git: HostGit;
  readonly locks: Locks;
  readonly places: Places;
  readonly allowedHosts: readonly string[];
  /** Absolute directories that may be fetched by a `file:` address. */
  readonly localRepositories: readonly string[];
  /** Bytes of all mirrors together, above which the least recently used ones go. */
  readonly capBytes: number;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: Log;
}

/** What belongs to a repository in the mirrors' directory, the rest of a cut-off removal too. */
const KEPT = /^(\d+)\.(?:git|git\.new|git\.gone|ready)$/;

const lockName = (repositoryId: number) => `${Math.trunc(repositoryId)}.lock`;
const distrustFile = (path: string) => join(path, "agent-fix-damaged");

export function createMirrors(options: MirrorOptions): Mirrors {
  const { locks, places, redactor, log } = options;
  return {
    fetch: async (request) => {
      const { source, branch, signal } = request;
      const url = allowUrl(source.cloneUrl, options.allowedHosts, options.localRepositories);
      if (!url.ok) return url;
      if (!isBranchName(branch))
        return err({
          code: "not_found",
          message: `${JSON.stringify(branch)} is not a branch name that git allows.`,
        });
      const path = places.mirror(source.id);
      try {
        await makeDataPlace(places.mirrors, 0o700);
        // Another repository's mirror that cannot be removed is no reason not to fetch this one.
        await evict(options, path).catch((error: unknown) =>
          log.warn({ why: redactor.redact(messageOf(error)) }, "old mirrors could not be removed"),
        );
        return await locks.hold(lockName(source.id), signal, (held) =>
          fetchLocked(options, {
            ...request,
            ...{ git: options.git, redactor, url: url.value, path, held },
          }),
        );
      } catch (error) {
        if (signal.aborted) return err({ code: "cancelled", message: "The fetch was cancelled." });
        log.error({ error: redactor.redact(messageOf(error)) }, "fetching failed");
        return err(thrownFailure("fetching the repository", error, redactor));
      }
    },
    read: async (repositoryId, work) => {
      const path = places.mirror(repositoryId);
      return locks.hold(lockName(repositoryId), new AbortController().signal, async () =>
        (await exists(join(path, "HEAD")))
          ? work(path)
          : err({
              code: "not_found",
              message: "The repository is not in the mirror cache: it must be fetched first.",
            }),
      );
    },
    distrust: async (repositoryId) => {
      const path = places.mirror(repositoryId);
      if (await exists(path)) await writeFile(distrustFile(path), "");
    },
    ids: async () => {
      const names = await namesIn(places.mirrors);
      return [...new Set(names.flatMap((name) => KEPT.exec(name)?.[1] ?? []))].map(Number);
    },
    drop: async (repositoryId, isFree) => {
      const gone = await locks.tryHold(lockName(repositoryId), async () => {
        if (!(await isFree())) return false;
        await remove(places, repositoryId);
        return true;
      });
      return gone === true;
    },
  };
}

async function fetchLocked(
  options: MirrorOptions,
  fetching: Fetching,
): Promise<Result<{ readonly headSha: string }, GitFailure>> {
  const { git, log, places } = options;
  const { path, source } = fetching;
  let state = await readState(path);
  const existed = await isUsable(path, state);
  const renew = async () => {
    state = null;
    return createMirror(git, path, places.ready(source.id));
  };
  if (!existed) {
    const made = await renew();
    if (!made.ok) return made;
  }
  let result = await fetchRefs(fetching, state?.whole ?? []);
  if (!result.ok && result.error.code === "git_failed" && existed) {
    log.warn({ mirror: path, why: result.error.message }, "the mirror was damaged and is fetched anew");
    const made = await renew();
    if (!made.ok) return made;
    result = await fetchRefs(fetching, []);
  }
  if (!result.ok) return err(await explainMissing(fetching, result.error));
  await tidy(options, path);
  await writeState(path, state, result.value.headSha);
  return result;
}

/** A new bare repository with a configuration of ours and nothing else, put in place whole; a checkout of the old one goes too. */
async function createMirror(git: HostGit, path: string, ready: string): Promise<Result<null, GitFailure>> {
  const fresh = `${path}.new`;
  await rm(path, { recursive: true, force: true });
  await rm(ready, { recursive: true, force: true });
  await rm(fresh, { recursive: true, force: true });
  const made = await git.text({ args: ["init", "--quiet", "--bare", "--template=", "--", fresh] });
  if (!made.ok) return made;
  await rename(fresh, path);
  return ok(null);
}

/** Worth a fetch? What a killed one left is removed first; the caller holds the lock, so nobody else is writing. */
async function isUsable(path: string, state: MirrorState | null): Promise<boolean> {
  if (!(await exists(join(path, "HEAD"))) || (await exists(distrustFile(path)))) return false;
  for await (const entry of entriesBelow(path)) {
    // A tag may be called `tmp_…` and is a file too; none ends in `.lock`.
    const name = entry.name.toString("latin1");
    const unfinished = name.startsWith("tmp_") && entry.path.includes(`${join(path, "objects")}/`);
    if (entry.isFile && (unfinished || name.endsWith(".lock"))) await rm(entry.path, { force: true });
  }
  return state === null || packsStand(path, state);
}

async function tidy({ git, log, clock }: MirrorOptions, path: string): Promise<void> {
  const packs = (await readdir(join(path, "objects", "pack"))).filter((name) => name.endsWith(".pack"));
  if (packs.length > PACKS_BEFORE_REPACK) {
    const packed = await git.stream({ args: ["repack", "-a", "-d", "-k", "-q"], gitDir: path });
    if (!packed.ok) log.warn({ mirror: path, why: packed.error.message }, "the mirror could not be repacked");
  }
  const seconds = clock.now() / 1000;
  await writeFile(join(path, "agent-fix-used"), "");
  await utimes(join(path, "agent-fix-used"), seconds, seconds);
}

/** Removes mirrors unused for long, and the least recently used ones until the rest fits; never `keep`, nor one that a run may still read. */
async function evict(options: MirrorOptions, keep: string): Promise<void> {
  const { places, locks, clock } = options;
  const known = await Promise.all(
    (await readdir(places.mirrors))
      .filter((name) => /^\d+\.git$/.test(name))
      .map(async (name) => {
        const id = Number.parseInt(name, 10);
        const path = places.mirror(id);
        const bytes = (await mirrorBytes(path)) + (await readyBytes(places.ready(id)));
        return { id, path, bytes, usedMs: await lastUse(path) };
      }),
  );
  let total = known.reduce((sum, mirror) => sum + mirror.bytes, 0);
  for (const mirror of known.sort((a, b) => a.usedMs - b.usedMs)) {
    const idleMs = clock.now() - mirror.usedMs;
    if (mirror.path === keep || idleMs < IN_USE_MS) continue;
    if (total <= options.capBytes && idleMs < LONG_UNUSED_MS) continue;
    const gone = await locks.tryHold(lockName(mirror.id), async () => {
      await remove(places, mirror.id);
      return true;
    });
    if (gone) total -= mirror.bytes;
  }
}

/** Out of the way first, so that a kill in the middle leaves no mirror that looks whole; the caller holds the lock. */
async function remove(places: Places, repositoryId: number): Promise<void> {
  const path = places.mirror(repositoryId);
  const gone = `${path}.gone`;
  await rm(gone, { recursive: true, force: true });
  if (await exists(path)) await rename(path, gone);
  for (const rest of [gone, `${path}.new`, places.ready(repositoryId)])
    await rm(rest, { recursive: true, force: true });
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/** As its last fetch left it; one that never ended is counted file by file. */
async function mirrorBytes(path: string): Promise<number> {
  const state = await readState(path);
  if (state !== null) return state.bytes;
  let bytes = 0;
  try {
    for await (const entry of entriesBelow(path)) if (entry.isFile) bytes += (await stat(entry.path)).size;
  } catch (error) {
    // Another process works on this mirror: what was counted so far will do, and its lock keeps it from being evicted.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return bytes;
}

/** When the mirror was last fetched, in milliseconds; 0: never. */
async function lastUse(path: string): Promise<number> {
  try {
    return (await stat(join(path, "agent-fix-used"))).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
