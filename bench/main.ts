/** `npm run bench [row …]`: measures ratios against named floors in one run and prints them as a table; it never fails on timing. */

import { assembleBench } from "./assemble.ts";
import { containerBench } from "./container.ts";
import { floodBench } from "./flood.ts";
import { overlapBench } from "./overlap.ts";
import { reportsBench } from "./reports.ts";
import { type Bench, isMet, type Row, tableOf } from "./row.ts";
import { sandboxBench } from "./sandbox.ts";
import { searchBench } from "./search.ts";
import { turnsBench } from "./turns.ts";
import { webhooksBench } from "./webhooks.ts";
import { workspaceBench } from "./workspace.ts";

const BENCHES: Readonly<Record<string, Bench>> = {
  turns: turnsBench,
  overlap: overlapBench,
  assemble: assembleBench,
  search: searchBench,
  flood: floodBench,
  sandbox: sandboxBench,
  container: containerBench,
  workspace: workspaceBench,
  reports: reportsBench,
  webhooks: () => webhooksBench(seconds)(),
};

let seconds: number | undefined;

/** `--seconds=10` shortens the load on the webhooks. */
async function main(words: readonly string[]): Promise<void> {
  const option = words.find((word) => word.startsWith("--seconds="));
  seconds = option === undefined ? undefined : Number(option.slice("--seconds=".length));
  const asked = words.filter((word) => word !== option);
  const unknown = asked.filter((name) => BENCHES[name] === undefined);
  if (unknown.length > 0) {
    console.error(
      `There is no benchmark ${unknown.join(", ")}; there are ${Object.keys(BENCHES).join(", ")}.`,
    );
    process.exitCode = 2;
    return;
  }
  const rows: Row[] = [];
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    console.error(`measuring ${name} …`);
    const measured = await bench();
    if (typeof measured === "string") console.error(`${name} cannot be measured here: ${measured}`);
    else rows.push(...measured);
  }
  if (rows.length === 0) return;
  console.log(tableOf(rows));
  const aimed = rows.filter(({ target }) => target !== null);
  const missed = aimed.filter((row) => !isMet(row));
  console.log(
    `\n${aimed.length - missed.length} of ${aimed.length} targets met. Other work on the machine moves ratios; repeat a missed row alone before believing it.`,
  );
}

await main(process.argv.slice(2));
