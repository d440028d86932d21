/** What is remembered of a mirror between fetches: its packs as they were left, so that damage is seen without reading them. */

import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Packs as they stood when the last fetch ended well: name to size and time of change. */
type Packs = Readonly<Record<string, string>>;

export interface MirrorState {
  /** Commits whose whole trees were found in these packs. */
  readonly whole: readonly string[];
  readonly packs: Packs;
  readonly bytes: number;
}

/** Enough for the branches that runs of a repository start from. */
const MOST_WHOLE = 50;

const stateFile = (mirror: string) => join(mirror, "agent-fix-state.json");

/** Null when there is none or it was cut short. */
export async function readState(mirror: string): Promise<MirrorState | null> {
  try {
    const state: unknown = JSON.parse(await readFile(stateFile(mirror), "utf8"));
    return typeof state === "object" && state !== null && "packs" in state ? (state as MirrorState) : null;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function packsOf(mirror: string): Promise<{ readonly packs: Packs; readonly bytes: number }> {
  const directory = join(mirror, "objects", "pack");
  const packs: Record<string, string> = {};
  let bytes = 0;
  for (const name of (await readdir(directory)).sort()) {
    const found = await stat(join(directory, name));
    packs[name] = `${found.size} ${found.mtimeMs} ${found.ino}`;
    bytes += found.size;
  }
  return { packs, bytes };
}

/** Every pack that was there is there as it was. What came in addition is a fetch that was killed after its work. */
export async function packsStand(mirror: string, state: MirrorState): Promise<boolean> {
  try {
    const now = await packsOf(mirror);
    return Object.entries(state.packs).every(([name, was]) => now.packs[name] === was);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

/** Remembers the mirror as it is now, with one more commit that is whole. Written beside and put in place, so that a kill leaves the old or the new. */
export async function writeState(mirror: string, before: MirrorState | null, whole: string): Promise<void> {
  const now = await packsOf(mirror);
  const known = (before?.whole ?? []).filter((sha) => sha !== whole);
  const state: MirrorState = { ...now, whole: [whole, ...known].slice(0, MOST_WHOLE) };
  const fresh = `${stateFile(mirror)}.new`;
  await writeFile(fresh, JSON.stringify(state));
  await rename(fresh, stateFile(mirror));
}
