/** Real runners in the real sandbox: results per test, with reports that never touch the workspace. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testPart } from "#test/support/tier.ts";
import { copyPytest, FIXTURES, openProject, outcomes, suiteOf } from "./project.ts";

const test = testPart(0.6);

const PACKAGE = (script: string) => JSON.stringify({ name: "x", type: "module", scripts: { test: script } });

test("node:test through npm: ids, outcomes and messages come from the report, and the workspace stays clean", async () => {
  await using project = await openProject({}, "node-test");
  const before = readdirSync(project.directory, { recursive: true }).sort();
  const result = await project.run(suiteOf("npm test", "node-test"));
  assert.deepEqual(outcomes(result), {
    "test/total.test.js > sums prices": "pass",
    "test/total.test.js > discount > is a share of the sum": "fail",
  });
  assert.match(result.cases[1]?.message ?? "", /9\.5 !== 5[\s\S]*test\/total\.test\.js:11/);
  assert.equal(result.strength, "report");
  assert.equal(result.evidence.exitCode, 1);
  assert.equal(result.mismatch, null);
  assert.match(result.output, /is a share of the sum/, "the printed output is still there for people");
  assert.deepEqual(
    readdirSync(project.directory, { recursive: true }).sort(),
    before,
    "G08: nothing is left in the workspace",
  );
});

test("node:test: a script that names its own reporter still gives a report", async () => {
  await using project = await openProject(
    { "package.json": PACKAGE("node --test --test-reporter=dot") },
    "node-test",
  );
  const result = await project.run(suiteOf("npm test", "node-test"));
  assert.equal(result.strength, "report");
  assert.deepEqual(result.evidence.counts, { passed: 1, failed: 1, skipped: 0 });
});

test("node:test: a file that cannot be loaded is one failure of the whole file, with the reason", async () => {
  await using project = await openProject(
    { "test/broken.test.js": 'import "../src/none.js";\n', "test/plain.test.js": "1;\n" },
    "node-test",
  );
  const result = await project.run(suiteOf("node --test", "node-test"));
  const broken = result.cases.find((one) => one.id === "test/broken.test.js");
  assert.equal(broken?.outcome, "fail");
  assert.match(broken?.message ?? "", /ERR_MODULE_NOT_FOUND|Cannot find module/);
  assert.equal(outcomes(result)["test/plain.test.js"], "pass");
});

test("node:test: suites, subtests, skipped, todo and equal names keep apart", async () => {
  await using project = await openProject({
    "package.json": PACKAGE("node --test"),
    "test/a.test.js": `
import { describe, it, test } from "node:test";
test("twice", () => {});
test("twice", () => { throw new Error("second"); });
test("skipped", { skip: true }, () => {});
test("todo", { todo: true }, () => { throw new Error("known"); });
describe("outer", () => { describe("inner", () => { it("deep", () => {}); }); });
test("parent", async (t) => { await t.test("child", () => {}); });
`,
  });
  const result = await project.run(suiteOf("node --test", "node-test"));
  assert.deepEqual(outcomes(result), {
    "test/a.test.js > twice": "pass",
    "test/a.test.js > twice #2": "fail",
    "test/a.test.js > skipped": "skip",
    "test/a.test.js > todo": "skip",
    "test/a.test.js > outer > inner > deep": "pass",
    "test/a.test.js > parent > child": "pass",
    "test/a.test.js > parent": "pass",
  });
});

test("vitest and jest are asked for a report wherever a script calls them", async () => {
  for (const [name, recordedIn] of [
    ["vitest", "vitest-5.1.2.json"],
    ["jest", "jest-30.5.2.json"],
  ] as const) {
    // In place of the runner stands a program that writes a recorded report where its arguments ask for one.
    const program = `
const fs = require("node:fs");
const asked = process.argv.map((one) => /^--outputFile(?:\\.json)?=(.*)$/.exec(one)).find(Boolean);
const wanted = ${name === "vitest"} ? "--reporter=json" : "--json";
if (!process.argv.includes("run") || !process.argv.includes(wanted)) process.exit(9);
fs.copyFileSync("report.json", asked[1]);
process.exitCode = 1;
`;
    await using project = await openProject({
      "package.json": PACKAGE(`node node_modules/${name}/${name}.cjs run && echo later`),
      [`node_modules/${name}/${name}.cjs`]: program,
      "report.json": readFileSync(join(FIXTURES, "recorded", recordedIn), "utf8"),
    });
    const result = await project.run(suiteOf("npm test", name));
    assert.deepEqual(result.evidence.counts, { passed: 1, failed: 3, skipped: 2 }, result.output);
    assert.equal(result.mismatch, null);
  }
});

test("node:test: output that only mentions a reporter problem changes nothing", async () => {
  await using project = await openProject({
    "a.test.js": `console.log("'--test-reporter' must match the number of specified"); import("node:test").then((t) => t.test("a", () => {}));\n`,
  });
  const result = await project.run(suiteOf("node --test", "node-test"));
  assert.deepEqual(outcomes(result), { "a.test.js > a": "pass" });
});

test("unittest: results per test, load errors as whole files, class fixtures in their file", async () => {
  await using project = await openProject(
    {
      "tests/test_broken.py": "import nosuch\n",
      "tests/test_class.py":
        "import unittest\nclass C(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls): raise RuntimeError('no db')\n    def test_x(self): pass\n",
    },
    "unittest",
  );
  const result = await project.run(suiteOf("python3 -m unittest discover", "unittest"));
  assert.deepEqual(outcomes(result), {
    "tests/test_total.py > TotalTest.test_discount_is_a_share_of_the_sum": "fail",
    "tests/test_total.py > TotalTest.test_sums_prices": "pass",
    "tests/test_class.py > C.setUpClass": "fail",
    "tests/test_broken.py": "fail",
  });
  assert.equal(result.mismatch, null);
  assert.equal(await project.shell("test ! -e __pycache__ && test ! -e shop/__pycache__"), 0);
});

test("pytest: results per test, parametrised ids, also behind a script that sets PYTHONPATH itself", async (t) => {
  await using project = await openProject({}, "pytest");
  if (!copyPytest(project.directory)) return t.skip("this machine has no pytest to copy");
  const expected = {
    "tests/test_total.py > test_sums_prices": "pass",
    "tests/test_total.py > TestDiscount > test_is_a_share_of_the_sum[0.5]": "fail",
  };
  for (const command of ["python3 -m pytest", "PYTHONPATH=. python3 -m pytest"]) {
    const result = await project.run(suiteOf(command, "pytest"));
    assert.deepEqual(outcomes(result), expected, command);
    assert.equal(result.mismatch, null, command);
  }
});

test("make: printed TAP gives results per test, as weaker evidence", async () => {
  await using project = await openProject({}, "make");
  const result = await project.run(suiteOf("make test", "make"));
  assert.deepEqual(outcomes(result), {
    "make > reads a total": "pass",
    "make > discount is a share": "fail",
  });
  assert.equal(result.strength, "text");
  assert.equal(result.mismatch, null);
});

test("make: a recipe that starts node:test gives a report all the same", async () => {
  await using project = await openProject({ Makefile: "check:\n\tnode --test\n" }, "node-test");
  const result = await project.run(suiteOf("make check", "node-test"));
  assert.equal(result.strength, "report");
  assert.deepEqual(result.evidence.counts, { passed: 1, failed: 1, skipped: 0 });
});

test("a runner nobody knows is read by its exit code alone", async () => {
  await using project = await openProject({ "run.sh": "exit 3\n" });
  const result = await project.run(suiteOf("sh run.sh", "unknown"));
  assert.equal(result.strength, "exit_code");
  assert.equal(result.evidence.exitCode, 3);
  assert.deepEqual(result.cases, []);
});

test("G05: a suite that waits for ever is stopped, says so, and CI is the text true without a terminal", async () => {
  await using project = await openProject({
    "package.json": PACKAGE(
      "node -e \"if(!process.env.CI||process.env.CI==='false'||process.stdin.isTTY)setInterval(()=>{},1e3)\"",
    ),
  });
  const ended = await project.run(suiteOf("npm test", "unknown"), { timeoutMs: 20_000 });
  assert.equal(ended.evidence.stopped, null);
  assert.equal(ended.evidence.exitCode, 0);
  const stuck = await project.run(suiteOf("node -e 'setInterval(()=>{},1e3)'", "unknown"), {
    timeoutMs: 800,
  });
  assert.equal(stuck.evidence.stopped, "timeout");
  assert.equal(stuck.evidence.exitCode, null);
});

test("G06: a pipe does not hide a failing suite: pipefail outside, the report inside a script", async () => {
  await using project = await openProject(
    { "package.json": PACKAGE("node --test 2>&1 | tail -3") },
    "node-test",
  );
  const hidden = await project.run(suiteOf("npm test", "node-test"));
  assert.equal(hidden.evidence.exitCode, 0);
  assert.equal(hidden.evidence.counts.failed, 1);
  assert.match(hidden.mismatch ?? "", /succeeded although its report names 1 failing/);
  const outside = await project.run(suiteOf("node --test 2>&1 | tail -3", "node-test"));
  assert.notEqual(outside.evidence.exitCode, 0);
});

test("a process that ends itself early leaves a report that stops before its end", async () => {
  await using project = await openProject(
    {
      "tests/test_exit.py":
        "import os, unittest\nclass E(unittest.TestCase):\n    def test_a(self): os._exit(0)\n",
    },
    "unittest",
  );
  const result = await project.run(suiteOf("python3 -m unittest discover", "unittest"));
  assert.equal(result.evidence.exitCode, 0);
  assert.match(result.mismatch ?? "", /stops before its end/);
});

test("links, FIFOs and huge files in the report directory are refused, and never followed on the next run", async () => {
  await using project = await openProject(
    {
      "outside.txt": "kept",
      "plant.sh":
        "cd /reports && ln -s /etc/passwd node-link.ndjson && mkfifo node-fifo.ndjson && rm -rf hooks && ln -s /workspace hooks && truncate -s 80M node-big.ndjson\n",
    },
    "node-test",
  );
  const planted = await project.run(suiteOf("sh plant.sh", "node-test"));
  assert.match(planted.mismatch ?? "", /cannot be opened|not a regular file|larger than/);
  assert.deepEqual(planted.cases, []);
  symlinkSync("/etc", join(project.reports, "deep"));
  const next = await project.run(suiteOf("node --test", "node-test"));
  assert.deepEqual(next.evidence.counts, { passed: 1, failed: 1, skipped: 0 });
  assert.equal(await project.shell("test -e /workspace/node-reporter.mjs"), 1);
});

test("a report is not believed across runs", async () => {
  await using project = await openProject({ "quiet.sh": "true\n" }, "node-test");
  writeFileSync(
    join(project.reports, "node-1-1.ndjson"),
    '{"file":"a","names":["x"],"outcome":"pass","message":""}\n{"end":true}\n',
  );
  const result = await project.run(suiteOf("sh quiet.sh", "node-test"));
  assert.deepEqual(result.cases, []);
  assert.match(result.mismatch ?? "", /no test report/);
});

test("output is bounded and redacted", async () => {
  await using project = await openProject({
    "loud.sh": "echo hunter2-secret; head -c 3000000 /dev/zero | tr '\\0' 'x'; echo; echo end\n",
  });
  const result = await project.run(suiteOf("sh loud.sh", "unknown"));
  assert.ok(result.output.length <= 8000, String(result.output.length));
  assert.match(result.output, /^\*\*\*\n/);
  assert.match(result.output, /end\s*$/);
});

test("a filter narrows by path, by name, and by picking where the runner cannot be told", async () => {
  await using node = await openProject(
    { "test/other.test.js": 'import {test} from "node:test"; test("else", () => {});\n' },
    "node-test",
  );
  const byName = await node.run(suiteOf("npm test", "node-test"), { filter: "SHARE of" });
  assert.deepEqual(Object.keys(outcomes(byName)), ["test/total.test.js > discount > is a share of the sum"]);
  const byPath = await node.run(suiteOf("node --test", "node-test"), { filter: "test/other.test.js" });
  assert.deepEqual(outcomes(byPath), { "test/other.test.js > else": "pass" });
  await using python = await openProject({}, "unittest");
  const byK = await python.run(suiteOf("python3 -m unittest discover", "unittest"), { filter: "sums" });
  assert.deepEqual(outcomes(byK), { "tests/test_total.py > TotalTest.test_sums_prices": "pass" });
  const quoted = await python.run(suiteOf("python3 -m unittest discover", "unittest"), {
    filter: "x'; touch /workspace/owned; '",
  });
  assert.equal(quoted.evidence.counts.failed, 0);
  assert.equal(await python.shell("test -e owned"), 1);
});
