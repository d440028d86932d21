/** The verdict as a table: what is proven, and what only passes. */

import { ran, suiteResult } from "./facts.ts";
import {
  A,
  B,
  checkRows,
  FIX,
  GREEN,
  NEW,
  NEW_GREEN,
  NEW_RED,
  RED,
  TEST_TEXT,
  TIMEOUT,
  WITH_CHANGED,
  WITH_NEW,
} from "./sides.ts";

checkRows([
  ["an existing test failed and passes", "proven", FIX, { baseline: RED, patched: GREEN }],
  [
    "confirmed by reruns of both sides",
    "proven",
    FIX,
    { baseline: RED, baselineAgain: RED, patched: GREEN, patchedAgain: GREEN },
  ],
  [
    "a new test fails on the base and passes",
    "proven",
    WITH_NEW,
    { baseline: GREEN, patched: NEW_GREEN, newTestsOnBase: NEW_RED },
  ],
  [
    "a new test, confirmed by reruns",
    "proven",
    WITH_NEW,
    {
      baseline: GREEN,
      patched: NEW_GREEN,
      patchedAgain: NEW_GREEN,
      newTestsOnBase: NEW_RED,
      newTestsOnBaseAgain: NEW_RED,
    },
  ],
  [
    "an error thrown by the code counts",
    "proven",
    WITH_NEW,
    {
      baseline: GREEN,
      patched: NEW_GREEN,
      newTestsOnBase: ran({ [NEW]: "fail: TypeError: cb is not a function\n    at run (src/a.js:3:1)" }),
    },
  ],
  [
    "G03: an old failure stays, another is fixed",
    "proven",
    FIX,
    { baseline: ran({ [A]: "fail", [B]: "fail" }), patched: ran({ [A]: "pass", [B]: "fail" }) },
  ],
  [
    "the base had no tests, the new one fails on it",
    "proven",
    WITH_NEW,
    {
      baseline: suiteResult({ exitCode: 0 }),
      patched: ran({ [NEW]: "pass" }),
      newTestsOnBase: ran({ [NEW]: "fail" }),
    },
  ],
  [
    "a file loads now and another test is fixed",
    "proven",
    FIX,
    {
      baseline: ran({ [A]: "fail", "test/c.test.js": "fail" }),
      patched: ran({ [A]: "pass", "test/c.test.js > c": "pass" }),
    },
  ],
  [
    "a flaky test beside a real proof",
    "proven",
    FIX,
    {
      baseline: ran({ [A]: "fail", [B]: "pass" }),
      baselineAgain: ran({ [A]: "fail", [B]: "pass" }),
      patched: ran({ [A]: "pass", [B]: "fail" }),
      patchedAgain: ran({ [A]: "pass", [B]: "pass" }),
    },
  ],

  ["nothing changed in the tests", "passing", FIX, { baseline: GREEN, patched: GREEN }],
  [
    "G03: the old failure still fails",
    "passing",
    FIX,
    { baseline: RED, patched: ran({ [A]: "fail", [B]: "pass" }) },
  ],
  [
    "a new test passes on the base too",
    "passing",
    WITH_NEW,
    { baseline: GREEN, patched: NEW_GREEN, newTestsOnBase: NEW_GREEN },
  ],
  [
    "a new test's file does not load on the base",
    "passing",
    WITH_NEW,
    {
      baseline: GREEN,
      patched: NEW_GREEN,
      newTestsOnBase: ran({
        [A]: "pass",
        [B]: "pass",
        "test/new.test.js": "fail: SyntaxError: does not provide an export named x",
      }),
    },
  ],
  [
    "a new test fails on the base for want of a module",
    "passing",
    WITH_NEW,
    {
      baseline: GREEN,
      patched: NEW_GREEN,
      newTestsOnBase: ran({ [NEW]: "fail: Error: Cannot find module '../src/b.js'" }),
    },
  ],
  [
    "a new test fails on the base for want of a name",
    "passing",
    WITH_NEW,
    {
      baseline: GREEN,
      patched: NEW_GREEN,
      newTestsOnBase: ran({ [NEW]: "fail: TypeError: f is not a function\n    at test/new.test.js:3:1" }),
    },
  ],
  [
    "an existing test's file only loads now",
    "passing",
    FIX,
    { baseline: ran({ "test/a.test.js": "fail", [B]: "pass" }), patched: GREEN },
  ],
  [
    "a legitimate change of an expectation",
    "passing",
    WITH_CHANGED,
    { baseline: GREEN, patched: GREEN, originalTests: ran({ [A]: "fail", [B]: "pass" }) },
  ],
  [
    "a changed test although the originals pass",
    "passing",
    WITH_CHANGED,
    { baseline: RED, patched: GREEN, originalTests: GREEN },
  ],
  [
    "a changed workflow beside a proof",
    "passing",
    { ...FIX, ".github/workflows/ci.yml": ["a", "b"] },
    { baseline: RED, patched: GREEN },
  ],
  [
    "a changed snapshot beside a proof",
    "passing",
    { ...FIX, "test/a.snap": ["a", "b"] },
    { baseline: RED, patched: GREEN, originalTests: GREEN },
  ],
  [
    "exit codes alone, red to green",
    "passing",
    FIX,
    { baseline: suiteResult({ exitCode: 1 }), patched: suiteResult({ exitCode: 0 }) },
  ],
  [
    "exit codes alone, green both times",
    "passing",
    FIX,
    { baseline: suiteResult({ exitCode: 0 }), patched: suiteResult({ exitCode: 0 }) },
  ],
  [
    "printed results alone",
    "passing",
    FIX,
    {
      baseline: ran({ [A]: "fail" }, { strength: "text" }),
      patched: ran({ [A]: "pass" }, { strength: "text" }),
    },
  ],
  [
    "G05: the base timed out, the patch passes",
    "passing",
    FIX,
    { baseline: suiteResult({ stopped: "timeout" }), patched: GREEN },
  ],
  ["no base to compare with, all pass", "passing", FIX, { patched: GREEN }],
  [
    "the suite is red for another reason on both sides",
    "passing",
    WITH_NEW,
    {
      baseline: ran({ [A]: "pass" }, { exitCode: 1, mismatch: "exited with 1 although no failing" }),
      patched: ran(
        { [A]: "pass", [NEW]: "pass" },
        { exitCode: 1, mismatch: "exited with 1 although no failing" },
      ),
      newTestsOnBase: ran({ [NEW]: "fail" }),
    },
  ],
  [
    "the original tests timed out",
    "passing",
    { ...FIX, "test/a.test.js": [TEST_TEXT, `${TEST_TEXT}\ntest("n", () => {});`] },
    {
      baseline: GREEN,
      patched: ran({ [A]: "pass", [B]: "pass", "test/a.test.js > n": "pass" }),
      originalTests: TIMEOUT,
      newTestsOnBase: ran({ "test/a.test.js > n": "fail" }),
    },
  ],
]);
