/** A suite of 20,000 tests: reading the reports of two runs and comparing them, by format, and the memory that stays. */

import { compare } from "#src/verify/compare.ts";
import type { ReportFile } from "#src/verify/reports/report-files.ts";
import { parseReports, toCases } from "#src/verify/reports.ts";
import type { SuiteResult } from "#src/verify/verify.ts";
import { type Row, timed } from "./row.ts";

const TESTS = 20_000;
const FILES = 400;
const RUNS = 5;
const MEMORY_RUNS = 12;
const MB = 1024 * 1024;

interface Made {
  readonly file: string;
  readonly name: string;
  readonly failed: boolean;
}

/** `broken` tests fail; two runs differ by it. */
function made(broken: number): readonly Made[] {
  return Array.from({ length: TESTS }, (_, at) => ({
    file: `packages/p${at % 20}/test/unit/file-${at % FILES}.test.js`,
    name: `does what number ${at} of the list asks for`,
    failed: at % Math.floor(TESTS / broken) === 0,
  }));
}

const MESSAGE = "AssertionError: expected 5 to be 10\n    at /workspace/test/a.test.js:3:4";

const FORMATS: Readonly<Record<string, (tests: readonly Made[]) => ReportFile>> = {
  "JSON lines": (tests) => ({
    name: "node-1-1.ndjson",
    text: `{"begin":"node-test"}\n${tests
      .map(({ file, name, failed }) =>
        JSON.stringify({
          file: `/workspace/${file}`,
          names: ["suite", name],
          outcome: failed ? "fail" : "pass",
          message: failed ? MESSAGE : "",
        }),
      )
      .join("\n")}\n{"end":true}\n`,
  }),
  "jest's JSON": (tests) => ({
    name: "jest-1-1.json",
    text: JSON.stringify({
      testResults: tests.map(({ file, name, failed }) => ({
        name: `/workspace/${file}`,
        status: failed ? "failed" : "passed",
        assertionResults: [
          {
            ancestorTitles: ["suite"],
            title: name,
            status: failed ? "failed" : "passed",
            failureMessages: failed ? [MESSAGE] : [],
          },
        ],
      })),
    }),
  }),
  "JUnit XML": (tests) => ({
    name: "junit-1.xml",
    text: `<?xml version="1.0"?><testsuites><testsuite name="all">${tests
      .map(
        ({ file, name, failed }) =>
          `<testcase file="${file}" classname="suite" name="${name}" time="0.001">${failed ? `<failure message="no">${MESSAGE}</failure>` : ""}</testcase>`,
      )
      .join("\n")}</testsuite></testsuites>`,
  }),
  "go test -json": (tests) => ({
    name: "go-1-1.gotest",
    text: tests
      .flatMap(({ file, name, failed }) => {
        const id = { Package: `x/${file}`, Test: name };
        return [
          { Action: "run", ...id },
          { Action: "output", ...id, Output: failed ? `${MESSAGE}\n` : "=== RUN\n" },
          { Action: failed ? "fail" : "pass", ...id, Elapsed: 0 },
        ].map((event) => JSON.stringify(event));
      })
      .join("\n"),
  }),
  TAP: (tests) => ({
    name: "tap-1-1.tap",
    text: `TAP version 14\n${tests
      .map(({ name, failed }, at) => `${failed ? "not ok" : "ok"} ${at + 1} - ${name}`)
      .join("\n")}\n1..${tests.length}\n`,
  }),
};

function resultOf(file: ReportFile): SuiteResult {
  const parsed = parseReports([file]);
  const cases = toCases(parsed.cases, "/workspace");
  if (cases.length !== TESTS) throw new Error(`${file.name}: ${cases.length} of ${TESTS} cases were read`);
  return {
    evidence: {
      label: "patched",
      command: "npm test",
      directory: ".",
      exitCode: 1,
      stopped: null,
      counts: { passed: 0, failed: 0, skipped: 0 },
      strength: "report",
      reportSha256: null,
      durationMs: 0,
    },
    strength: "report",
    cases,
    output: "",
    mismatch: null,
  };
}

function readAndCompare(before: ReportFile, after: ReportFile): number {
  const base = { first: resultOf(before), again: null };
  const patched = { first: resultOf(after), again: null };
  return compare(base, patched).fixed.length;
}

/** The heap after a collection, where one can be asked for; else as it stands. */
function heap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / MB;
}

export async function reportsBench(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const [format, write] of Object.entries(FORMATS)) {
    const before = write(made(100));
    const after = write(made(50));
    const values: number[] = [];
    for (let run = 0; run < RUNS; run++) values.push(await timed(() => readAndCompare(before, after)));
    const settled = heap();
    for (let run = 0; run < MEMORY_RUNS; run++) readAndCompare(before, after);
    const grown = heap() - settled;
    rows.push({
      name: `reports of 20,000 tests, ${format}`,
      what: "reading two reports and comparing them",
      unit: "ms",
      values,
      target: 1000,
      note: `${((before.text.length + after.text.length) / MB).toFixed(1)} MB of reports; the heap moved by ${grown.toFixed(1)} MB over ${MEMORY_RUNS} further rounds`,
    });
  }
  return rows;
}
