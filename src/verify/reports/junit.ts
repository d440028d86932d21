/** Reads JUnit XML, the report most runners can write, in the dialects they write it in. */

import type { ParsedReport, PlaceHint, RawCase } from "./raw-case.ts";
import { attribute, lists, parseXml, record, textOf } from "./xml.ts";

const REPEATED = new Set(["testsuite", "testcase", "failure", "error", "skipped"]);
/** ctest calls a test whose program is not there "notrun"; it failed. */
const CANNOT_RUN = /Unable to find executable|Required Files Missing|Failed test dependencies|Fixture/i;

function noteText(value: unknown): string {
  return [attribute(value, "message"), textOf(value)].filter((part) => part !== "").join("\n");
}

interface Named {
  readonly file: string;
  readonly names: readonly string[];
  readonly hint?: PlaceHint;
}

/** A class name is a dotted module, then classes; the module part is the file when `file` is given. */
function nameInFile(file: string, owner: string, name: string): Named {
  const module = file.replace(/\.\w+$/, "").replaceAll("/", ".");
  // A file that could not be loaded is reported as a case named after it.
  if (owner === "" && name === module) return { file, names: [] };
  const classes = owner.startsWith(module) ? owner.slice(module.length).split(".") : [owner];
  return { file, names: [...classes, name].filter((part) => part !== "") };
}

function nameOf(one: unknown, suite: unknown): Named {
  const owner = attribute(one, "classname") || attribute(one, "class");
  const name = attribute(one, "name");
  const file =
    attribute(one, "file") || (/[/\\]/.test(attribute(suite, "file")) ? attribute(suite, "file") : "");
  if (file !== "") return nameInFile(file, owner, name);
  // bats, deno and bun give the file as the class: bats from the directory it was given, the others from where they start.
  if (/\.bats$/.test(owner)) return { file: "", names: [owner, name], hint: { kind: "path", end: owner } };
  if (/\.[cm]?[jt]sx?$/.test(owner)) return { file: owner, names: [name] };
  if (owner === name || owner === "") return { file: "", names: [name] };
  const hint = { kind: "class" as const, name: owner };
  // JUnit 5 calls a method `sums()`.
  return { file: "", names: [owner, name.replace(/\(\)$/, "")], hint };
}

function rawCase(one: unknown, suite: unknown): RawCase {
  const { failure, error, skipped } = record(one);
  const broken = [...lists(failure), ...lists(error)];
  const note = lists(skipped).map(noteText).join("\n");
  const failed = broken.length > 0 || CANNOT_RUN.test(note);
  const skip = skipped !== undefined || /^(?:disabled|notrun)$/.test(attribute(one, "status"));
  const said = broken.map(noteText).join("\n").trim() || note;
  const printed = textOf(record(one)["system-out"]);
  return {
    ...nameOf(one, suite),
    outcome: failed ? "fail" : skip ? "skip" : "pass",
    message: failed ? (said === "" || said === "Failed" ? printed || said : said) : "",
  };
}

/** Walks nested suites without recursion: their depth is the report's choice. */
function casesOf(root: unknown): readonly RawCase[] {
  const cases: RawCase[] = [];
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const suite = waiting.pop();
    const here = record(suite);
    for (const name of ["testsuites", "testsuite"]) {
      const below = here[name];
      if (Array.isArray(below)) for (const one of [...below].reverse()) waiting.push(one);
      else if (below !== undefined) waiting.push(below);
    }
    for (const one of lists(here.testcase)) cases.push(rawCase(one, suite));
  }
  return cases;
}

/** Truncated or malformed XML is an incomplete report without cases: the caller falls back to the exit code. */
export function parseJunit(xml: string): ParsedReport {
  const parsed = parseXml(xml, REPEATED);
  return parsed === null ? { cases: [], complete: false } : { cases: casesOf(parsed), complete: true };
}
