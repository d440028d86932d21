/** `agent-fix run`: the same core on a local checkout; it ends with a patch file instead of a pull request. */

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { RunRequest } from "#src/run/run.ts";
import type { Store } from "#src/store/store.ts";
import { readRequest } from "./local-request.ts";
import { inLocalSeat, type LocalSeat } from "./local-seat.ts";
import { sit } from "./sitting.ts";
import { SITTING_HELP, SITTING_OPTIONS } from "./sitting-options.ts";

const USAGE = `agent-fix run --repo DIR --issue FILE: work on a local checkout and leave a patch.

  --repo DIR     a git checkout; its current branch, as last committed, is the base
  --issue FILE   the issue: its first line is the title, the rest the description
${SITTING_HELP}

The model comes from MODEL_API, its key and OPENAI_MODEL (docs/configuration.md). Nothing in the checkout is changed.`;

/** Exit code 0 with a patch, 1 without one, 2 for wrong options, 128 + the signal's number when it was stopped. */
export async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { repo: { type: "string" }, issue: { type: "string" }, ...SITTING_OPTIONS },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const { repo, issue, output, quiet, yes } = values;
  if (repo === undefined || issue === undefined) {
    console.error(`Both --repo and --issue are needed.\n\n${USAGE}`);
    return 2;
  }
  return inLocalSeat(async (seat) => {
    const request = await begin(seat, await readRequest(resolve(repo), resolve(issue)));
    return sit(seat, request, {
      output: resolve(output ?? `agent-fix-${request.runId}.patch`),
      quiet,
      yes,
    });
  });
}

/** Puts the run into the store, beside those of this checkout that were stopped and can go on. */
async function begin({ store, screen }: LocalSeat, asked: RunRequest): Promise<RunRequest> {
  const stopped = await openRunsOf(store, asked.repository.id);
  const number = freeNumber(stopped.map(({ issue }) => issue.number));
  const request = { ...asked, issue: { ...asked.issue, number } };
  const created = await store.createRun(request);
  if (!created.ok) throw new Error(`run ${created.error.activeRunId} is at work on this checkout`);
  screen.print(`Run ${request.runId}: ${request.issue.title}`);
  const [newest] = stopped;
  if (newest !== undefined)
    screen.print(
      `Run ${newest.runId} of this checkout was stopped and can go on: agent-fix resume ${newest.runId}`,
      "dim",
    );
  return request;
}

const MOST_RUNS = 10_000;

/** Newest first. */
async function openRunsOf(store: Store, repositoryId: number): Promise<readonly RunRequest[]> {
  const open = await store.runs({ ended: false, limit: MOST_RUNS });
  return open.map(({ request }) => request).filter(({ repository }) => repository.id === repositoryId);
}

/** An issue has one active run, and a stopped one stays active: each local run gets a number that no open one has. */
function freeNumber(taken: readonly number[]): number {
  let number = 1;
  while (taken.includes(number)) number++;
  return number;
}
