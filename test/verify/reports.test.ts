/** Report formats: recorded output of real runners, hostile input, and size. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { describeSuite } from "#src/verify/describe.ts";
import { parseJestJson } from "#src/verify/reports/jest-json.ts";
import { parseJunit } from "#src/verify/reports/junit.ts";
import { parseLines } from "#src/verify/reports/lines.ts";
import { parseTap } from "#src/verify/reports/tap.ts";
import { parseReports, toCases } from "#src/verify/reports.ts";
import { caseOf, suiteResult } from "./facts.ts";
import { FIXTURES } from "./project.ts";

const recorded = (name: string) => readFileSync(join(FIXTURES, "recorded", name), "utf8");
const pairs = (raw: Parameters<typeof toCases>[0]) =>
  Object.fromEntries(toCases(raw, "/workspace").map((one) => [one.id, one.outcome]));

test("vitest's JSON report (recorded from vitest 5.1.2)", () => {
  const parsed = parseJestJson(recorded("vitest-5.1.2.json"));
  assert.deepEqual(pairs(parsed.cases), {
    "vi/a.test.js > adds": "pass",
    "vi/a.test.js > bad": "fail",
    "vi/a.test.js > s > deep": "fail",
    "vi/a.test.js > s > sk": "skip",
    "vi/a.test.js > s > td": "skip",
    "vi/b.test.js": "fail",
  });
  assert.match(
    toCases(parsed.cases, "/workspace")[1]?.message ?? "",
    /expected 2 to be 3[\s\S]*vi\/a\.test\.js:3/,
  );
});

test("jest's JSON report (recorded from jest 30.5.2)", () => {
  const parsed = parseJestJson(recorded("jest-30.5.2.json"));
  assert.deepEqual(pairs(parsed.cases), {
    "je/a.spec.cjs > adds": "pass",
    "je/a.spec.cjs > bad": "fail",
    "je/a.spec.cjs > s > deep": "fail",
    "je/a.spec.cjs > s > sk": "skip",
    "je/a.spec.cjs > s > td": "skip",
    "je/b.spec.cjs": "fail",
  });
});

test("pytest's JUnit report (recorded from pytest 9.0.3)", () => {
  const parsed = parseJunit(recorded("junit-pytest-9.0.3.xml"));
  assert.deepEqual(pairs(parsed.cases), {
    "tests/test_b.py": "fail",
    "tests/test_a.py > test_ok": "pass",
    "tests/test_a.py > test_bad": "fail",
    "tests/test_a.py > TestC > test_m": "fail",
    "tests/test_a.py > test_p[1]": "pass",
    "tests/test_a.py > test_p[2]": "fail",
    "tests/test_a.py > test_s": "skip",
    "tests/test_a.py > test_xf": "skip",
    "tests/test_a.py > test_f": "fail",
  });
});

test("a truncated report of any format is incomplete, whole lines still count", () => {
  const xml = recorded("junit-pytest-9.0.3.xml");
  assert.deepEqual(parseJunit(xml.slice(0, xml.length / 2)), { cases: [], complete: false });
  assert.deepEqual(parseJestJson(recorded("jest-30.5.2.json").slice(0, 500)), { cases: [], complete: false });
  const line = JSON.stringify({ file: "a", names: ["x"], outcome: "pass", message: "" });
  assert.equal(parseLines(`{"begin":"node-test"}\n${line}\n{"file":`).complete, false);
  assert.equal(parseLines(`{"begin":"node-test"}\n${line}\n{"file":`).cases.length, 1);
  assert.equal(
    parseLines(`${line}\n{"end":true}\n${line}\n`).complete,
    false,
    "a case after the end is foreign",
  );
});

test("hostile XML and JSON give no cases and no exception", () => {
  const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "${"z".repeat(1000)}">${Array.from({ length: 30 }, (_, i) => `<!ENTITY b${i} "&a;&a;&a;">`).join("")}]><testsuites><testsuite><testcase name="&b1;&b2;"/></testsuite></testsuites>`;
  for (const text of [bomb, "<a", "", "<__proto__><testcase/></__proto__>", "<x>".repeat(20_000)])
    assert.ok(parseJunit(text).cases.length <= 1);
  for (const text of ["null", "[]", '{"testResults":[{"__proto__":{}}]}', '{"testResults":1}'])
    assert.deepEqual(parseJestJson(text), { cases: [], complete: false });
});

test("20,000 cases are read in under a second, as lines and as XML", () => {
  const lines = Array.from({ length: 20_000 }, (_, i) =>
    JSON.stringify({
      file: `/workspace/t${i % 50}.js`,
      names: ["suite", `case ${i}`],
      outcome: "pass",
      message: "",
    }),
  );
  const xml = `<testsuites><testsuite>${Array.from({ length: 20_000 }, (_, i) => `<testcase classname="a.b" name="case ${i}" time="0.1"/>`).join("")}</testsuite></testsuites>`;
  const started = process.cpuUsage();
  const read = parseReports([{ name: "node-1-1.ndjson", text: `${lines.join("\n")}\n{"end":true}\n` }]);
  assert.equal(toCases(read.cases, "/workspace").length, 20_000);
  const half = process.cpuUsage(started).user;
  assert.equal(parseJunit(xml).cases.length, 20_000);
  const both = process.cpuUsage(started).user;
  assert.ok(half < 1_000_000, `lines took ${half} µs`);
  assert.ok(both - half < 2_000_000, `XML took ${both - half} µs`);
});

test("TAP: nested tests, skip and todo; other text is no TAP", () => {
  const cases = parseTap(
    "TAP version 14\n# Subtest: outer\n    ok 1 - inner\n    not ok 2 - bad\n    1..2\nnot ok 1 - outer\nok 2 - later # SKIP no db\nnot ok 3 - known # TODO\n1..3\n",
  );
  assert.deepEqual(pairs(cases), {
    "outer > inner": "pass",
    "outer > bad": "fail",
    "suite > outer": "fail",
    "suite > later": "skip",
    "suite > known": "skip",
  });
  assert.deepEqual(parseTap("ok then\nall fine\n"), []);
});

test("the summary for the model names counts, failures with their messages, and stays within 6,000 characters", () => {
  const many = Array.from({ length: 300 }, (_, i) =>
    caseOf(`a.test.js > case ${i}`, "fail", `AssertionError: ${"x".repeat(200)}\n${"more\n".repeat(20)}`),
  );
  const text = describeSuite(suiteResult({ cases: many, exitCode: 1 }));
  assert.ok(text.length <= 6000);
  assert.match(text, /0 passed, 300 failed/);
  assert.match(text, /more failing tests\]$/);
  const timeout = describeSuite(suiteResult({ cases: [], stopped: "timeout", output: "waiting" }));
  assert.match(timeout, /did not end[\s\S]*Last output:\nwaiting/);
  assert.doesNotMatch(
    describeSuite(suiteResult({ cases: [caseOf("a > b", "pass")], output: "pages of log" })),
    /pages of log/,
  );
});
