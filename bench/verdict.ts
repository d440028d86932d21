/**
 * `npm run bench:verdict [-- --only NAME] [--kind KIND] [--sample N] [--seed N] [--show] [--overhead]`: patches of which the truth is known,
 * each given to the real verification; prints verdict against truth. Exit code 1 when a verdict is wrong.
 */

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { atMost } from "#src/verify/verification-runs.ts";
import { type Case, type Ecosystem, ecosystemNames, readEcosystem } from "./verdict-cases.ts";
import { overheadRatio, SUITES } from "./verdict-overhead.ts";
import { type Bench, openBench } from "./verdict-run.ts";
import { findRunners, missingFor } from "./verdict-runners.ts";
import { confusionTable, faultOf, type Judged } from "./verdict-table.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    kind: { type: "string", multiple: true, default: [] },
    bug: { type: "string", multiple: true, default: [] },
    sample: { type: "string" },
    seed: { type: "string" },
    overhead: { type: "boolean", default: false },
    show: { type: "boolean", default: false },
    parallel: { type: "string" },
  },
});

/** A small generator by a printed seed, so that a sample can be had again. */
function shuffled<T>(list: readonly T[], seed: number): readonly T[] {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return list
    .map((one) => ({ one, at: next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

function chosen(ecosystem: Ecosystem): readonly Case[] {
  return ecosystem.cases.filter(
    ({ kind, bug }) =>
      (values.kind.length === 0 || values.kind.includes(kind)) &&
      (values.bug.length === 0 || values.bug.includes(bug)),
  );
}

function tell(judged: Judged): void {
  const { one, verdict } = judged;
  const fault = faultOf(judged);
  if (fault === null && !values.show) return;
  const why =
    verdict.class === "unproven"
      ? `${verdict.reason}: ${verdict.detail}`
      : verdict.class === "proven"
        ? verdict.by.map((proof) => proof.test).join(", ")
        : [verdict.because].flat().join(" ");
  const findings = verdict.evidence.tampering.map((finding) => finding.kind).join(" ");
  console.error(
    `${fault === null ? "ok" : `WRONG (${fault})`}: ${one.ecosystem} ${one.bug}, ${one.kind} → ${verdict.class}: ${why} [${findings}]`,
  );
}

const PROGRESS = 20;
let finished = 0;

async function judge(
  bench: Bench,
  ecosystem: Ecosystem,
  cases: readonly Case[],
  slot: ReturnType<typeof atMost>,
) {
  const baseline = await slot(() => bench.baseline(ecosystem));
  const { counts, exitCode } = baseline.evidence;
  console.error(
    `${ecosystem.name}: ${counts.passed} passed and ${counts.failed} failed on the base (exit ${exitCode}, ${baseline.strength}); ${cases.length} patches`,
  );
  if (values.show && counts.passed === 0) console.error(baseline.output, baseline.mismatch);
  return Promise.all(
    cases.map((one) =>
      slot(async () => {
        const judged = { ecosystem, one, verdict: await bench.verify(ecosystem, baseline, one) };
        tell(judged);
        finished += 1;
        if (finished % PROGRESS === 0) console.error(`${finished} patches judged`);
        return judged;
      }),
    ),
  );
}

async function tellOverhead(parallel: number): Promise<void> {
  console.log(
    `| from patch to verdict, ${parallel} at a time | × one run of a 10 s suite (target: 2.6) |\n| --- | --- |`,
  );
  for (const [told, command] of Object.entries(SUITES))
    for (const into of ["new file", "existing file"] as const) {
      const ratio = await overheadRatio(parallel, command, into);
      console.log(`| ${told}; its test in a ${into.replace("existing", "changed")} | ${ratio.toFixed(2)} |`);
    }
}

async function main(): Promise<void> {
  if (values.overhead) {
    await tellOverhead(Number(values.parallel ?? Math.min(3, availableParallelism())));
    return;
  }
  const only = values.only.flatMap((names) => names.split(","));
  const unknown = only.filter((name) => !ecosystemNames().includes(name));
  if (unknown.length > 0) {
    console.error(`--only ${unknown.join(", ")}: there are ${ecosystemNames().join(", ")}`);
    process.exitCode = 2;
    return;
  }
  const names = only.length > 0 ? only : ecosystemNames();
  const runners = await findRunners();
  const seed = Number(values.seed ?? Math.floor(Date.now() / 1000) % 100_000);
  const cores = Number(values.parallel ?? availableParallelism());
  const bench = await openBench(runners, 1);
  const slot = atMost(cores);
  try {
    const all: Judged[][] = await Promise.all(
      names.map(async (name) => {
        const ecosystem = readEcosystem(name);
        const missing = missingFor(ecosystem, runners);
        if (missing !== null) {
          console.error(`${name} is left out: ${missing}`);
          return [];
        }
        const cases = chosen(ecosystem);
        const sample =
          values.sample === undefined ? cases : shuffled(cases, seed).slice(0, Number(values.sample));
        return sample.length === 0 ? [] : judge(bench, ecosystem, sample, slot);
      }),
    );
    if (values.sample !== undefined) console.error(`sampled by --seed ${seed}`);
    const judged = all.flat();
    console.log(confusionTable(judged));
    if (judged.some((one) => faultOf(one) !== null)) process.exitCode = 1;
  } finally {
    await bench.close();
  }
}

await main();
