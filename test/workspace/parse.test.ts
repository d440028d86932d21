/** The parsers of git's outputs, on the names that break parsers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  decodePath,
  parseBatch,
  parseMoved,
  parseNumstat,
  parsePaths,
  parseRaw,
  parseStats,
  parseTree,
} from "#src/workspace/parse.ts";
import { FULL } from "#test/support/tier.ts";

const A = "a".repeat(40);
const B = "b".repeat(40);

test("raw changes keep names with spaces, quotes, tabs, line ends and UTF-8", () => {
  const names = ["a b", 'q"', "t\tx", "n\nl", "é/ü", ":100644 x"];
  const text = names.map((name) => `:100644 100755 ${A} ${B} M\0${name}\0`).join("");
  assert.deepEqual(
    parseRaw(Buffer.from(text)).map(({ path, oldMode, newMode, status }) => [path, oldMode, newMode, status]),
    names.map((name) => [name, "100644", "100755", "M"]),
  );
});

test("an unknown raw line is an error, not a skipped change", () => {
  assert.throws(() => parseRaw(Buffer.from(`:100644 100644 ${A} ${B} R100\0a\0b\0`)), /unknown change/);
});

test("a name that is not UTF-8 is shown, and marked as not exact", () => {
  assert.deepEqual(decodePath(Buffer.from([0x61, 0xff, 0x0a])), { path: "a\\xff\\x0a", exact: false });
  assert.deepEqual(decodePath(Buffer.from("\ufeffé")), { path: "\ufeffé", exact: true });
});

test("line counts are null for binary files", () => {
  assert.deepEqual(parseNumstat(Buffer.from("1\t20\ta\tb\0-\t-\tpic\0")), [
    { added: 1, removed: 20, path: "a\tb", exact: true },
    { added: null, removed: null, path: "pic", exact: true },
  ]);
});

test("tree entries with and without sizes", () => {
  const text = [
    `100644 blob ${A}      12\ta b`,
    `120000 blob ${B}       3\tl`,
    `160000 commit ${A}       -\ts`,
    `100644 blob ${A}\tx`,
    "",
  ].join("\0");
  assert.deepEqual(
    parseTree(Buffer.from(text)).map(({ mode, type, size, path }) => [mode, type, size, path]),
    [
      ["100644", "blob", 12, "a b"],
      ["120000", "blob", 3, "l"],
      ["160000", "commit", null, "s"],
      ["100644", "blob", null, "x"],
    ],
  );
});

test("stats and moved names", () => {
  assert.deepEqual(parseStats(Buffer.from("81a4 5 a b\0")), [
    { mode: 0o100644, size: 5, path: "a b", exact: true },
  ]);
  assert.deepEqual(parseMoved(Buffer.from("R100\0old\0new\0R075\0x\0y z\0")), [
    { path: "new", exact: true },
    { path: "y z", exact: true },
  ]);
});

test("batches keep binary contents apart, and a missing object is an error", () => {
  const bytes = Buffer.concat([
    Buffer.from(`${A} blob 3\n`),
    Buffer.from([0, 10, 255]),
    Buffer.from(`\n${B} blob 0\n\n`),
  ]);
  assert.deepEqual(
    [...parseBatch(bytes)].map(([id, content]) => [id, Buffer.from(content).toString("hex")]),
    [
      [A, "000aff"],
      [B, ""],
    ],
  );
  assert.throws(() => parseBatch(Buffer.from(`${A} missing\n`)), /no object/);
});

test("every list of UTF-8 names without NUL comes back as it was", () => {
  const name = fc
    .string({ unit: "binary", minLength: 1 })
    .map((text) => text.replaceAll("\0", "").toWellFormed());
  fc.assert(
    fc.property(fc.array(name), (names) => {
      const back = parsePaths(Buffer.from(names.map((entry) => `${entry}\0`).join("")));
      assert.deepEqual(
        back.map(({ path }) => path),
        names,
      );
    }),
    { numRuns: FULL ? 10_000 : 1_000 },
  );
});
