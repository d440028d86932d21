/** Report formats of runners that are too large to install here, or not to be had: recorded output, named by its version. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseReports, toCases } from "#src/verify/reports.ts";

const RECORDED = join(import.meta.dirname, "../../fixtures/verify/recorded");

const PLACES = ["core/src/test/java/shop/AreaTest.java", "src/shop/Area.java", "Shop.Tests/AreaTest.cs"].map(
  (path) => ({
    path,
    test: null,
  }),
);

function read(
  name: string,
  place = "",
): { readonly pairs: Readonly<Record<string, string>>; readonly complete: boolean } {
  const text = readFileSync(join(RECORDED, name), "utf8");
  const parsed = parseReports([{ name, text }]);
  const cases = toCases(parsed.cases, "/workspace", {
    places: PLACES.filter(({ path }) => path.endsWith(place)),
    group: "suite",
  });
  return {
    pairs: Object.fromEntries(cases.map((one) => [one.id, one.outcome])),
    complete: parsed.problem === null,
  };
}

test("tap 21.8.0: files outermost, groups only where nothing below them failed", () => {
  const { pairs, complete } = read("tap-21.8.0.tap");
  assert.deepEqual(pairs, {
    "test/a.test.js > area > zero": "pass",
    "test/a.test.js > area > deep > 2x3": "fail",
    "test/a.test.js > later": "skip",
    "test/a.test.js > bare": "pass",
    "test/b.test.js > fine > yes": "pass",
    "test/c.test.js": "fail",
  });
  assert.equal(complete, true);
});

test("ava 6.4.1: files by the workers it started, forged lines of a test left out", () => {
  const { pairs, complete } = read("ava-6.4.1.tap");
  assert.deepEqual(pairs, {
    "lib/b.test.js > b › x": "pass",
    "test/a.js > later": "skip",
    "test/a.js > some day": "skip",
    "test/a.js > zero": "pass",
    "test/a.js > 2x3": "fail",
    "suite > Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'lib/none.js' imported from lib/c.test.js":
      "fail",
    "lib/c.test.js": "fail",
  });
  assert.equal(complete, true);
});

test("Maven's surefire 2.22.3: a class is led back to its file, an error counts as a failure", () => {
  const { pairs, complete } = read("junit-surefire-2.22.3.xml", ".java");
  assert.deepEqual(pairs, {
    "core/src/test/java/shop/AreaTest.java > breaks": "fail",
    "core/src/test/java/shop/AreaTest.java > later": "skip",
    "core/src/test/java/shop/AreaTest.java > ofTwoByThree": "fail",
    "core/src/test/java/shop/AreaTest.java > zero": "pass",
  });
  assert.equal(complete, true);
});

test("Gradle (by hand): nested classes keep their name, output that looks like a case is none", () => {
  const { pairs } = read("junit-hand-gradle.xml", ".java");
  assert.deepEqual(pairs, {
    "core/src/test/java/shop/AreaTest.java > zero": "pass",
    "core/src/test/java/shop/AreaTest.java > Sides > [1] 2, 3": "fail",
    "core/src/test/java/shop/AreaTest.java > Sides > [2] 0, 0": "pass",
    "core/src/test/java/shop/AreaTest.java > later": "skip",
  });
});

test("Gradle (by hand): two modules with a class of one name leave the file open", () => {
  const text = readFileSync(join(RECORDED, "junit-hand-gradle.xml"), "utf8");
  const places = ["a", "b"].map((module) => ({
    path: `${module}/src/test/java/shop/AreaTest.java`,
    test: null,
  }));
  const [first] = toCases(parseReports([{ name: "x.xml", text }]).cases, "/workspace", {
    places,
    group: "gradle",
  });
  assert.equal(first?.id, "shop.AreaTest > zero");
});

test("dotnet's TRX (by hand): parameters stay in the name, what was not executed is skipped", () => {
  const { pairs, complete } = read("dotnet-hand.trx", ".cs");
  assert.deepEqual(pairs, {
    "Shop.Tests/AreaTest.cs > Zero": "pass",
    "Shop.Tests/AreaTest.cs > Perimeter(a: 2, b: 3)": "fail",
    "Shop.Tests/AreaTest.cs > Later": "skip",
  });
  assert.equal(complete, true);
});

test("deno (by hand): the class is the file", () => {
  assert.deepEqual(read("junit-hand-deno.xml").pairs, {
    "area_test.ts > zero": "pass",
    "area_test.ts > 2x3": "fail",
    "area_test.ts > later": "skip",
  });
});
