/** Memory of a run while a command floods it with 2 GB of output, measured in a process of its own. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Flooded } from "./flood-run.ts";
import { type Bench, median } from "./row.ts";

const RUNS = 3;
const TARGET_MB = 60;

async function measure(): Promise<Flooded | string> {
  const script = fileURLToPath(new URL("./flood-run.ts", import.meta.url));
  const child = spawn(process.execPath, ["--expose-gc", script], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  let text = "";
  for await (const piece of child.stdout.setEncoding("utf8")) text += piece;
  await closed;
  return JSON.parse(text) as Flooded | string;
}

export const floodBench: Bench = async () => {
  const runs: Flooded[] = [];
  for (let run = 0; run < RUNS; run++) {
    const measured = await measure();
    if (typeof measured === "string") return measured;
    runs.push(measured);
  }
  return [
    {
      name: "flood",
      what: "peak memory of a run under 2 GB of command output, above idle",
      unit: "MB",
      values: runs.map(({ peakMb, idleMb }) => peakMb - idleMb),
      target: TARGET_MB,
      note: `idle ${median(runs.map(({ idleMb }) => idleMb)).toFixed(0)} MB; ${median(runs.map(({ seconds }) => seconds)).toFixed(1)} s for the command`,
    },
  ];
};
