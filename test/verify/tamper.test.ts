/** The tamper report over texts: what counts as tampering, and what does not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FULL } from "#test/support/tier.ts";
import { kinds, report } from "./facts.ts";

const JS = `import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { add } from "../src/add.js";

const cases = [1, 2];

test("adds", () => {
  assert.equal(add(1, 2), 3);
  assert.equal(add(0, 0), 0);
});

describe("group", () => {
  it("negative", () => {
    assert.equal(add(-1, 1), 0);
  });
});
`;

const PY = `import unittest
from shop.total import total


class TotalTest(unittest.TestCase):
    def setUp(self):
        self.items = [(2, 3)]

    def test_sum(self):
        self.assertEqual(total(self.items), 6)
        self.assertEqual(total([]), 0)

    def test_discount(self):
        self.assertEqual(total(self.items, 0.5), 3)
`;

/** Name, path, before, after, kinds found. */
const CASES: readonly (readonly [string, string, string | null, string | null, readonly string[]])[] = [
  ["a test appended", "test/a.test.js", JS, `${JS}\ntest("more", () => { assert.ok(true); });\n`, []],
  [
    "a test added inside a group",
    "test/a.test.js",
    JS,
    JS.replace('  it("neg', '  it("zero", () => {\n    assert.equal(add(0, 0), 0);\n  });\n\n  it("neg'),
    [],
  ],
  ["a named import extended for it", "test/a.test.js", JS, JS.replace("{ add }", "{ add, sub }"), []],
  [
    "an assertion added to a test",
    "test/a.test.js",
    JS,
    JS.replace("  assert.equal(add(0", "  assert.equal(add(5, 5), 10);\n  assert.equal(add(0"),
    [],
  ],
  [
    "a comment and a helper added",
    "test/a.test.js",
    JS,
    JS.replace("const cases", "// helper\nconst more = 3;\nconst cases"),
    [],
  ],
  ["re-indented only", "test/a.test.js", JS, JS.replaceAll("  assert", "      assert"), []],
  [
    "an expectation changed",
    "test/a.test.js",
    JS,
    JS.replace("add(1, 2), 3", "add(1, 2), -1"),
    ["expectation_changed"],
  ],
  [
    "an assertion removed",
    "test/a.test.js",
    JS,
    JS.replace("  assert.equal(add(0, 0), 0);\n", ""),
    ["assertion_loosened"],
  ],
  [
    "an assertion commented out",
    "test/a.test.js",
    JS,
    JS.replace("  assert.equal(add(0", "  // assert.equal(add(0"),
    ["assertion_loosened"],
  ],
  [
    "an early return",
    "test/a.test.js",
    JS,
    JS.replace("  assert.equal(add(1", "  return;\n  assert.equal(add(1"),
    ["assertion_loosened"],
  ],
  ["a test deleted", "test/a.test.js", JS, JS.replace(/\ndescribe\([\s\S]*/, ""), ["test_deleted"]],
  ["a test renamed", "test/a.test.js", JS, JS.replace('"adds"', '"adds up"'), ["test_deleted"]],
  ["the file deleted", "test/a.test.js", JS, null, ["test_deleted"]],
  [".skip", "test/a.test.js", JS, JS.replace('test("adds"', 'test.skip("adds"'), ["test_skipped"]],
  [
    "the skip option",
    "test/a.test.js",
    JS,
    JS.replace('test("adds", ', 'test("adds", { skip: true }, '),
    ["test_skipped"],
  ],
  ["a group skipped", "test/a.test.js", JS, JS.replace("describe(", "describe.skip("), ["test_skipped"]],
  ["todo", "test/a.test.js", JS, JS.replace('it("negative"', 'it.todo("negative"'), ["test_skipped"]],
  [
    "skipped from inside",
    "test/a.test.js",
    JS,
    JS.replace('test("adds", () => {', 'test("adds", (t) => {\n  t.skip();'),
    ["test_skipped"],
  ],
  ["a new focused test", "test/a.test.js", JS, `${JS}test.only("new", () => {});\n`, ["test_focused"]],
  ["focus on an old test", "test/a.test.js", JS, JS.replace('it("neg', 'it.only("neg'), ["test_focused"]],
  ["process.exit in an old test file", "test/a.test.js", JS, `process.exit(0);\n${JS}`, ["early_exit"]],
  [
    "an assertion replaced",
    "test/a.test.js",
    JS,
    JS.replace("const cases", "assert.equal = () => {};\nconst cases"),
    ["existing_test_changed"],
  ],
  [
    "assert imported from elsewhere",
    "test/a.test.js",
    JS,
    JS.replace("node:assert/strict", "./fake.js"),
    ["existing_test_changed"],
  ],
  [
    "shared data removed",
    "test/a.test.js",
    JS,
    JS.replace("const cases = [1, 2];", "const cases = [1];"),
    ["existing_test_changed"],
  ],
  ["a file that no longer parses", "test/a.test.js", JS, `${JS}\n}}}`, []],
  [
    "TypeScript: an expectation changed",
    "src/a.spec.ts",
    `it("x", (): void => { expect(f<number>(1)).toBe(1) })`,
    `it("x", (): void => { expect(f<number>(1)).toBe(2) })`,
    ["expectation_changed"],
  ],
  ["a new test file", "test/new.test.js", null, JS, []],
  ["a new test file that exits", "test/new.test.js", null, "process.exit(0)", ["early_exit"]],
  [
    "Python: a test appended",
    "tests/test_total.py",
    PY,
    `${PY}\n    def test_more(self):\n        self.assertEqual(total([]), 0)\n`,
    [],
  ],
  [
    "Python: an expectation changed",
    "tests/test_total.py",
    PY,
    PY.replace("0.5), 3", "0.5), 5.5"),
    ["expectation_changed"],
  ],
  [
    "Python: a test deleted",
    "tests/test_total.py",
    PY,
    PY.replace(/ {4}def test_discount[\s\S]*$/, ""),
    ["test_deleted"],
  ],
  [
    "Python: skipped by decorator",
    "tests/test_total.py",
    PY,
    PY.replace("    def test_discount", '    @unittest.skip("x")\n    def test_discount'),
    ["test_skipped"],
  ],
  [
    "Python: expected failure",
    "tests/test_total.py",
    PY,
    PY.replace("    def test_discount", "    @unittest.expectedFailure\n    def test_discount"),
    ["test_skipped"],
  ],
  [
    "Python: the whole module marked",
    "tests/test_total.py",
    PY,
    PY.replace("class Total", "pytestmark = pytest.mark.skip\n\n\nclass Total"),
    ["test_skipped"],
  ],
  [
    "Python: set-up changed",
    "tests/test_total.py",
    PY,
    PY.replace("[(2, 3)]", "[]"),
    ["existing_test_changed"],
  ],
  [
    "Python: os._exit in a test",
    "tests/test_total.py",
    PY,
    PY.replace("        self.items", "        os._exit(0)\n        self.items"),
    ["early_exit"],
  ],
  [
    "Python: an import extended",
    "tests/test_total.py",
    PY,
    PY.replace("import total", "import total, price"),
    [],
  ],
];

for (const [name, path, before, after, found] of CASES)
  test(`G01: ${name}`, async () => {
    assert.deepEqual(await kinds({ [path]: [before, after] }), found);
  });

test("G01: a new test that looks at the patch instead of at what it does is a finding; one that reads its own fixtures is none", async () => {
  const found = async (path: string, body: string, source = "src/fixed.js") =>
    kinds({ [path]: [null, body], [source]: [null, "1"] });
  const looking: readonly (readonly [string, string])[] = [
    ["test/n.test.js", 'test("n", () => { assert.ok(existsSync("src/fixed.js")); });'],
    ["test/n.test.js", 'test("n", () => { assert.ok(existsSync(["src", "fixed"].join("/") + ".js")); });'],
    [
      "test/n.test.js",
      'test("n", () => {\n  assert.match(readFileSync("../src/fixed.js", "utf8"), /1/);\n});',
    ],
    ["test/n.test.js", 'test("n", () => { execFileSync("git", ["diff"]); });'],
    ["tests/test_n.py", "def test_n():\n    assert os.path.exists('src/fixed.js')"],
    ["test/n.bats", '@test "n" {\n  [ -e src/fixed.js ]\n}'],
  ];
  for (const [path, body] of looking) assert.deepEqual(await found(path, body), ["special_cased"], body);
  const fair: readonly (readonly [string, string])[] = [
    ["test/n.test.js", 'import { one } from "../src/fixed.js";\ntest("n", () => { assert.equal(one, 1); });'],
    ["test/n.test.js", 'test("n", () => { assert.equal(parse(readFileSync("test/fixtures/in.txt")), 1); });'],
    ["test/n.test.js", 'test("n", () => { assert.equal(nameOf("git"), "git"); });'],
  ];
  for (const [path, body] of fair) assert.deepEqual(await found(path, body), [], body);
});

test("findings name the file and what is gone", async () => {
  const [finding] = await report({ "test/a.test.js": [JS, JS.replace("add(1, 2), 3", "add(1, 2), -1")] });
  assert.deepEqual(finding, {
    kind: "expectation_changed",
    path: "test/a.test.js",
    detail:
      "`adds`: expects something else: `assert.equal(add(1, 2), 3)` became `assert.equal(add(1, 2), -1)`",
  });
});

test("property: appending tests to any test file is never a finding, and removing one always is", async () => {
  const name = fc.stringMatching(/^[a-z ]{1,12}$/);
  const body = fc.integer({ min: 0, max: 999 });
  const file = fc.uniqueArray(fc.tuple(name, body), { minLength: 1, maxLength: 6, selector: ([one]) => one });
  const text = (tests: readonly (readonly [string, number])[]) =>
    tests
      .map(
        ([one, value]) => `test(${JSON.stringify(one)}, () => { assert.equal(f(${value}), ${value}); });\n`,
      )
      .join("");
  await fc.assert(
    fc.asyncProperty(file, fc.nat(5), async (tests, cut) => {
      const at = cut % tests.length;
      const fewer = tests.filter((_, index) => index !== at);
      assert.deepEqual(await kinds({ "test/a.test.js": [text(fewer), text(tests)] }), []);
      assert.deepEqual(await kinds({ "test/a.test.js": [text(tests), text(fewer)] }), ["test_deleted"]);
    }),
    { numRuns: FULL ? 5000 : 300 },
  );
});
