/** Builds the tree that verify, digest and publish all use: chosen and read inside a sandbox, written by the host from bytes. */

import { sha256 } from "#src/base/canonical-json.ts";
import type { Ids } from "#src/base/ids.ts";
import { err, ok, type Result } from "#src/base/result.ts";
import type { HostGit } from "./git.ts";
import { isTreePath } from "./names.ts";
import {
  type DecodedPath,
  type FileStat,
  parseBatch,
  parseMoved,
  parseNumstat,
  parsePaths,
  parseRaw,
  parseStats,
  type RawChange,
} from "./parse.ts";
import type { Places } from "./places.ts";
import type { Pristine } from "./pristine.ts";
import { EXCHANGE, FIND_MOVED, SCAN, TAKE } from "./scripts.ts";
import {
  coveredBy,
  normalEdited,
  presentLeftOut,
  type Scan,
  select,
  untrackedLeftOut,
  usable,
  worthComparing,
} from "./select.ts";
import { type GitSession, type WithGitSession, withPrivatePlace } from "./session-git.ts";
import type { BuildTreeRequest, BuiltTree, ChangedFile, FileMode, GitFailure } from "./workspace.ts";

/** Lists of paths; about a quarter of a million of them. */
const LIST_BYTES = 32 * 1024 * 1024;
const PACK_BYTES = 256 * 1024 * 1024;
const CONTENT_BYTES = 512 * 1024 * 1024;
const DIFF_BYTES = 16 * 1024 * 1024;
const NOTHING = new Uint8Array();
const NO_OBJECT = "0".repeat(40);

export interface BuildOptions {
  readonly git: HostGit;
  readonly withSession: WithGitSession;
  readonly pristine: Pristine;
  readonly places: Places;
  readonly ids: Ids;
}

/** What came out of the sandbox: names, modes and a pack, none of it trusted yet. */
interface Taken {
  readonly raw: readonly RawChange[];
  readonly pack: Uint8Array;
  readonly leftOut: BuiltTree["leftOut"];
}

export async function dirtyPaths(
  options: BuildOptions,
  request: Omit<BuildTreeRequest, "edited" | "named" | "noise">,
): Promise<Result<readonly string[], GitFailure>> {
  const { runId, repositoryId, baseSha, directory } = request;
  const gitDir = await options.pristine.with(runId, repositoryId, [baseSha]);
  if (!gitDir.ok) return gitDir;
  return options.withSession({ runId, directory, gitDir: gitDir.value }, async (session) => {
    const scan = await scanWorkspace(session, baseSha, []);
    if (!scan.ok) return scan;
    return ok([...scan.value.changed, ...scan.value.collapsed].map(({ path }) => path).sort());
  });
}

export async function buildTree(
  options: BuildOptions,
  request: BuildTreeRequest,
): Promise<Result<BuiltTree, GitFailure>> {
  const { runId, repositoryId, baseSha, directory } = request;
  const gitDir = await options.pristine.with(runId, repositoryId, [baseSha]);
  if (!gitDir.ok) return gitDir;
  const taken = await options.withSession({ runId, directory, gitDir: gitDir.value }, (session) =>
    takeChanges(session, request),
  );
  if (!taken.ok) return taken;
  const tree = await writeTree(options, { runId, gitDir: gitDir.value, baseSha, taken: taken.value });
  if (!tree.ok) return tree;
  const described = await describeTree(options.git, gitDir.value, baseSha, tree.value);
  return described.ok
    ? ok({ treeId: tree.value, leftOut: taken.value.leftOut, ...described.value })
    : described;
}

type WholeScan = Scan & { readonly nested: readonly DecodedPath[]; readonly stats: readonly FileStat[] };

async function scanWorkspace(
  session: GitSession,
  baseSha: string,
  edited: readonly string[],
): Promise<Result<WholeScan, GitFailure>> {
  await session.put(EXCHANGE.edited, edited);
  const scanned = await session.run(SCAN, baseSha);
  if (!scanned.ok) return scanned;
  const parts: Buffer[] = [];
  const { changed, untracked, collapsed, editedIgnored, nested, stats } = EXCHANGE;
  for (const name of [changed, untracked, collapsed, editedIgnored, nested, stats]) {
    const part = await session.get(name, LIST_BYTES);
    if (!part.ok) return part;
    parts.push(part.value);
  }
  const [changes = NOTHING, ...lists] = parts;
  const [files = [], together = [], ignored = [], repositories = []] = lists.map(parsePaths);
  return ok({
    changed: parseRaw(changes),
    untracked: files,
    collapsed: together,
    editedIgnored: ignored,
    nested: repositories,
    stats: parseStats(parts.at(-1) ?? NOTHING),
  });
}

/**
 * A repository inside the repository would be taken for a submodule, or run its own configuration for whoever looks at it.
 * One in an ignored or left-out directory (a dependency fetched by set-up) is no part of the tree and does no harm.
 */
function nestedFailure(scan: WholeScan, noise: readonly string[]): GitFailure | null {
  const isNoise = coveredBy(noise);
  const found = scan.nested.find(({ path }) => !isNoise(path));
  if (found === undefined) return null;
  return {
    code: "nested_git",
    message: `The workspace has a nested repository at ${JSON.stringify(found.path)}: remove it, or list its directory in .gitignore.`,
  };
}

async function takeChanges(
  session: GitSession,
  request: BuildTreeRequest,
): Promise<Result<Taken, GitFailure>> {
  const { baseSha, noise } = request;
  const edited = normalEdited(request.edited);
  const scan = await scanWorkspace(session, baseSha, edited);
  if (!scan.ok) return scan;
  const nested = nestedFailure(scan.value, noise);
  if (nested !== null) return err(nested);
  const selection = select(scan.value, edited, noise, normalEdited(request.named ?? []));
  const { stats } = scan.value;
  const chosen = usable(selection.wanted, stats);
  await session.put(EXCHANGE.drop, selection.drop);
  const additions = usable(selection.maybeMoved, stats).take;
  const moved = worthComparing(additions, stats)
    ? await findMoved(session, baseSha, additions)
    : ok<readonly string[]>([]);
  if (!moved.ok) return moved;
  await session.put(EXCHANGE.take, [...chosen.take, ...moved.value]);
  const packed = await session.run(TAKE, baseSha);
  if (!packed.ok) return packed;
  const raw = await session.get(EXCHANGE.raw, LIST_BYTES);
  if (!raw.ok) return raw;
  const pack = await session.get(EXCHANGE.pack, PACK_BYTES);
  if (!pack.ok) return pack;
  const settled = new Set([...selection.wanted, ...moved.value]);
  const leftOut = [...selection.leftOut, ...chosen.leftOut, ...untrackedLeftOut(scan.value, noise, settled)];
  return ok({ raw: parseRaw(raw.value), pack: pack.value, leftOut: presentLeftOut(leftOut) });
}

async function findMoved(
  session: GitSession,
  baseSha: string,
  additions: readonly string[],
): Promise<Result<readonly string[], GitFailure>> {
  await session.put(EXCHANGE.additions, additions);
  const found = await session.run(FIND_MOVED, baseSha);
  if (!found.ok) return found;
  const moved = await session.get(EXCHANGE.moved, LIST_BYTES);
  if (!moved.ok) return moved;
  const candidates = new Set(additions);
  return ok(
    parseMoved(moved.value).flatMap(({ path, exact }) => (exact && candidates.has(path) ? [path] : [])),
  );
}

function isFileMode(mode: string): mode is FileMode {
  return mode === "100644" || mode === "100755" || mode === "120000";
}

/** Lines for `update-index --index-info`; null when an entry is none that a proposal may hold. */
export function indexInfo(raw: readonly RawChange[]): string | null {
  const isSound = (change: RawChange) =>
    change.exact && isTreePath(change.path) && (change.status === "D" || isFileMode(change.newMode));
  if (!raw.every(isSound)) return null;
  const removals = raw.filter((change) => change.status === "D");
  const writes = raw.filter((change) => change.status !== "D");
  return [
    ...removals.map((change) => `0 ${NO_OBJECT}\t${change.path}\0`),
    ...writes.map((change) => `${change.newMode} ${change.newId}\t${change.path}\0`),
  ].join("");
}

/** Writes base's tree with some entries changed, through an index of its own. */
export async function treeWith(
  options: Pick<BuildOptions, "git" | "places" | "ids">,
  at: { readonly runId: string; readonly gitDir: string; readonly from: string; readonly entries: string },
): Promise<Result<string, GitFailure>> {
  const { git } = options;
  return withPrivatePlace(options.places, at.runId, options.ids, async (place) => {
    const scope = { gitDir: at.gitDir, indexFile: `${place}/index` };
    const read = await git.text({ ...scope, args: ["read-tree", at.from] });
    if (!read.ok) return read;
    const updated = await git.stream({
      ...scope,
      args: ["update-index", "--add", "--replace", "-z", "--index-info"],
      stdin: Buffer.from(at.entries, "utf8"),
    });
    if (!updated.ok) return updated;
    const tree = await git.text({ ...scope, args: ["write-tree"] });
    return tree.ok ? ok(tree.value.trim()) : tree;
  });
}

/**
 * The host makes every object id itself: contents are hashed again while the pack is indexed, and the tree is written from
 * the checked list of names and modes. So a git that was subverted inside the sandbox can lie only about what the
 * workspace holds, which whoever subverted it could have written there anyway.
 */
async function writeTree(
  options: BuildOptions,
  at: { readonly runId: string; readonly gitDir: string; readonly baseSha: string; readonly taken: Taken },
): Promise<Result<string, GitFailure>> {
  const { gitDir, taken } = at;
  const entries = indexInfo(taken.raw);
  if (entries === null)
    return err({
      code: "git_failed",
      message:
        "The workspace holds a path or a kind of file that cannot stand in a commit: remove it, then try again.",
    });
  if (taken.pack.length > 0) {
    const indexed = await options.git.stream({
      gitDir,
      args: ["index-pack", "--stdin", `--max-input-size=${PACK_BYTES}`],
      stdin: taken.pack,
    });
    if (!indexed.ok) return indexed;
  }
  return treeWith(options, { runId: at.runId, gitDir, from: at.baseSha, entries });
}

/** Reads the changes and the diff from the two trees: plain objects, with no work tree and no configuration but ours. */
async function describeTree(
  git: HostGit,
  gitDir: string,
  baseSha: string,
  treeId: string,
): Promise<Result<Pick<BuiltTree, "changes" | "diff">, GitFailure>> {
  const compare = (flags: readonly string[], outputBytes: number) =>
    git.stream({
      gitDir,
      outputBytes,
      args: [
        "diff-tree",
        "-r",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        ...flags,
        baseSha,
        treeId,
        "--",
      ],
    });
  const raw = await compare(["--raw", "-z"], LIST_BYTES);
  if (!raw.ok) return raw;
  const numstat = await compare(["--numstat", "-z"], LIST_BYTES);
  if (!numstat.ok) return numstat;
  const diff = await compare(["-p", "--src-prefix=a/", "--dst-prefix=b/"], DIFF_BYTES);
  if (!diff.ok) return diff;
  const entries = parseRaw(raw.value.stdout);
  const ids = [...new Set(entries.filter(({ status }) => status !== "D").map(({ newId }) => newId))];
  const contents = await git.stream({
    gitDir,
    args: ["cat-file", "--batch"],
    stdin: Buffer.from(ids.map((id) => `${id}\n`).join("")),
    outputBytes: CONTENT_BYTES,
  });
  if (!contents.ok) return contents;
  const byId = new Map([...parseBatch(contents.value.stdout)].map(([id, bytes]) => [id, sha256(bytes)]));
  const counts = new Map(parseNumstat(numstat.value.stdout).map((entry) => [entry.path, entry]));
  const changes = entries.map((entry) => describeChange(entry, byId, counts.get(entry.path)));
  return ok({ changes, diff: diff.value.stdout.toString("utf8") });
}

function describeChange(
  entry: RawChange,
  hashes: ReadonlyMap<string, string>,
  counts: { readonly added: number | null; readonly removed: number | null } | undefined,
): ChangedFile {
  const isDeleted = entry.status === "D";
  const mode = isDeleted ? entry.oldMode : entry.newMode;
  if (!isFileMode(mode)) throw new Error(`a tree holds the mode ${mode} at ${entry.path}`);
  return {
    path: entry.path,
    status: isDeleted ? "deleted" : entry.status === "A" ? "added" : "modified",
    mode,
    sha256: isDeleted ? null : (hashes.get(entry.newId) ?? null),
    added: counts?.added ?? null,
    removed: counts?.removed ?? null,
  };
}
