/** What the sandbox adds to one command: the same program inside and bare. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { openPlace } from "./place.ts";
import { alternate, type Bench, median, timed } from "./row.ts";

const RUNS = 30;
const WARM_UP = 3;
const TARGET_MS = 12;

export const sandboxBench: Bench = async () => {
  const place = await openPlace();
  if (typeof place === "string") return place;
  await using opened = place;
  const signal = new AbortController().signal;
  const ours = () =>
    timed(() => opened.session.exec({ argv: ["true"], timeoutMs: 20_000, outputBytes: 1_000, signal }));
  const floor = () => timed(() => once(spawn("true", { stdio: "ignore" }), "close"));
  await alternate(WARM_UP, { ours, floor });
  const times = await alternate(RUNS, { ours, floor });
  return [
    {
      name: "sandbox",
      what: "one command in the sandbox minus the bare command",
      unit: "ms",
      values: times.ours.map((ms, run) => ms - (times.floor[run] ?? 0)),
      target: TARGET_MS,
      note: `${median(times.ours).toFixed(1)} ms inside, ${median(times.floor).toFixed(1)} ms bare (${median(times.ratios).toFixed(1)} ×)`,
    },
  ];
};
