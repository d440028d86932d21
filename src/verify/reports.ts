/** Turns report files of every format into test cases with stable ids. */

import { parseJestJson } from "./parse-jest-json.ts";
import { parseJunit } from "./parse-junit.ts";
import { parseLines } from "./parse-lines.ts";
import type { ParsedReport, RawCase } from "./raw-case.ts";
import type { ReportFile } from "./report-files.ts";
import type { TestCase } from "./verify.ts";

/** By the end of the file's name. */
const FORMATS: readonly (readonly [suffix: string, parse: (text: string) => ParsedReport])[] = [
  [".ndjson", parseLines],
  [".json", parseJestJson],
  [".xml", parseJunit],
];

export const NAME_SEPARATOR = " > ";
const MESSAGE_LINES = 12;
const MESSAGE_CHARACTERS = 800;

function fromRoot(file: string, root: string): string {
  const path = file.replace(/^file:\/\//, "");
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path.replace(/^\.\//, "");
}

function shortMessage(message: string, root: string): string {
  const lines = message
    .replaceAll(`${root}/`, "")
    .split("\n")
    .map((line) => line.trimEnd());
  return lines.slice(0, MESSAGE_LINES).join("\n").trim().slice(0, MESSAGE_CHARACTERS);
}

function idOf(raw: RawCase, root: string): string {
  const names = raw.names.map((name) => name.replace(/\s+/g, " ").trim());
  return [fromRoot(raw.file, root), ...names].filter((part) => part !== "").join(NAME_SEPARATOR);
}

/** `root` is the workspace's path as the tests saw it. Cases that share an id are told apart by ` #2`, in order. */
export function toCases(raw: readonly RawCase[], root: string): readonly TestCase[] {
  const seen = new Map<string, number>();
  return raw.map((one) => {
    const id = idOf(one, root);
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    return {
      id: count === 1 ? id : `${id} #${count}`,
      outcome: one.outcome,
      message: one.outcome === "fail" ? shortMessage(one.message, root) : "",
    };
  });
}

/** All files of one run together; `problem` names a file that is not what its name says, or is incomplete. */
export function parseReports(files: readonly ReportFile[]): {
  readonly cases: readonly RawCase[];
  readonly problem: string | null;
} {
  const cases: RawCase[] = [];
  let problem: string | null = null;
  for (const file of files) {
    const parse = FORMATS.find(([suffix]) => file.name.endsWith(suffix))?.[1];
    if (parse === undefined) continue;
    const parsed = parse(file.text);
    for (const one of parsed.cases) cases.push(one);
    if (!parsed.complete) problem ??= "the test report stops before its end";
  }
  return { cases, problem };
}

/** The file of a case id; the whole id when it names a file alone. */
export function fileOfId(id: string): string {
  const cut = id.indexOf(NAME_SEPARATOR);
  return cut < 0 ? id : id.slice(0, cut);
}

/** True when the id names a file as a whole: one that could not be loaded, or that has no tests of its own. */
export function isWholeFile(id: string): boolean {
  return !id.includes(NAME_SEPARATOR);
}
