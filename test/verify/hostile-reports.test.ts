/** Reports as hostile input: names that forge lines, ids that must not move between two runs, files cut anywhere. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { RawCase } from "#src/verify/reports/raw-case.ts";
import { parseText } from "#src/verify/reports/text.ts";
import { parseReports, toCases } from "#src/verify/reports.ts";
import type { RunnerKind } from "#src/verify/verify.ts";
import { FULL } from "#test/support/tier.ts";

const RECORDED = join(import.meta.dirname, "../../fixtures/verify/recorded");
const raw = (...names: string[]): RawCase => ({
  file: "/workspace/a.js",
  names,
  outcome: "fail",
  message: "",
});
const idsOf = (cases: readonly RawCase[]) => toCases(cases, "/workspace").map((one) => one.id);

test("a name is one line without control codes, direction marks or addresses, and bounded with a digest", () => {
  const [control, direction, address, long, other, nul] = idsOf([
    raw("\u001b[2J\u001b[31mred\u001b[0m\n::error::x\r\u0007"),
    raw("pays \u202eegdup\u202c"),
    raw("test[<A object at 0x7f3b2c1d0e8f>]"),
    raw("x".repeat(1_000_000)),
    raw(`${"x".repeat(999_999)}y`),
    raw("a\u0000b"),
  ]);
  assert.equal(control, "a.js > red ::error::x \uFFFD");
  assert.equal(direction, "a.js > pays \uFFFDegdup\uFFFD");
  assert.equal(address, "a.js > test[<A object at 0x>]");
  assert.match(long ?? "", /^a\.js > x{300}… \[[0-9a-f]{12}\]$/);
  assert.notEqual(long, other, "two names that differ behind the cut stay two");
  assert.equal(nul, "a.js > a\uFFFDb");
});

test("a message of a megabyte with control codes is a few clean lines", () => {
  const noisy = { ...raw("x"), message: `\u001b[31m${"line\u0000\u202e\n".repeat(100_000)}` };
  const [one] = toCases([noisy], "/workspace");
  assert.ok((one?.message.length ?? 0) <= 800);
  assert.equal(/[\u0000-\u0009\u000b-\u001f\u202e]/.test(one?.message ?? ""), false);
});

test("equal names are numbered in order, and paths are the workspace's own", () => {
  assert.deepEqual(idsOf([raw("a"), raw("a"), raw("a #2"), raw("a")]), [
    "a.js > a",
    "a.js > a #2",
    "a.js > a #2 #2",
    "a.js > a #3",
  ]);
  assert.deepEqual(idsOf([{ ...raw("reads /workspace/data.txt"), file: "file:///workspace/./b.js" }]), [
    "b.js > reads data.txt",
  ]);
});

test("ids are unique and the same for the same report, whatever the names", () => {
  const name = fc.string({ unit: "binary", maxLength: 40 });
  const cases = fc.array(fc.record({ file: name, names: fc.array(name, { maxLength: 3 }) }), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(cases, (made) => {
      const given = made.map((one) => ({ ...one, outcome: "pass" as const, message: "" }));
      const ids = idsOf(given);
      assert.deepEqual(idsOf(given), ids);
      assert.equal(new Set(ids).size, ids.length);
      for (const id of ids) assert.equal(/[\p{Cc}\p{Cs}]/u.test(id), false);
    }),
    { numRuns: FULL ? 10_000 : 500 },
  );
});

const FILES = [
  "tap-21.8.0.tap",
  "ava-6.4.1.tap",
  "junit-surefire-2.22.3.xml",
  "dotnet-hand.trx",
  "jest-30.5.2.json",
] as const;

test("a report cut anywhere is incomplete or has fewer cases, and never throws", () => {
  for (const name of FILES) {
    const text = readFileSync(join(RECORDED, name), "utf8");
    const whole = parseReports([{ name, text }]).cases.length;
    const step = FULL ? 1 : Math.ceil(text.length / 40);
    for (let end = 0; end < text.length - 30; end += step) {
      const cut = parseReports([{ name, text: text.slice(0, end) }]);
      assert.ok(cut.problem !== null || cut.cases.length <= whole, `${name} cut at ${end}`);
    }
  }
});

test("printed text of strangers is read by every reader without an exception", () => {
  const kinds: readonly RunnerKind[] = ["cargo", "go", "ctest", "mix", "make", "unknown", "bats"];
  const line = fc.constantFrom(
    "ok 1 - a",
    "not ok 2 - b",
    "1..2",
    "  ---",
    "  ...",
    "test a ... ok",
    "---- a stdout ----",
    "--- FAIL: A (0.00s)",
    "FAIL\tx\t0.1s",
    "1/2 Test #1: a ....   Passed",
    "A [a.exs]",
    "  * test a (1.0ms) [L#1]",
    "Bail out!",
    "\u0000",
    "    # Subtest: x",
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), fc.constantFrom(...kinds), (lines, kind) => {
      for (const one of parseText(kind, lines.join("\n"), false))
        assert.ok(one.names.length > 0 || one.file !== "");
    }),
    { numRuns: FULL ? 10_000 : 300 },
  );
});

test("a regular expression for printed text does not take long on a line made for it", () => {
  const started = process.cpuUsage().user;
  for (const text of [
    `test ${"a ".repeat(50_000)}`,
    `1/1 Test #1: ${".".repeat(100_000)}`,
    `${" ".repeat(100_000)}--- PASS: `,
    `  * test ${"x (".repeat(30_000)}`,
    `#   Failed test '${"\n#".repeat(30_000)}`,
  ])
    for (const kind of ["cargo", "ctest", "go", "mix", "make"] as const) parseText(kind, text, false);
  assert.ok(process.cpuUsage().user - started < 3_000_000);
});
