/** Which local run can go on, and why another can't. */

import { access } from "node:fs/promises";
import { err, ok, type Result } from "#src/base/result.ts";
import { DIFF_BLOB } from "#src/fix/steps/collect.ts";
import type { RunRequest } from "#src/run/run.ts";
import type { Store, StoredRun } from "#src/store/store.ts";
import { traceFile } from "./places.ts";

const MOST_RUNS = 10_000;

/** The newest run that can go on; the error says that there is none. */
export async function newestOpen(store: Store): Promise<Result<RunRequest, string>> {
  const [newest] = await store.runs({ ended: false, limit: MOST_RUNS });
  return newest === undefined
    ? err(
        "There is no local run that can go on. agent-fix run begins one; agent-fix trace lists what was done.",
      )
    : ok(newest.request);
}

/** The run with that id; the error says why it cannot go on. `dataDir` is the operator's. */
export async function openRun(
  store: Store,
  dataDir: string,
  runId: string,
): Promise<Result<RunRequest, string>> {
  const run = await store.run(runId);
  if (run === null) {
    const ofServer = await exists(traceFile(dataDir, runId));
    return err(
      ofServer
        ? `Run ${runId} is not a local one: it is the server's, which goes on with it by itself when it runs (npm start).`
        : `There is no run ${runId} in ${dataDir}; agent-fix trace lists the runs, and DATA_DIR says where they are kept.`,
    );
  }
  return run.ended ? err(await howItEnded(store, run)) : ok(run.request);
}

async function howItEnded(store: Store, { runId, state }: StoredRun): Promise<string> {
  const events = await store.events(runId);
  if (events.some(({ event }) => event.type === "proposed")) {
    const kept = (await store.blob(runId, DIFF_BLOB)) !== null;
    return `Run ${runId} has ended with a plan${kept ? " and its patch" : ""}; there is nothing to go on with. agent-fix trace ${runId} tells it.`;
  }
  const end = events.findLast(({ event }) => event.type === "failed")?.event;
  const why = end?.type === "failed" ? ` (${end.code}: ${end.message})` : "";
  return `Run ${runId} has ended: ${state}${why}. Begin a new one with agent-fix run.`;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
