/** The overhead row of the verdict: wall time from the patch to the verdict, against one run of a suite that takes ten seconds. */

import { systemClock } from "#src/base/clock.ts";
import type { Ecosystem } from "./verdict-cases.ts";
import { openBench } from "./verdict-run.ts";

const SLOW =
  'import { setTimeout } from "node:timers/promises";\nimport { test } from "node:test";\ntest("slow", async () => { await setTimeout(9500); });\n';
const HEAD =
  'import assert from "node:assert";\nimport { test } from "node:test";\nimport { add } from "../src/add.js";\n';

/** Ratio of a verification to a suite run; the target is 2.6. */
export async function overheadRatio(parallel: number): Promise<number> {
  const bench = await openBench({ nodeModules: null, python: null }, parallel);
  const ecosystem: Ecosystem = {
    name: "overhead",
    command: "node --test",
    reports: true,
    files: {
      "package.json": '{ "type": "module" }\n',
      "src/add.js": "export const add = (a, b) => a - b;\n",
      "test/slow.test.js": SLOW,
      "test/add.test.js": `${HEAD}test("nothing", () => { assert.equal(add(1, 0), 1); });\n`,
    },
    cases: [],
  };
  try {
    const baseline = await bench.baseline(ecosystem);
    const begun = systemClock.now();
    const verdict = await bench.verify(ecosystem, baseline, {
      ecosystem: "overhead",
      bug: "add",
      kind: "right with test",
      changed: {
        "src/add.js": "export const add = (a, b) => a + b;\n",
        "test/add.test.js": `${HEAD}test("nothing", () => { assert.equal(add(1, 0), 1); });\ntest("sum", () => { assert.equal(add(1, 2), 3); });\n`,
      },
    });
    if (verdict.class !== "proven") throw new Error(`the fix was called ${verdict.class}`);
    return (systemClock.now() - begun) / baseline.evidence.durationMs;
  } finally {
    await bench.close();
  }
}
