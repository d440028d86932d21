/** docs/trace.md names every type and every field that is written, and its example is a trace line. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseLine } from "#src/trace/parse-line.ts";
import { SAMPLE, TYPES } from "./sample.ts";

const page = readFileSync("docs/trace.md", "utf8");
/** The table of types ends where that of stops begins. */
const types = page.slice(0, page.indexOf("## How the agent stops"));
const rows = new Map(
  [...types.matchAll(/^\| `(\w+)` \| [^|]+ \| (.+) \|$/gm)].map(([, type = "", data = ""]) => [type, data]),
);

test("every type has a row, and every row is a type", () => {
  assert.deepEqual([...rows.keys()].toSorted(), TYPES.toSorted());
});

test("every field of a payload stands in its row", () => {
  for (const type of TYPES)
    for (const field of Object.keys(SAMPLE[type]))
      assert.ok(rows.get(type)?.includes(`\`${field}\``), `${type}.${field} is missing in docs/trace.md`);
});

test("every field documented is declared in events.ts", () => {
  const source = readFileSync("src/trace/events.ts", "utf8");
  for (const [type, data] of rows) {
    const start = source.indexOf(`\n  readonly ${type}:`) + 1;
    const declared = source.slice(start, source.indexOf("\n  };", start) + 1 || undefined);
    for (const [, field] of data.replaceAll(/\([^()]*\)/g, "").matchAll(/`(\w+)`/g))
      assert.match(declared, new RegExp(`readonly ${field}\\??:`), `${type}.${field} is not in events.ts`);
  }
});

test("the example is a whole line", () => {
  const example = /```json\n(.+)\n```/.exec(page)?.[1] ?? "";
  assert.equal(parseLine(example).kind, "event");
});
