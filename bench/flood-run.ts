/** The process whose memory `flood.ts` measures: one run of the agent whose only command prints 2 GB. */

import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import { runAgent } from "#src/harness/loop.ts";
import { SYSTEM_PROMPT } from "#src/harness/prompt.ts";
import { createScripted } from "#src/model/scripted.ts";
import { openPlace, type Place } from "./place.ts";

export interface Flooded {
  readonly idleMb: number;
  readonly peakMb: number;
  readonly seconds: number;
}

const SAMPLE_MS = 10;
const MB = 1_000_000;
const FLOOD = "yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 2000000000";

async function play(place: Place, command: string): Promise<void> {
  const end = await runAgent({
    model: createScripted([{ calls: [{ name: "run_command", args: { command } }] }, { text: "Done." }]),
    tools: place.tools,
    system: SYSTEM_PROMPT,
    task: "Run it.",
    prior: [],
    limits: {
      ...{ turns: 5, totalTokens: 1e6, costUsd: null, wallClockMs: 300_000 },
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
  if (end.status !== "done" || end.toolCalls.run_command?.ok !== 1) throw new Error(end.message);
}

async function measure(): Promise<Flooded | string> {
  const place = await openPlace();
  if (typeof place === "string") return place;
  await using opened = place;
  // Everything that a run loads is loaded before, so that only the flood counts.
  await play(opened, "seq 1 100000");
  globalThis.gc?.();
  const idle = process.memoryUsage.rss();
  let peak = idle;
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, SAMPLE_MS);
  const startedAt = performance.now();
  await play(opened, FLOOD);
  clearInterval(sampling);
  return { idleMb: idle / MB, peakMb: peak / MB, seconds: (performance.now() - startedAt) / 1_000 };
}

process.stdout.write(JSON.stringify(await measure()));
