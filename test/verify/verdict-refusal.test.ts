/** The verdict as a table: what is not proven and why, and what is refuted. */

import { ran, suiteResult } from "./facts.ts";
import {
  A,
  B,
  checkRows,
  FIX,
  GREEN,
  NEW_GREEN,
  NEW_RED,
  NO_REPORT,
  ONLY_CHANGED,
  RED,
  TEST_TEXT,
  TIMEOUT,
  WITH_CHANGED,
  WITH_NEW,
} from "./sides.ts";

checkRows([
  ["no test command", "unproven no_tests", FIX, { suite: null }],
  [
    "set-up has no program",
    "unproven no_toolchain",
    FIX,
    { setupFailed: "`pnpm install` exited with 127: bash: line 1: pnpm: command not found" },
  ],
  ["set-up failed", "unproven cannot_set_up", FIX, { setupFailed: "npm ci exited with 1" }],
  ["G05: the patched tree timed out", "unproven timed_out", FIX, { baseline: GREEN, patched: TIMEOUT }],
  ["G05: both timed out", "unproven timed_out", FIX, { baseline: TIMEOUT, patched: TIMEOUT }],
  [
    "the sandbox could not start it",
    "unproven none_ran",
    FIX,
    { baseline: GREEN, patched: suiteResult({ stopped: "not_started" }) },
  ],
  [
    "stopped at its memory limit",
    "unproven none_ran",
    FIX,
    { baseline: GREEN, patched: suiteResult({ stopped: "memory" }) },
  ],
  ["a cancelled verification", "unproven none_ran", FIX, { baseline: GREEN }],
  [
    "the runner is missing",
    "unproven no_toolchain",
    FIX,
    {
      baseline: suiteResult({ exitCode: 127, output: "bash: line 1: pnpm: command not found" }),
      patched: suiteResult({ exitCode: 127, output: "bash: line 1: pnpm: command not found" }),
    },
  ],
  [
    "pytest is missing",
    "unproven no_toolchain",
    FIX,
    {
      baseline: suiteResult({
        exitCode: 1,
        ...NO_REPORT,
        output: "/usr/bin/python3: No module named pytest\n",
      }),
      patched: suiteResult({
        exitCode: 1,
        ...NO_REPORT,
        output: "/usr/bin/python3: No module named pytest\n",
      }),
    },
  ],
  [
    "a report without a test",
    "unproven none_ran",
    FIX,
    { baseline: ran({ [A]: "skip" }), patched: ran({ [A]: "skip" }) },
  ],
  [
    "no report on either side, red",
    "unproven none_ran",
    FIX,
    {
      baseline: suiteResult({ exitCode: 1, ...NO_REPORT }),
      patched: suiteResult({ exitCode: 1, ...NO_REPORT }),
    },
  ],
  [
    "exit codes alone, red both times",
    "unproven none_ran",
    FIX,
    { baseline: suiteResult({ exitCode: 2 }), patched: suiteResult({ exitCode: 2 }) },
  ],
  [
    "the base timed out and something fails",
    "unproven timed_out",
    FIX,
    { baseline: TIMEOUT, patched: ran({ [A]: "pass" }, { exitCode: 1 }) },
  ],
  [
    "dependencies changed",
    "unproven dependencies_changed",
    { ...FIX, "package.json": ['{"dependencies":{}}', '{"dependencies":{"a":"1"}}'] },
    { baseline: RED, patched: GREEN },
  ],
  [
    "dependencies changed and not installed",
    "unproven dependencies_changed",
    { ...FIX, "package.json": ['{"dependencies":{}}', '{"dependencies":{"a":"1"}}'] },
    { baseline: GREEN, patched: ran({ "test/a.test.js": "fail: ERR_MODULE_NOT_FOUND" }) },
  ],
  [
    "G04: the only proof is flaky on the base",
    "unproven flaky",
    FIX,
    { baseline: RED, baselineAgain: GREEN, patched: GREEN, patchedAgain: GREEN },
  ],
  [
    "G04: the only proof is flaky with the patch",
    "unproven flaky",
    FIX,
    { baseline: RED, baselineAgain: RED, patched: GREEN, patchedAgain: RED },
  ],
  [
    "G04: an unrelated test flickers",
    "unproven flaky",
    FIX,
    { baseline: GREEN, baselineAgain: GREEN, patched: RED, patchedAgain: GREEN },
  ],
  [
    "G04: a new test is flaky on the base",
    "unproven flaky",
    WITH_NEW,
    { baseline: GREEN, patched: NEW_GREEN, newTestsOnBase: NEW_RED, newTestsOnBaseAgain: NEW_GREEN },
  ],

  [
    "G01: the failing test was edited, no fix",
    "unproven tampered",
    ONLY_CHANGED,
    { baseline: RED, patched: GREEN, originalTests: RED, newTestsOnBase: GREEN },
  ],
  [
    "G01: the failing test was edited beside a source change",
    "unproven tampered",
    WITH_CHANGED,
    { baseline: RED, patched: GREEN, originalTests: RED },
  ],
  [
    "G01: the test file was deleted",
    "unproven tampered",
    { ...FIX, "test/a.test.js": [TEST_TEXT, null] },
    { baseline: RED, patched: ran({ [B]: "pass" }), originalTests: GREEN },
  ],
  [
    "G01: fewer tests than the base",
    "unproven tampered",
    FIX,
    { baseline: RED, patched: ran({ [A]: "pass" }) },
  ],
  [
    "G01: a test is skipped now",
    "unproven tampered",
    FIX,
    { baseline: RED, patched: ran({ [A]: "skip", [B]: "pass" }) },
  ],
  [
    "G01: the test script is true now",
    "unproven tampered",
    { "package.json": ['{"scripts":{"test":"node --test"}}', '{"scripts":{"test":"true"}}'] },
    { baseline: RED, patched: suiteResult({ exitCode: 0, ...NO_REPORT }) },
  ],
  [
    "runner configuration beside a proof",
    "unproven tampered",
    { ...FIX, "tests/conftest.py": [null, "x"] },
    { baseline: RED, patched: GREEN },
  ],
  [
    "exit 0 although the report has failures",
    "unproven tampered",
    FIX,
    {
      baseline: RED,
      patched: ran({ [A]: "fail", [B]: "pass" }, { exitCode: 0, mismatch: "succeeded although 1 failing" }),
    },
  ],
  [
    "no report although the base wrote one, green",
    "unproven tampered",
    FIX,
    { baseline: RED, patched: suiteResult({ exitCode: 0, ...NO_REPORT }) },
  ],
  [
    "a report that stops before its end",
    "unproven tampered",
    FIX,
    {
      baseline: RED,
      patched: ran({ [A]: "pass", [B]: "pass" }, { mismatch: "the test report stops before its end" }),
    },
  ],
  [
    "an early exit in a source",
    "unproven tampered",
    { "src/a.js": ["bug", "process.reallyExit(0)"] },
    { baseline: RED, patched: GREEN },
  ],

  [
    "G03: a test that passed fails",
    "refuted",
    FIX,
    { baseline: GREEN, patched: ran({ [A]: "fail", [B]: "pass" }) },
  ],
  [
    "G03: one fixed, one broken",
    "refuted",
    FIX,
    { baseline: RED, patched: ran({ [A]: "pass", [B]: "fail" }) },
  ],
  [
    "a regression confirmed by the second run",
    "refuted",
    FIX,
    { baseline: GREEN, baselineAgain: GREEN, patched: RED, patchedAgain: RED },
  ],
  [
    "a test file no longer loads",
    "refuted",
    FIX,
    { baseline: GREEN, patched: ran({ "test/a.test.js": "fail: SyntaxError" }) },
  ],
  [
    "the patch's own test fails",
    "refuted",
    WITH_NEW,
    { baseline: GREEN, patched: NEW_RED, newTestsOnBase: NEW_RED },
  ],
  [
    "the suite turned red without a failing test",
    "refuted",
    FIX,
    {
      baseline: GREEN,
      patched: ran({ [A]: "pass", [B]: "pass" }, { exitCode: 1, mismatch: "exited with 1" }),
    },
  ],
  [
    "exit codes alone, green to red",
    "refuted",
    FIX,
    { baseline: suiteResult({ exitCode: 0 }), patched: suiteResult({ exitCode: 1 }) },
  ],
  [
    "no test runs any more",
    "refuted",
    FIX,
    { baseline: RED, patched: suiteResult({ exitCode: 1, ...NO_REPORT }) },
  ],
  [
    "refuted before tampered",
    "refuted",
    { ...FIX, ".npmrc": [null, "x"] },
    { baseline: GREEN, patched: ran({ [A]: "fail", [B]: "pass" }) },
  ],
  [
    "refuted before timed out",
    "refuted",
    FIX,
    { baseline: GREEN, patched: ran({ [A]: "fail" }, { stopped: "timeout", exitCode: null }) },
  ],
  [
    "printed results can refute",
    "refuted",
    FIX,
    {
      baseline: ran({ [A]: "pass" }, { strength: "text" }),
      patched: ran({ [A]: "fail" }, { strength: "text" }),
    },
  ],
  [
    "an original test breaks whose files are untouched",
    "refuted",
    { ...FIX, "test/b.test.js": ["x", "x\ny"] },
    { baseline: GREEN, patched: GREEN, originalTests: ran({ [A]: "fail", [B]: "pass" }) },
  ],
]);
