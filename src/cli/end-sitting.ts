/** How a local run is left: with its result, or open, so that it can go on later. */

import { writeFile } from "node:fs/promises";
import type { LeftWork } from "#src/fix/left-work.ts";
import { DIFF_BLOB } from "#src/fix/steps/collect.ts";
import type { Store } from "#src/store/store.ts";
import type { LocalSeat } from "./local-seat.ts";
import type { Sitting } from "./open-sitting.ts";
import { exitCodeOf, type StopSignal } from "./signals.ts";

/** Writes the change so far and says how to go on; the exit code is the signal's. */
export async function leave(sitting: Sitting, left: LeftWork, signal: StopSignal): Promise<number> {
  const { seat, request, options } = sitting;
  if (left.why !== null) seat.screen.print(`The change so far cannot be written as a patch: ${left.why}`);
  if (left.diff !== null && left.diff !== "") {
    await writeFile(options.output, left.diff);
    seat.screen.print(`The change so far, which nobody has checked, is in ${options.output}.`);
  }
  seat.screen.print(`To go on: agent-fix resume ${request.runId}`);
  return exitCodeOf(signal);
}

/** Writes the patch of a run whose result was shown, and ends it. */
export async function finish(sitting: Sitting): Promise<number> {
  const { seat, request, options, ports } = sitting;
  const code = await leavePatch(seat, request.runId, options.output);
  await endRun(seat.store, request.runId);
  await ports.workspaces.remove(request.runId, false);
  return code;
}

/** Writes the patch of a run that has its result. */
export async function leavePatch(
  { store, screen }: Pick<LocalSeat, "store" | "screen">,
  runId: string,
  output: string,
): Promise<number> {
  const diff = await store.blob(runId, DIFF_BLOB);
  if (diff === null || diff.length === 0) {
    screen.print("There is no patch.");
    return 1;
  }
  await writeFile(output, diff);
  const offered = (await store.run(runId))?.state === "awaiting_approval";
  screen.print(
    `\nThe patch is in ${output}${offered ? `; apply it with: git apply ${output}` : ", but it is not recommended (see above)"}.`,
  );
  return offered ? 0 : 1;
}

/** A local run is over when its result was shown; it never waits for an approval. */
export async function endRun(store: Store, runId: string): Promise<void> {
  const run = await store.run(runId);
  if (run === null || run.ended) return;
  const lease = await store.claim(runId, "local-end", 5_000);
  if (lease === null) return;
  await store.append(lease, [{ type: "cancelled", by: "local", why: "shutdown_of_operator" }], {
    state: "cancelled",
    ended: true,
  });
  await store.release(lease);
}
