/** The command for some of a suite's test files: only where the runner is certain to get them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { narrowTo } from "#src/verify/narrow.ts";
import { atMost } from "#src/verify/verification-runs.ts";
import type { RunnerKind } from "#src/verify/verify.ts";
import { suiteOf } from "./project.ts";

const ROWS: readonly (readonly [string, RunnerKind, string | null])[] = [
  ["node --test", "node-test", "node --test 'test/a b.js'"],
  ["node --test --test-concurrency=1", "node-test", "node --test --test-concurrency=1 'test/a b.js'"],
  ["npx vitest run", "vitest", "npx vitest run 'test/a b.js'"],
  ["jest", "jest", "jest 'test/a b.js'"],
  ["python3 -m pytest -q", "pytest", "python3 -m pytest -q 'test/a b.js'"],
  ["npm test", "node-test", "npm test -- 'test/a b.js'"],
  ["npm test", "unknown", null],
  ["node --test | tee log", "node-test", null],
  ["node --test && echo done", "node-test", null],
  ["make test", "make", null],
  ["python3 -m unittest", "unittest", null],
];

test("a runner is given files only where they end up with it", () => {
  for (const [command, runner, expected] of ROWS)
    assert.equal(narrowTo(suiteOf(command, runner), ["test/a b.js"]), expected, command);
});

test("files are named from the suite's directory, quoted, and never as options", () => {
  const suite = suiteOf("node --test", "node-test", "packages/a");
  assert.equal(narrowTo(suite, ["packages/a/test/x.js"]), "node --test 'test/x.js'");
  assert.equal(narrowTo(suite, ["packages/b/test/x.js"]), null);
  assert.equal(narrowTo(suiteOf("jest", "jest"), ["it's.js"]), "jest 'it'\\''s.js'");
  assert.equal(narrowTo(suiteOf("jest", "jest"), ["--config=x"]), null);
  assert.equal(narrowTo(suiteOf("jest", "jest"), []), null);
});

test("at most so many pieces of work run at a time, in order, and a failing one frees its place", async () => {
  const slot = atMost(2);
  const log: string[] = [];
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const work = gates.map((gate, index) =>
    slot(async () => {
      log.push(`begin ${index}`);
      await gate.promise;
      if (index === 0) throw new Error("failed");
    }).catch(() => log.push(`failed ${index}`)),
  );
  await Promise.resolve();
  assert.deepEqual(log, ["begin 0", "begin 1"]);
  gates[0]?.resolve();
  await work[0];
  assert.deepEqual(log.slice(2).sort(), ["begin 2", "failed 0"]);
  for (const gate of gates) gate.resolve();
  await Promise.all(work);
});
