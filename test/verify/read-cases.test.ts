/** Large reports are read in a thread: the process answers meanwhile, the cases are the same, and what cannot be read is said to. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { createReadCases, type Reading, readCases } from "#src/verify/reports/read-cases.ts";

function reading(tests: number): Reading {
  const lines = Array.from({ length: tests }, (_, at) =>
    JSON.stringify({
      file: `/workspace/t${at % 40}.js`,
      names: ["s", `case ${at}`],
      outcome: "pass",
      message: "",
    }),
  );
  return {
    files: [{ name: "node-1-1.ndjson", text: `${lines.join("\n")}\n{"end":true}\n` }],
    runner: "node-test",
    printed: "",
    stderr: "",
    root: "/workspace",
    places: "",
  };
}

test("20,000 cases come back from the thread as they would be read here, while this thread goes on", async () => {
  const large = reading(20_000);
  let turns = 0;
  const counting = setInterval(() => turns++, 1);
  const read = await createReadCases(systemClock)(large);
  clearInterval(counting);
  assert.equal(read.cases.length, 20_000);
  assert.deepEqual(read, readCases(large));
  assert.ok(turns > 0, "timers ran while the report was read");
});

test("a small report takes no thread", async () => {
  const read = await createReadCases(systemClock)(reading(3));
  assert.deepEqual(
    read.cases.map((one) => one.id),
    ["t0.js > s > case 0", "t1.js > s > case 1", "t2.js > s > case 2"],
  );
});

test("reading that takes too long is given up, and the result says so", async () => {
  const impatient = {
    ...systemClock,
    timer: (ms: number, run: () => void) => systemClock.timer(ms === 60_000 ? 0 : ms, run),
  };
  const read = await createReadCases(impatient)(reading(20_000));
  assert.deepEqual(read.cases, []);
  assert.equal(read.strength, "exit_code");
  assert.match(read.problem ?? "", /could not be read: the time limit/);
});
