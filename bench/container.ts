/** What a container session adds to the engine's own `exec`: the same program through both. */

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { openPlace } from "./place.ts";
import { alternate, type Bench, median, timed } from "./row.ts";

const ENGINE = "podman";
/** Made by `scripts/setup-system.sh full`. */
const IMAGE = "localhost/agent-fix-test:2";
const RUNS = 20;
const WARM_UP = 3;
const TARGET = 1.3;

const run = promisify(execFile);

export const containerBench: Bench = async () => {
  const place = await openPlace(undefined, ENGINE, [IMAGE]);
  if (typeof place === "string") return `${place} (its image is made by scripts/setup-system.sh full)`;
  await using opened = place;
  const bare = `agent-fix-bench-${randomBytes(4).toString("hex")}`;
  const limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"];
  await run(ENGINE, ["run", "-d", "--name", bare, "--network", "none", ...limits, IMAGE, "sleep", "600"]);
  try {
    const signal = new AbortController().signal;
    const ours = () =>
      timed(() => opened.session.exec({ argv: ["true"], timeoutMs: 60_000, outputBytes: 1_000, signal }));
    const floor = () => timed(() => run(ENGINE, ["exec", bare, "true"]));
    await alternate(WARM_UP, { ours, floor });
    const times = await alternate(RUNS, { ours, floor });
    return [
      {
        name: "container",
        what: `one command in a container ÷ \`${ENGINE} exec\` alone`,
        unit: "×",
        values: times.ratios,
        target: TARGET,
        note: `${median(times.ours).toFixed(0)} ms a command, ${median(times.floor).toFixed(0)} ms for the engine's own`,
      },
    ];
  } finally {
    await run(ENGINE, ["rm", "-f", "-t", "0", bare]);
  }
};
