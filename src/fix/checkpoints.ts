/** Where the agent's work stands, kept in the store one entry a turn, so that a crash loses neither what was paid nor what was said. */

import { err, ok, type Result } from "#src/base/result.ts";
import type { AgentState } from "#src/harness/agent.ts";
import { entryFor, NOTHING_STORED, parseEntry, type Stored, withEntry } from "#src/harness/resume.ts";
import type { FixPorts } from "./ports.ts";
import type { RunContext } from "./run-context.ts";

export interface Checkpoints {
  /** How the round before this one ended: what this round goes on from. */
  readonly before: Stored;
  /** The newest state of all, of an interrupted try of this round too: what has been paid so far. */
  readonly newest: Stored;
  /** All that was stored when this was opened, oldest first; checkpoint 1 is the first. */
  readonly states: readonly Stored[];
  /** The number of the newest checkpoint, from 1; 0: there is none. */
  count(): number;
  /** Rejects when the lease is lost. */
  save(state: AgentState): Promise<void>;
}

type Blobs = Pick<RunContext, "blob" | "putBlob">;

/** What another run keeps, to be read only. */
export function keptBlobs(store: FixPorts["store"], runId: string): Blobs {
  return {
    blob: async (name) => {
      const value = await store.blob(runId, name);
      return value === null ? null : Buffer.from(value).toString("utf8");
    },
    putBlob: async () => undefined,
  };
}

const nameOf = (number: number) => `checkpoint-${number}`;

/** Reads what is stored of a run; `round` is how many times its work was sent back. The error says which entry cannot be read. */
export async function openCheckpoints(context: Blobs, round: number): Promise<Result<Checkpoints, string>> {
  let before = NOTHING_STORED;
  let last = NOTHING_STORED;
  let count = 0;
  const states: Stored[] = [];
  for (;;) {
    const text = await context.blob(nameOf(count + 1));
    if (text === null) break;
    const entry = parseEntry(text);
    if (!entry.ok) return err(`${nameOf(count + 1)}: ${entry.error}`);
    last = withEntry(last, entry.value);
    if (last.round < round) before = last;
    states.push(last);
    count++;
  }
  const save = async (state: AgentState) => {
    const next = { ...state, round };
    const entry = entryFor(last, next);
    await context.putBlob(nameOf(count + 1), JSON.stringify(entry));
    last = next;
    count++;
  };
  return ok({ before, newest: last, states, count: () => count, save });
}
