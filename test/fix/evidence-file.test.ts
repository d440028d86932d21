/** The evidence file: what a reader can check without us. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sha256 } from "#src/base/canonical-json.ts";
import { evidenceFile } from "#src/fix/evidence-file.ts";
import { sampleVerdict } from "#test/run/sample.ts";
import { ran } from "#test/verify/facts.ts";

test("base, patch, environment, commands, exit codes and each test in each run stand in the evidence file", () => {
  const text = evidenceFile({
    base: "b".repeat(40),
    tree: "c".repeat(40),
    diff: "diff --git a/x b/x\n",
    setup: { command: "npm ci", directory: ".", because: "package-lock.json" },
    environment: { sandbox: "bubblewrap", limits: { processes: 5 } },
    verdict: sampleVerdict("proven"),
    results: [
      ran({ "t > a": "fail", "t > b": "pass" }, { label: "baseline" }),
      ran({ "t > a": "pass", "t > c": "skip" }),
    ],
  });
  const file = JSON.parse(text);
  assert.equal(file.version, 1);
  assert.equal(file.patchSha256, sha256("diff --git a/x b/x\n"));
  assert.match(file.environment.digest, /^[0-9a-f]{64}$/);
  assert.equal(file.environment.network, "none");
  assert.equal(file.setup.command, "npm ci");
  assert.equal(file.verdict.class, "proven");
  assert.deepEqual(
    file.suites.map((suite: { label: string; exitCode: number }) => [suite.label, suite.exitCode]),
    [
      ["baseline", 1],
      ["patched", 0],
    ],
  );
  assert.deepEqual(file.tests, [
    { id: "t > a", outcomes: ["fail", "pass"] },
    { id: "t > b", outcomes: ["pass", null] },
    { id: "t > c", outcomes: [null, "skip"] },
  ]);
});
