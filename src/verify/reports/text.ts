/** Chooses the reader for what a suite printed: weaker evidence than a report, since the tested code prints there too. */

import { stripVTControlCharacters } from "node:util";
import type { RunnerKind } from "../verify.ts";
import { parseCtestText } from "./ctest-text.ts";
import { parseGoText } from "./go-test.ts";
import { doctestsOf, parseLibtestText } from "./libtest.ts";
import { parseMixTrace } from "./mix-trace.ts";
import type { RawCase } from "./raw-case.ts";
import { parseTap } from "./tap.ts";

type Reader = (output: string) => readonly RawCase[];

/** A text is read by the first that finds something in it; wrappers may have started any of them. */
const READERS: readonly Reader[] = [parseTap, parseLibtestText, parseCtestText, parseGoText];
const OWN: Partial<Record<RunnerKind, readonly Reader[]>> = {
  cargo: [parseLibtestText],
  go: [parseGoText],
  ctest: [parseCtestText],
  mix: [parseMixTrace],
};

/** `reported`: the run left a report, which the text only completes. Empty when no result per test is printed. */
export function parseText(kind: RunnerKind, printed: string, reported: boolean): readonly RawCase[] {
  const output = stripVTControlCharacters(printed).replaceAll(/\r\n?/g, "\n");
  if (reported) return kind === "cargo" || kind === "make" || kind === "unknown" ? doctestsOf(output) : [];
  for (const read of OWN[kind] ?? READERS) {
    const cases = read(output);
    if (cases.length > 0) return cases;
  }
  return [];
}

const FAILED =
  /^#\s+Failed (?:\(TODO\) )?test (?:'([^\n]*)'\n#\s+)?(?:at|in) (\S+) (?:line|at line) (\d+)\.?\n((?:#[^\n]*\n?)*)/gm;

/** What Perl's Test::More prints on stderr for failed tests, by file and description: the report itself has no words for it. */
export function testMoreMessages(stderr: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, name = "", file = "", line = "", rest = ""] of stderr.matchAll(FAILED)) {
    const key = `${file} ${name.replace(/\s+/g, " ")}`;
    const more = rest
      .split("\n")
      .map((one) => one.replace(/^#\s?/, "").trimEnd())
      .filter((one) => one !== "" && !/^\s*Looks like /.test(one) && !/^\s*Failed test /.test(one));
    found.set(key, [`Failed test '${name}'`, ...more, `    at ${file}:${line}`].join("\n"));
  }
  return found;
}
