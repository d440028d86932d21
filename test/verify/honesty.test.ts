/** A few patches of the verdict bench, drawn by the run's seed: a false green, a right fix turned down or an unnamed tampering fails here before anybody runs the bench. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { SuiteResult } from "#src/verify/verify.ts";
import { FULL, SEED, sample, skipUnless } from "#test/support/tier.ts";
import { type Case, type Ecosystem, readEcosystem } from "../../bench/verdict-cases.ts";
import { type Bench, openBench } from "../../bench/verdict-run.ts";
import { missingFor } from "../../bench/verdict-runners.ts";
import { faultOf } from "../../bench/verdict-table.ts";

/** Those whose runner is on the machine and quick to start. */
const NAMES = FULL ? ["node-test", "unittest", "prove", "make", "bats"] : ["node-test", "unittest"];
const RUNNERS = { nodeModules: null, python: null };
const QUICK = 1;
const WHOLE = 26;

interface Drawn {
  readonly ecosystem: Ecosystem;
  readonly one: Case;
}

const ALL: readonly Drawn[] = NAMES.map(readEcosystem).flatMap((ecosystem) =>
  ecosystem.cases.map((one) => ({ ecosystem, one })),
);
/** A right fix without a test is told by nothing. */
const telling = ALL.filter(({ one }) => one.kind !== "right");

let opened: Promise<Bench> | null = null;
const baselines = new Map<string, Promise<SuiteResult>>();

function baselineOf(bench: Bench, ecosystem: Ecosystem): Promise<SuiteResult> {
  const known = baselines.get(ecosystem.name) ?? bench.baseline(ecosystem);
  baselines.set(ecosystem.name, known);
  return known;
}

after(async () => (await opened)?.close());

/** By SEED in the quick tier; at even distances in the full one, where the bench itself is meant to be run. */
function drawn(): readonly Drawn[] {
  if (!FULL) return sample(telling, QUICK);
  const step = Math.floor(telling.length / WHOLE);
  return telling.filter((_, index) => index % step === SEED % step);
}

for (const { ecosystem, one } of drawn()) {
  const missing = missingFor(ecosystem, RUNNERS);
  const skip = skipUnless(missing === null, missing ?? "");
  test(`honesty: ${ecosystem.name} ${one.bug}, ${one.kind}: ${Object.keys(one.changed).join(", ")}`, {
    skip,
  }, async () => {
    opened ??= openBench(RUNNERS, 2);
    const bench = await opened;
    const verdict = await bench.verify(ecosystem, await baselineOf(bench, ecosystem), one);
    assert.equal(faultOf({ ecosystem, one, verdict }), null, JSON.stringify(verdict, null, 1));
  });
}
