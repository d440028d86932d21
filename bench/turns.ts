/** The harness's own time a turn beside a naive loop, how it grows, the size of the first request and the stability of its prefix. */

import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { SYSTEM_PROMPT } from "#src/harness/prompt.ts";
import { toolSpec } from "#src/harness/tool-calls.ts";
import type { Noted, RunNotes } from "./model-server.ts";
import { naiveLoop } from "./naive-loop.ts";
import { ourLoop } from "./our-loop.ts";
import { openPlace, type Place } from "./place.ts";
import { type Bench, median, type Row } from "./row.ts";

const RUNS = 7;
const TURNS = 50;
const TASK = "Fix the value that is wrong.";
/** Turns around the fifth and the last whose median stands for them: single turns are noise. */
const EARLY = [3, 4, 5, 6, 7];
const LATE = [46, 47, 48, 49, 50];

interface Server {
  readonly port: number;
  notes(run: string): Promise<readonly Noted[]>;
  close(): Promise<unknown>;
}

async function startServer(): Promise<Server> {
  const worker = new Worker(new URL("./model-server.ts", import.meta.url), { workerData: { turns: TURNS } });
  const [{ port }] = (await once(worker, "message")) as [{ port: number }];
  return {
    port,
    notes: async (run) => {
      worker.postMessage(run);
      const [{ requests }] = (await once(worker, "message")) as [RunNotes];
      return requests;
    },
    close: () => worker.terminate(),
  };
}

/** About 1,000 characters each, as what most calls bring. */
async function fill(workspace: string): Promise<void> {
  await mkdir(join(workspace, "src"));
  for (let n = 1; n <= TURNS; n++) {
    const lines = Array.from(
      { length: 24 },
      (_, line) => `export const value${line} = compute(${n}, ${line});`,
    );
    await writeFile(join(workspace, "src", `file${n}.ts`), `${lines.join("\n")}\n`);
  }
}

/** From the end of each answer to the next request, without the tool's bare time; index 0 is turn 1. */
function ownTimes(requests: readonly Noted[], toolMs: readonly number[]): readonly number[] {
  if (requests.length !== TURNS + 1) throw new Error(`${requests.length} requests instead of ${TURNS + 1}`);
  return requests
    .slice(1)
    .map((next, turn) => next.arrivedAt - (requests[turn]?.endedAt ?? 0) - (toolMs[turn] ?? 0));
}

function growth(times: readonly number[]): number {
  const at = (turns: readonly number[]) => median(turns.map((turn) => times[turn - 1] ?? 0));
  return at(LATE) / at(EARLY);
}

/** The smallest share of a request, tools first, that the next one repeats from its start, in percent. */
function stability(requests: readonly Noted[]): number {
  const texts = requests.map(({ body }) => {
    const { messages, tools } = JSON.parse(body) as { messages: readonly object[]; tools: readonly object[] };
    // Without the closing bracket, so that an appended message leaves the whole request a prefix.
    return JSON.stringify([tools, ...messages]).slice(0, -1);
  });
  const shares = texts.slice(1).map((next, at) => {
    const before = texts[at] ?? "";
    let same = 0;
    while (same < before.length && before.charCodeAt(same) === next.charCodeAt(same)) same++;
    return same / before.length;
  });
  return 100 * Math.min(...shares);
}

function firstSize(requests: readonly Noted[]): number {
  const { messages, tools } = JSON.parse(requests[0]?.body ?? "{}") as {
    messages: readonly { content: string }[];
    tools: readonly object[];
  };
  return (messages[0]?.content.length ?? 0) + JSON.stringify(tools).length;
}

interface Measured {
  readonly naive: readonly (readonly number[])[];
  readonly ours: readonly (readonly number[])[];
  readonly sizes: readonly number[];
  readonly stabilities: readonly number[];
}

async function measure(place: Place, server: Server): Promise<Measured> {
  const measured = {
    naive: [] as number[][],
    ours: [] as number[][],
    sizes: [] as number[],
    stabilities: [] as number[],
  };
  const tools = place.tools.map((tool) => ({ type: "function", function: toolSpec(tool) }));
  const options = { workspace: place.workspace, system: SYSTEM_PROMPT, tools, task: TASK };
  // The first round of each warms up and is not counted.
  for (let run = 0; run <= RUNS; run++) {
    const url = (name: string) => `http://127.0.0.1:${server.port}/${name}-${run}/v1`;
    const naiveTool = await naiveLoop({ ...options, url: url("naive") });
    const naive = ownTimes(await server.notes(`naive-${run}`), naiveTool);
    const dataDir = join(place.root, `data-${run}`);
    const oursTool = await ourLoop({ url: url("ours"), tools: place.tools, task: TASK, dataDir });
    const requests = await server.notes(`ours-${run}`);
    const ours = ownTimes(requests, oursTool);
    if (run === 0) continue;
    measured.naive.push([...naive]);
    measured.ours.push([...ours]);
    measured.sizes.push(firstSize(requests));
    measured.stabilities.push(stability(requests));
  }
  return measured;
}

function rowsOf({ naive, ours, sizes, stabilities }: Measured): readonly Row[] {
  const ms = (runs: readonly (readonly number[])[]) => median(runs.map(median));
  const medians = { naive: naive.map(growth), ours: ours.map(growth) };
  return [
    {
      name: "turns",
      what: `own time a turn over ${TURNS} turns, with trace, checkpoint and event log ÷ a naive loop's`,
      unit: "×",
      values: ours.map((times, run) => median(times) / median(naive[run] ?? [])),
      target: 1.5,
      note: `${ms(ours).toFixed(2)} ms ÷ ${ms(naive).toFixed(2)} ms`,
    },
    {
      name: "turns",
      what: "own time in turn 50 ÷ in turn 5",
      unit: "×",
      values: medians.ours,
      target: 1.3,
      note: `the naive loop's: ${median(medians.naive).toFixed(2)}`,
    },
    {
      name: "turns",
      what: "first request: system prompt and all tools",
      unit: "characters",
      values: [median(sizes)],
      target: 8_000,
      note: `${TURNS + 1} requests in all, none besides the turns`,
    },
    {
      name: "turns",
      what: "common prefix ÷ length of the previous request, the worst of the run",
      unit: "%",
      values: [Math.min(...stabilities)],
      target: 100,
      atLeast: true,
      note: "compared byte by byte at the server",
    },
  ];
}

export const turnsBench: Bench = async () => {
  const place = await openPlace(fill);
  if (typeof place === "string") return place;
  await using opened = place;
  const server = await startServer();
  try {
    return rowsOf(await measure(opened, server));
  } finally {
    await server.close();
  }
};
