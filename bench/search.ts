/** What the tool `search` costs beside ripgrep itself, over a generated tree of 100,000 files, both in the sandbox. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openPlace, toolNamed } from "./place.ts";
import { alternate, type Bench, median, timed } from "./row.ts";

const RUNS = 7;
const DIRECTORIES = 1_000;
const FILES_EACH = 100;
const TARGET = 1.3;
/** In one file of a thousand. */
const RARE = "needleInHay";

async function fill(workspace: string): Promise<void> {
  for (let d = 0; d < DIRECTORIES; d++) {
    const directory = join(workspace, `part${d % 20}`, `module${d}`);
    await mkdir(directory, { recursive: true });
    const write = (f: number) => {
      const lines = Array.from(
        { length: 30 },
        (_, n) => `export const value${n} = compute(${d}, ${f}, ${n});`,
      );
      if (f === 0 && d % 10 === 0) lines.push(`export function ${RARE}() {}`);
      return writeFile(join(directory, `file${f}.ts`), `${lines.join("\n")}\n`);
    };
    await Promise.all(Array.from({ length: FILES_EACH }, (_, f) => write(f)));
  }
}

export const searchBench: Bench = async () => {
  const place = await openPlace(fill);
  if (typeof place === "string") return place;
  await using opened = place;
  const signal = new AbortController().signal;
  const tool = toolNamed(opened.tools, "search");
  const ours = () => timed(() => tool.run({ pattern: RARE }, { signal }));
  const argv = ["rg", "--no-config", "--hidden", "--line-number", "--glob", "!.git", RARE, "."];
  const floor = () =>
    timed(() => opened.session.exec({ argv, timeoutMs: 60_000, outputBytes: 1_000_000, signal }));
  await alternate(1, { ours, floor });
  const times = await alternate(RUNS, { ours, floor });
  return [
    {
      name: "search",
      what: "search over 100,000 files ÷ ripgrep itself in the same sandbox",
      unit: "×",
      values: times.ratios,
      target: TARGET,
      note: `${median(times.ours).toFixed(0)} ms ÷ ${median(times.floor).toFixed(0)} ms`,
    },
  ];
};
