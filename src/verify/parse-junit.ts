/** Reads JUnit XML, the report most runners can write. */

import { XMLParser, XMLValidator } from "fast-xml-parser";
import { z } from "zod";
import type { ParsedReport, RawCase } from "./raw-case.ts";

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const note = z.union([text, z.record(z.string(), z.unknown())]);
const testcase = z.object({
  "@name": text.optional(),
  "@classname": text.optional(),
  "@file": text.optional(),
  failure: z.array(note).optional(),
  error: z.array(note).optional(),
  skipped: z.array(note).optional(),
});

const LISTS = new Set(["testsuite", "testcase", "failure", "error", "skipped"]);

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function messageOf(notes: readonly z.infer<typeof note>[]): string {
  return notes
    .map((one) =>
      typeof one === "string"
        ? one
        : [one["@message"], one["#text"]].filter((part) => part !== undefined).join("\n"),
    )
    .join("\n");
}

/** A class name is a dotted module, then classes; the module part is the file when `file` is given. */
function namesOf(one: z.infer<typeof testcase>): readonly string[] {
  const owner = one["@classname"] ?? "";
  const name = one["@name"] ?? "";
  const file = one["@file"];
  if (file === undefined) return [owner, name].filter((part) => part !== "");
  const module = file.replace(/\.\w+$/, "").replaceAll("/", ".");
  // A file that could not be loaded is reported as a case named after it.
  if (owner === "" && name === module) return [];
  const classes = owner.startsWith(module) ? owner.slice(module.length).split(".") : [owner];
  return [...classes, name].filter((part) => part !== "");
}

function rawCase(value: unknown): RawCase | null {
  const parsed = testcase.safeParse(value);
  if (!parsed.success) return null;
  const one = parsed.data;
  const broken = [...(one.failure ?? []), ...(one.error ?? [])];
  return {
    file: one["@file"] ?? "",
    names: namesOf(one),
    outcome: broken.length > 0 ? "fail" : one.skipped !== undefined ? "skip" : "pass",
    message: messageOf(broken),
  };
}

/** Walks nested suites without recursion: their depth is the report's choice. */
function casesOf(root: unknown): readonly RawCase[] {
  const cases: RawCase[] = [];
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const here = asRecord(waiting.pop());
    for (const name of ["testsuites", "testsuite"]) {
      const below = here[name];
      if (Array.isArray(below)) for (const one of [...below].reverse()) waiting.push(one);
      else if (below !== undefined) waiting.push(below);
    }
    const own = here.testcase;
    if (!Array.isArray(own)) continue;
    for (const one of own) {
      const parsed = rawCase(one);
      if (parsed !== null) cases.push(parsed);
    }
  }
  return cases;
}

/** Truncated or malformed XML is an incomplete report without cases: the caller falls back to the exit code. */
export function parseJunit(xml: string): ParsedReport {
  if (XMLValidator.validate(xml) !== true) return { cases: [], complete: false };
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: "@",
    parseTagValue: false,
    parseAttributeValue: false,
    isArray: (name) => LISTS.has(name),
  });
  let parsed: unknown;
  try {
    parsed = parser.parse(xml);
  } catch {
    // Entity bombs and reserved names are refused by the parser with an exception.
    return { cases: [], complete: false };
  }
  return { cases: casesOf(parsed), complete: true };
}
