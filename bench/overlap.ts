/** Whether read-only calls of one reply run at the same time: three of two seconds each. */

import { z } from "zod";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import { runAgent } from "#src/harness/loop.ts";
import type { Tool } from "#src/harness/tool.ts";
import { createScripted } from "#src/model/scripted.ts";
import { type Bench, timed } from "./row.ts";

const RUNS = 3;
const READ_MS = 2_000;
const TARGET = 1.1;

const slowRead: Tool<{ path: string }> = {
  name: "read_file",
  description: "Reads a file slowly.",
  schema: z.object({ path: z.string() }),
  readOnly: true,
  run: async ({ path }, { signal }) => {
    await systemClock.sleep(READ_MS, signal);
    return { status: "ok", text: path };
  },
};

export const overlapBench: Bench = async () => {
  const values: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const calls = ["a", "b", "c"].map((path) => ({ name: "read_file", args: { path } }));
    const model = createScripted([{ calls }, { text: "Done." }]);
    values.push((await timed(() => play(model))) / READ_MS);
  }
  return [
    {
      name: "overlap",
      what: "three read-only calls of 2 s in one reply ÷ 2 s",
      unit: "×",
      values,
      target: TARGET,
      note: "one after another it would be 3",
    },
  ];
};

function play(model: ReturnType<typeof createScripted>): Promise<unknown> {
  return runAgent({
    model,
    tools: [slowRead],
    system: "You read.",
    task: "Read.",
    prior: [],
    limits: {
      ...{ turns: 5, totalTokens: 1e6, costUsd: null, wallClockMs: 60_000 },
      ...{ maxOutputTokens: 1_000, contextTokens: 100_000 },
    },
    spent: NOTHING_SPENT,
    price: null,
    clock: systemClock,
    ids: systemIds,
    signal: new AbortController().signal,
    observe: () => undefined,
    checkpoint: async () => undefined,
  });
}
