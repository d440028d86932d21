/** `agent-fix resume`: goes on with a local run that was stopped, or whose process was killed. */

import { access } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { err, ok, type Result } from "#src/base/result.ts";
import { DIFF_BLOB } from "#src/fix/steps/collect.ts";
import type { RunRequest } from "#src/run/run.ts";
import type { StoredRun } from "#src/store/store.ts";
import { endRun, leavePatch } from "./end-sitting.ts";
import { inLocalSeat, type LocalSeat } from "./local-seat.ts";
import { traceFile } from "./places.ts";
import { sit } from "./sitting.ts";
import { SITTING_HELP, SITTING_OPTIONS } from "./sitting-options.ts";

const USAGE = `agent-fix resume [run id]: go on with a run of agent-fix run that was stopped or killed.

Without a run id: the newest one that can go on. It goes on from its last checkpoint: the conversation with the model,
the files that belong to it, and what was spent, so that limits hold over the whole run.

${SITTING_HELP}`;

/** The exit codes of `run`; 1 also when there is nothing to go on with. */
export async function resume(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: SITTING_OPTIONS,
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const [runId] = positionals;
  if (positionals.length > 1 || (runId !== undefined && !/^[0-9a-z]{1,40}$/.test(runId))) {
    console.error(`${JSON.stringify(positionals.join(" "))} is not a run id.\n\n${USAGE}`);
    return 2;
  }
  return inLocalSeat(async (seat) => {
    const found = await (runId === undefined ? newestOpen(seat) : openRun(seat, runId));
    if (!found.ok) {
      console.error(found.error);
      return 1;
    }
    const request = found.value;
    const options = { ...values, output: resolve(values.output ?? `agent-fix-${request.runId}.patch`) };
    if (await hasPlan(seat, request.runId)) return endWithPlan(seat, request.runId, options.output);
    seat.screen.print(`Run ${request.runId} goes on: ${request.issue.title}`);
    return sit(seat, request, options);
  });
}

const MOST_RUNS = 10_000;

async function newestOpen({ store }: LocalSeat): Promise<Result<RunRequest, string>> {
  const [newest] = await store.runs({ ended: false, limit: MOST_RUNS });
  return newest === undefined
    ? err(
        "There is no local run that can go on. agent-fix run begins one; agent-fix trace lists what was done.",
      )
    : ok(newest.request);
}

async function openRun({ store, config }: LocalSeat, runId: string): Promise<Result<RunRequest, string>> {
  const run = await store.run(runId);
  if (run === null) {
    const ofServer = await exists(traceFile(dirname(config.server.dataDir), runId));
    return err(
      ofServer
        ? `Run ${runId} is not a local one: it is the server's, which goes on with it by itself when it runs (npm start).`
        : `There is no run ${runId} in ${dirname(config.server.dataDir)}; agent-fix trace lists the runs, and DATA_DIR says where they are kept.`,
    );
  }
  return run.ended ? err(await howItEnded(store, run)) : ok(run.request);
}

async function howItEnded(store: LocalSeat["store"], { runId, state }: StoredRun): Promise<string> {
  const events = await store.events(runId);
  if (events.some(({ event }) => event.type === "proposed")) {
    const kept = (await store.blob(runId, DIFF_BLOB)) !== null;
    return `Run ${runId} has ended with a plan${kept ? " and its patch" : ""}; there is nothing to go on with. agent-fix trace ${runId} tells it.`;
  }
  const end = events.findLast(({ event }) => event.type === "failed")?.event;
  const why = end?.type === "failed" ? ` (${end.code}: ${end.message})` : "";
  return `Run ${runId} has ended: ${state}${why}. Begin a new one with agent-fix run.`;
}

async function hasPlan({ store }: LocalSeat, runId: string): Promise<boolean> {
  return (await store.run(runId))?.state === "awaiting_approval";
}

/** Its process died between showing the plan and writing the patch. */
async function endWithPlan(seat: LocalSeat, runId: string, output: string): Promise<number> {
  seat.screen.print(`Run ${runId} has its plan already; agent-fix trace ${runId} tells it.`);
  const code = await leavePatch(seat, runId, output);
  await endRun(seat.store, runId);
  return code;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
