/** What a run that was stopped leaves to look at: what it has used, and the change as far as it has come. */

import type { Spent } from "#src/harness/agent.ts";
import { keptBlobs, openCheckpoints } from "./checkpoints.ts";
import type { FixPorts } from "./ports.ts";
import { stoppedWork } from "./resting-place.ts";
import { DIFF_BLOB } from "./steps/collect.ts";
import type { Prepared } from "./steps/prepare.ts";
import type { SetUp } from "./steps/setup.ts";
import type { Solved } from "./steps/solve.ts";

export interface LeftWork {
  /** Null: the agent had not begun, or what is stored of it cannot be read. */
  readonly spent: Spent | null;
  /** A unified diff; empty: nothing was changed; null: it cannot be built, `why` says the reason. */
  readonly diff: string | null;
  readonly why: string | null;
}

/** No process of the run may be alive. A run that was killed has only what its last whole round left. */
export async function leftWork(
  { store, workspaces }: Pick<FixPorts, "store" | "workspaces">,
  runId: string,
): Promise<LeftWork> {
  const readOnly = keptBlobs(store, runId);
  const checkpoints = await openCheckpoints(readOnly, 0);
  const newest = checkpoints.ok ? checkpoints.value.newest : null;
  const spent = newest === null || newest.messages.length === 0 ? null : newest.spent;
  const outputs = await stepOutputs(store, runId);
  const prepared = outputs.get("prepare") as Prepared | undefined;
  const setUp = outputs.get("setup") as SetUp | undefined;
  const stopped = checkpoints.ok ? await stoppedWork(readOnly, checkpoints.value.count()) : null;
  const run = await store.run(runId);
  if (stopped === null || newest === null || prepared === undefined || setUp === undefined || run === null)
    return { spent, diff: (await readOnly.blob(DIFF_BLOB)) ?? "", why: null };
  const solved = outputs.get("solve") as Solved | undefined;
  const built = await workspaces.buildTree({
    runId,
    repositoryId: run.request.repository.id,
    baseSha: prepared.baseSha,
    directory: stopped.directory,
    edited: [...new Set([...(solved?.edited ?? []), ...newest.dirty])],
    noise: setUp.noise,
  });
  return built.ok
    ? { spent, diff: built.value.diff, why: null }
    : { spent, diff: null, why: built.error.message };
}

/** The newest output of each step, by name. */
async function stepOutputs(store: FixPorts["store"], runId: string): Promise<ReadonlyMap<string, unknown>> {
  const outputs = new Map<string, unknown>();
  for (const { event } of await store.events(runId))
    if (event.type === "step" && event.record.kind === "done")
      outputs.set(event.record.step, event.record.output);
  return outputs;
}
