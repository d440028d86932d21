/** `agent-fix resume`: goes on with a local run that was stopped, or whose process was killed. */

import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { endRun, leavePatch } from "./end-sitting.ts";
import { inLocalSeat, type LocalSeat } from "./local-seat.ts";
import { newestOpen, openRun } from "./resumable.ts";
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
    const found = await (runId === undefined
      ? newestOpen(seat.store)
      : openRun(seat.store, dirname(seat.config.server.dataDir), runId));
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
