/** The overhead row of the verdict: wall time from the patch to the verdict, against one run of a suite that takes ten seconds. */

import { systemClock } from "#src/base/clock.ts";
import type { Ecosystem } from "./verdict-cases.ts";
import { openBench } from "./verdict-run.ts";

const SLOW =
  'import { setTimeout } from "node:timers/promises";\nimport { test } from "node:test";\ntest("slow", async () => { await setTimeout(9500); });\n';
const HEAD =
  'import assert from "node:assert";\nimport { test } from "node:test";\nimport { add } from "../src/add.js";\n';
const NOTHING = 'test("nothing", () => { assert.equal(add(1, 0), 1); });\n';

/** How the suite is started: a runner that can be told which files to run, or a script that runs everything. */
export const SUITES = {
  "files can be named": "node --test",
  "always the whole suite": "node --test && true",
};

/** Ratio of a verification to a suite run; the target is 2.6. `into`: the test comes in a file of its own, or in one that exists. */
export async function overheadRatio(
  parallel: number,
  command: string,
  into: "new file" | "existing file",
): Promise<number> {
  const bench = await openBench({ nodeModules: null, python: null }, parallel);
  const ecosystem: Ecosystem = {
    name: "overhead",
    command,
    reports: true,
    files: {
      "package.json": '{ "type": "module" }\n',
      "src/add.js": "export const add = (a, b) => a - b;\n",
      "test/slow.test.js": SLOW,
      "test/add.test.js": HEAD + NOTHING,
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
        [into === "new file" ? "test/sum.test.js" : "test/add.test.js"]:
          `${HEAD}${into === "new file" ? "" : NOTHING}test("sum", () => { assert.equal(add(1, 2), 3); });\n`,
      },
    });
    if (verdict.class !== "proven") throw new Error(`the fix was called ${verdict.class}`);
    return (systemClock.now() - begun) / baseline.evidence.durationMs;
  } finally {
    await bench.close();
  }
}
