/** Turns report files of every format into test cases with stable ids. */

import { createHash } from "node:crypto";
import { posix } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { headOf } from "#src/base/cut-text.ts";
import { parseGoTest } from "./reports/go-test.ts";
import { parseJestJson } from "./reports/jest-json.ts";
import { parseJunit } from "./reports/junit.ts";
import { parseLibtest } from "./reports/libtest.ts";
import { parseLines } from "./reports/lines.ts";
import type { Place } from "./reports/places.ts";
import { placeFinder } from "./reports/places.ts";
import type { ParsedReport, RawCase } from "./reports/raw-case.ts";
import type { ReportFile } from "./reports/report-files.ts";
import { parseTapReport } from "./reports/tap.ts";
import { parseTrx } from "./reports/trx.ts";
import type { TestCase } from "./verify.ts";

/** By the end of the file's name. */
const FORMATS: readonly (readonly [suffix: string, parse: (text: string) => ParsedReport])[] = [
  [".ndjson", parseLines],
  [".json", parseJestJson],
  [".xml", parseJunit],
  [".tap", parseTapReport],
  [".libtest", parseLibtest],
  [".gotest", parseGoTest],
  [".trx", parseTrx],
];

export const NAME_SEPARATOR = " > ";
const MESSAGE_LINES = 12;
const MESSAGE_CHARACTERS = 800;

const NAME_CHARACTERS = 300;

function fromRoot(file: string, root: string): string {
  const path = file === "" ? "" : posix.normalize(file.replace(/^file:\/\//, ""));
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
}

/** A runner prefixes names by the workspace's path where they come from the command line. */
function shortMessage(message: string, root: string): string {
  const lines = stripVTControlCharacters(message.slice(0, 20 * MESSAGE_CHARACTERS))
    .replaceAll(`${root}/`, "")
    .split("\n")
    .map((line) => line.replaceAll(CONTROL, "").trimEnd());
  return lines.slice(0, MESSAGE_LINES).join("\n").trim().slice(0, MESSAGE_CHARACTERS);
}

/** Control, direction and unpaired surrogate characters: they forge lines, or make one text look like another. */
const CONTROL = /[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;
/** An address of an object differs from run to run although the test is the same. */
const ADDRESS = /\b0x[0-9a-f]{6,16}\b/gi;

/** One name as part of an id: one line, bounded by its head and a digest of the whole. */
function cleanName(name: string, root: string): string {
  const line = stripVTControlCharacters(name.length > 4096 ? name.slice(0, 4096) : name)
    .replaceAll(`${root}/`, "")
    .replace(/\s+/g, " ")
    .replace(CONTROL, "\uFFFD")
    .replace(ADDRESS, "0x")
    .trim();
  if (line.length <= NAME_CHARACTERS && name.length <= 4096) return line;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 12);
  return `${headOf(line, NAME_CHARACTERS)}… [${digest}]`;
}

/** A name by itself would read as a whole file: a case without a file stands below the group. */
function idOf(file: string, names: readonly string[], root: string, group: string): string {
  const parts = [cleanName(fromRoot(file, root), root), ...names.map((name) => cleanName(name, root))];
  const said = parts.filter((part) => part !== "");
  return (file === "" && said.length === 1 ? [group, ...said] : said).join(NAME_SEPARATOR);
}

/** What a set of raw cases came from. */
export interface Origin {
  /** Files of the workspace, for reports that name none. */
  readonly places: readonly Place[];
  /** Stands in an id where a case has neither a file nor a group of its own: the runner's name. */
  readonly group: string;
}

const NOWHERE: Origin = { places: [], group: "suite" };

type Locate = ReturnType<typeof placeFinder>;

/** File and names of a case: where a file is found for the class or crate that a report names, the rest of that name stays. */
function placed(raw: RawCase, locate: Locate): { readonly file: string; readonly names: readonly string[] } {
  const { hint } = raw;
  const file = raw.file === "" && hint !== undefined ? locate(hint) : null;
  if (file === null || hint === undefined) return raw;
  if (hint.kind !== "class") return { file, names: raw.names.slice(1) };
  return { file, names: [...hint.name.split("$").slice(1), ...raw.names.slice(1)] };
}

/**
 * `root` is the workspace's path as the tests saw it. Cases that share an id are told apart by ` #2`, in order. Names come from hostile hands: they are made one line, without control characters, and bounded.
 */
export function toCases(
  raw: readonly RawCase[],
  root: string,
  origin: Origin = NOWHERE,
): readonly TestCase[] {
  const unique = numbering();
  const locate = placeFinder(origin.places);
  return raw.map((one) => {
    const { file, names } = placed(one, locate);
    return {
      id: unique(idOf(file, names, root, origin.group)),
      outcome: one.outcome,
      message: one.outcome === "fail" ? shortMessage(one.message, root) : "",
      ...(one.fromText === true ? { fromText: one.fromText } : {}),
    };
  });
}

/** Gives equal ids a number in their order; a test whose own name ends like a number is not taken for another. */
function numbering(): (id: string) => string {
  const counts = new Map<string, number>();
  const taken = new Set<string>();
  return (id) => {
    let count = (counts.get(id) ?? 0) + 1;
    let own = count === 1 ? id : `${id} #${count}`;
    while (taken.has(own)) own = `${id} #${++count}`;
    counts.set(id, count);
    taken.add(own);
    return own;
  };
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
