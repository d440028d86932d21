/** Decides which of the paths that differ in a workspace become part of the tree, and why the others do not; pure. */

import { isTreePath } from "./names.ts";
import type { DecodedPath, FileStat, RawChange } from "./parse.ts";
import type { BuiltTree } from "./workspace.ts";

export type LeftOut = BuiltTree["leftOut"][number];

/** GitHub's interface takes blobs up to this size with a margin for base64; a larger file is no source file either. */
export const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** Beyond this, a workspace is full of generated files and no search for moved ones is tried. */
const MAX_MOVE_CANDIDATES = 2_000;
const MAX_MOVE_BYTES = 128 * 1024 * 1024;
/** Lines for people; what is beyond is counted. */
const MAX_LEFT_OUT = 200;

const REASON = {
  noise: "also changed by set-up or by the tests themselves",
  notEdited: "a new file that was not made with the edit tool, nor named by the agent",
  ignored: "matched by .gitignore",
  submodule: "a submodule, which is never changed",
  name: "its name cannot stand in a commit",
  kind: "neither a regular file nor a symbolic link",
  large: `larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`,
  unreadable: "it cannot be read",
} as const;

/** What a scan of the workspace found. */
export interface Scan {
  readonly changed: readonly RawChange[];
  readonly untracked: readonly DecodedPath[];
  /** As `untracked`, with directories that hold nothing else put together as `name/`. */
  readonly collapsed: readonly DecodedPath[];
  readonly editedIgnored: readonly DecodedPath[];
}

export interface Selection {
  /** Tracked paths that are gone. */
  readonly drop: readonly string[];
  /** Paths whose content is wanted. */
  readonly wanted: readonly string[];
  /** New files that count only if they are deleted ones under another name. */
  readonly maybeMoved: readonly string[];
  readonly leftOut: readonly LeftOut[];
}

/** True for a listed path, and for everything below a listed `directory/`. */
export function coveredBy(paths: readonly string[]): (path: string) => boolean {
  const known = new Set(paths);
  const above = directoriesAbove(paths);
  return (path) => known.has(path) || above(path) !== null;
}

/** One directory name after the other; `ends`: a listed one ends here. */
interface Folder {
  readonly below: Map<string, Folder>;
  ends: boolean;
}

/**
 * Finds the outermost of the listed `directory/` names that a path lies below (or is). Name by name, and no further than the
 * list goes: with a look-up for each beginning of a path, a few thousand paths of two thousand levels take minutes.
 */
function directoriesAbove(paths: Iterable<string>): (path: string) => string | null {
  const root: Folder = { below: new Map(), ends: false };
  for (const path of paths) {
    if (!path.endsWith("/")) continue;
    let here = root;
    for (const [name] of levels(path)) {
      const next = here.below.get(name) ?? { below: new Map(), ends: false };
      here.below.set(name, next);
      here = next;
    }
    here.ends = true;
  }
  return (path) => {
    let here: Folder | undefined = root;
    for (const [name, end] of levels(path)) {
      here = here.below.get(name);
      if (here === undefined) return null;
      if (here.ends) return path.slice(0, end);
    }
    return null;
  };
}

/** The directory names of a path from the outside in, each with the place behind its slash. */
function* levels(path: string): Generator<readonly [name: string, end: number]> {
  let start = 0;
  for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", start)) {
    yield [path.slice(start, slash), slash + 1];
    start = slash + 1;
  }
}

/** Edited paths as tools spell them (`./a`, `/workspace/a`), from the repository root; what cannot stand in a tree is dropped. */
export function normalEdited(edited: readonly string[]): readonly string[] {
  return edited
    .map((path) => path.replace(/^\/workspace\//, "").replace(/^(\.\/+)+/, ""))
    .filter((path) => isTreePath(path.replace(/\/$/, "")));
}

/** First choice, by name and history only; `look` then decides by what the files are. */
export function select(
  scan: Scan,
  edited: readonly string[],
  noise: readonly string[],
  named: readonly string[] = [],
): Selection {
  const isEdited = coveredBy(edited);
  const isNamed = coveredBy(named);
  const isNoise = coveredBy(noise);
  const drop: string[] = [];
  const wanted: string[] = [];
  const leftOut: LeftOut[] = [];
  for (const change of scan.changed) {
    const { path } = change;
    if (change.oldMode === "160000") leftOut.push({ path, reason: REASON.submodule });
    else if (!change.exact) leftOut.push({ path, reason: REASON.name });
    else if (isNoise(path) && !isEdited(path)) leftOut.push({ path, reason: REASON.noise });
    else if (change.status === "D") drop.push(path);
    else wanted.push(path);
  }
  const maybeMoved: string[] = [];
  for (const { path, exact } of scan.untracked) {
    if (!exact || !isTreePath(path)) continue;
    if (isEdited(path) || (isNamed(path) && !isNoise(path))) wanted.push(path);
    else if (!isNoise(path)) maybeMoved.push(path);
  }
  leftOut.push(...scan.editedIgnored.map(({ path }) => ({ path, reason: REASON.ignored })));
  const searched = drop.length > 0 && maybeMoved.length <= MAX_MOVE_CANDIDATES;
  return { drop, wanted, maybeMoved: searched ? maybeMoved : [], leftOut };
}

const FILE_TYPE = 0o170000;
const REGULAR = 0o100000;
const LINK = 0o120000;
const OWNER_READ = 0o400;

function refusal(found: FileStat | undefined): string | null {
  if (found === undefined) return REASON.unreadable;
  const type = found.mode & FILE_TYPE;
  if (type === LINK) return null;
  if (type !== REGULAR) return REASON.kind;
  if (found.size > MAX_FILE_BYTES) return REASON.large;
  return (found.mode & OWNER_READ) === 0 ? REASON.unreadable : null;
}

/** Keeps the paths that are files or links of bearable size. */
export function usable(
  paths: readonly string[],
  stats: readonly FileStat[],
): { readonly take: readonly string[]; readonly leftOut: readonly LeftOut[] } {
  const found = new Map(stats.filter((entry) => entry.exact).map((entry) => [entry.path, entry]));
  const take: string[] = [];
  const leftOut: LeftOut[] = [];
  for (const path of paths) {
    const reason = refusal(found.get(path));
    if (reason === null) take.push(path);
    else leftOut.push({ path, reason });
  }
  return { take, leftOut };
}

/** Whether comparing these files with the deleted ones is bearable. */
export function worthComparing(paths: readonly string[], stats: readonly FileStat[]): boolean {
  const wanted = new Set(paths);
  const bytes = stats.reduce((sum, entry) => (wanted.has(entry.path) ? sum + entry.size : sum), 0);
  return paths.length > 0 && bytes <= MAX_MOVE_BYTES;
}

/** Untracked files that were not taken: a directory of which nothing was taken is one line. */
export function untrackedLeftOut(
  scan: Scan,
  noise: readonly string[],
  settled: ReadonlySet<string>,
): readonly LeftOut[] {
  const isNoise = coveredBy(noise);
  const directoryOf = new Map<string, string>();
  const above = directoriesAbove(scan.collapsed.map(({ path }) => path));
  const touched = new Set<string>();
  for (const { path } of scan.untracked) {
    const directory = above(path);
    if (directory === null) continue;
    directoryOf.set(path, directory);
    if (settled.has(path)) touched.add(directory);
  }
  const lines = new Map<string, string>();
  for (const { path, exact } of scan.untracked) {
    if (settled.has(path)) continue;
    const directory = directoryOf.get(path);
    const shown = directory === undefined || touched.has(directory) ? path : directory;
    const unusable = !exact || !isTreePath(path.replace(/\/$/, ""));
    const reason = isNoise(path) ? REASON.noise : unusable ? REASON.name : REASON.notEdited;
    // A directory with one file that is no noise is worth a maintainer's look.
    if (lines.get(shown) === undefined || lines.get(shown) === REASON.noise) lines.set(shown, reason);
  }
  return [...lines].map(([path, reason]) => ({ path, reason }));
}

/** What people should look at first, then noise; at most 200 lines and one that counts the rest. */
export function presentLeftOut(all: readonly LeftOut[]): readonly LeftOut[] {
  const rank = ({ reason }: LeftOut) => (reason === REASON.noise ? 1 : 0);
  const sorted = [...all].sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
  if (sorted.length <= MAX_LEFT_OUT) return sorted;
  const rest = sorted.length - MAX_LEFT_OUT;
  return [...sorted.slice(0, MAX_LEFT_OUT), { path: "…", reason: `and ${rest} more paths` }];
}
