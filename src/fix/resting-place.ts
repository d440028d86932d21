/** Where the agent's work rests between turns, kept beside the checkpoints: a transcript and the files that belong to it, never half of each. */

import { access } from "node:fs/promises";
import { z } from "zod";
import { NOTHING_STORED, type Stored } from "#src/harness/resume.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { RunContext } from "./run-context.ts";

/** What a round goes on from. */
export interface RestingPlace {
  /** Its messages are the transcript so far; what was paid is in the newest checkpoint. */
  readonly stored: Stored;
  /** The very directory of a sitting that was stopped in order; null: a clean copy. */
  readonly directory: string | null;
  /** The tree of the work at that point; null: what the round began with. */
  readonly treeId: string | null;
  /** How many instructions of people the transcript holds; null: as many as the round before was given. */
  readonly heard: number | null;
  /** True in the middle of a round: the task is in the transcript. */
  readonly midRound: boolean;
  /** What the agent is told when the work began in another run; left out: it began in this one. */
  readonly takenOver?: string;
}

type Blobs = Pick<RunContext, "blob" | "putBlob">;

const REST = z.object({ treeId: z.string().nullable(), heard: z.number().int().nonnegative() });
const STOPPED = z
  .object({
    checkpoint: z.number().int().positive(),
    directory: z.string(),
    heard: z.number().int().nonnegative(),
  })
  .nullable();
const STOPPED_BLOB = "stopped";
const restBlob = (checkpoint: number) => `rest-${checkpoint}`;

export type Rest = z.infer<typeof REST>;
export type StoppedWork = NonNullable<z.infer<typeof STOPPED>>;

/** The start of the round: the transcript as the round before left it. */
export function startOfRound(checkpoints: Checkpoints): RestingPlace {
  return { stored: checkpoints.before, directory: null, treeId: null, heard: null, midRound: false };
}

/** The files that belong to a checkpoint; without them it is none to go on from. */
export async function keepRest(blobs: Blobs, checkpoint: number, rest: Rest): Promise<void> {
  await blobs.putBlob(restBlob(checkpoint), JSON.stringify(rest));
}

/** Says that no process of the run is alive and that the directory is as the newest checkpoint tells; null: no longer so. */
export async function markStopped(blobs: Blobs, stopped: StoppedWork | null): Promise<void> {
  await blobs.putBlob(STOPPED_BLOB, JSON.stringify(stopped));
}

/** The mark of a sitting that was stopped in order, if that is how the run was left. */
export async function stoppedWork(blobs: Pick<Blobs, "blob">, newest: number): Promise<StoppedWork | null> {
  const stopped = STOPPED.safeParse(parsed(await blobs.blob(STOPPED_BLOB)));
  if (!stopped.success || stopped.data?.checkpoint !== newest) return null;
  const { directory } = stopped.data;
  const there = await access(directory).then(
    () => true,
    () => false,
  );
  return there ? stopped.data : null;
}

/**
 * The newest point of this round whose files are known: the directory itself when the run was stopped in order, else the
 * newest checkpoint that has its tree (a process that was killed may have died in the middle of a turn), else the round's start.
 */
export async function findRestingPlace(
  blobs: Pick<Blobs, "blob">,
  checkpoints: Checkpoints,
  round: number,
): Promise<RestingPlace> {
  const { states } = checkpoints;
  const isOfRound = (at: number) => (states[at - 1] ?? NOTHING_STORED).round === round;
  const newest = states.length;
  if (newest > 0 && isOfRound(newest)) {
    const stopped = await stoppedWork(blobs, newest);
    if (stopped !== null) {
      const { directory, heard } = stopped;
      return { stored: states.at(-1) ?? NOTHING_STORED, directory, treeId: null, heard, midRound: true };
    }
  }
  for (let at = newest; at > 0 && isOfRound(at); at--) {
    const rest = REST.safeParse(parsed(await blobs.blob(restBlob(at))));
    const stored = states[at - 1];
    if (rest.success && stored !== undefined)
      return { stored, directory: null, ...rest.data, midRound: true };
  }
  return startOfRound(checkpoints);
}

/** Undefined: there is nothing, or no JSON; a schema refuses both. */
export function parsed(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // What cannot be read marks no place to go on from.
  }
}
