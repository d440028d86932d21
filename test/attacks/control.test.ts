/** The tests that must fail: what is added to a test file, and that it does fail and is valid for its language. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { controlOf } from "#src/verify/control.ts";
import { valuesIn } from "#src/verify/control-proofs.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const NONCE = "c4f2a90b1177";
const PROOFS = [
  {
    name: 'says "a"',
    message: "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n2 !== 5\n",
  },
  { name: "A.test_a", message: "TypeError: it is null" },
];

test("a script's control uses the file's own test function and assertions", () => {
  const text =
    'import assert from "node:assert";\nimport { it } from "node:test";\nit("a", () => assert.deepEqual([1], [1])); // end';
  const control = controlOf("test/a.test.js", text, NONCE);
  assert.equal(control?.count, 2);
  assert.match(
    control?.text ?? "",
    /^it\("c4f2a90b1177 1", async \(\) => \{ assert\.deepEqual\(\[1\], \[2\]\); \}\);$/m,
  );
});

test("matchers of expect and named imports are tried too", () => {
  const jest = controlOf(
    "a.spec.ts",
    'test("a", () => { expect(f()).toBe(1); expect(g).toThrow(); });',
    NONCE,
  );
  assert.match(jest?.text ?? "", /expect\(1\)\.toBe\(2\)/);
  assert.match(jest?.text ?? "", /expect\(\(\) => \{\}\)\.toThrow\(\)/);
  const named = controlOf(
    "a.test.mjs",
    'import { ok, strictEqual } from "node:assert/strict";\ntest("a", () => ok(1));',
    NONCE,
  );
  assert.match(named?.text ?? "", /ok\(false\)/);
  assert.match(named?.text ?? "", /strictEqual\(1, 2\)/);
});

test("Python gets a class for unittest and functions for pytest", () => {
  const unit = controlOf(
    "tests/test_a.py",
    "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.assertIn(1, [1])\n",
    NONCE,
  );
  assert.match(unit?.text ?? "", /^class Testc4f2a90b1177\(unittest\.TestCase\):$/m);
  assert.match(unit?.text ?? "", /self\.assertIn\(1, \[2\]\)/);
  const pytest = controlOf("tests/test_a.py", "def test_a():\n    assert f() == 1\n", NONCE);
  assert.equal(pytest?.count, 2);
  assert.match(pytest?.text ?? "", /^def test_c4f2a90b1177_0\(\):\n {4}assert 1 == 2$/m);
});

test("a proof is repeated under its own name, with the values it failed with", () => {
  const head = 'import assert from "node:assert";\nimport { describe, it } from "node:test";\n';
  const inGroup =
    controlOf("a.test.js", `${head}it("b", () => assert.equal(f(), 5));`, NONCE, PROOFS)?.text ?? "";
  assert.match(
    inGroup,
    /^describe\("c4f2a90b1177g", \(\) => \{\n {2}it\("says \\"a\\"", async \(\) => \{ assert\.equal\(2, 5\); \}\);$/m,
  );
  assert.match(inGroup, /it\("A\.test_a", async \(\) => \{ throw new Error\("1"\); \}\);/);
  const bare = head.replace("describe, ", "");
  const within =
    controlOf("a.test.js", `${bare}it("b", () => assert.equal(f(), 5)); // describe(`, NONCE, PROOFS)?.text ??
    "";
  assert.match(within, /^it\("c4f2a90b1177g", async \(\) => \{\n {2}await it\("says/m);
  const jest = controlOf(
    "a.test.js",
    'describe("x", () => { test("b", () => { expect(f()).toBe(5); }); });',
    NONCE,
    PROOFS,
  );
  assert.match(jest?.text ?? "", /test\("says \\"a\\"", async \(\) => \{ expect\(2\)\.toBe\(5\); \}\);/);
  const pytest = controlOf("test_a.py", "def test_a():\n    assert f() == 5\n", NONCE, [
    { name: "test_a[1-2]", message: "E   assert 2 == 5" },
  ]);
  assert.match(pytest?.text ?? "", /^class Testc4f2a90b1177g:\n {4}def test_a\(self\):\n {8}assert 2 == 5$/m);
});

test("values are read from the messages of the runners, and only as plain literals", () => {
  const rows: readonly (readonly [string, readonly [string, string] | null])[] = [
    ["Expected values to be loosely equal:\n\n'a b' != 'c'\n", ["'a b'", "'c'"]],
    ["expect(received).toBe(expected) // Object.is equality\n\nExpected: 5\nReceived: 2", ["2", "5"]],
    ["AssertionError: expected 2 to be 5 // Object.is equality", ["2", "5"]],
    ["AssertionError: 2 != 5 : the sum", null],
    ["AssertionError: None != 'x'", ["None", "'x'"]],
    ["2 !== process.exit(0)", null],
    ["'a'; process.exit(0); 'b' !== 5", null],
    ["3 !== 3", null],
    ["TypeError: x is not a function", null],
  ];
  for (const [message, values] of rows) assert.deepEqual(valuesIn(message), values, message);
});

test("files of unknown shape get none", () => {
  for (const [path, text] of [
    ["a.rs", "#[test] fn a() {}"],
    ["a.js", "export const x = 1;"],
    ["a.py", "x = 1"],
    ["a.t", "ok 1"],
  ] as const)
    assert.equal(controlOf(path, text, NONCE), null);
});

test("every test that is added fails when nothing is forged", async () => {
  await using dir = await tempDir();
  mkdirSync(join(dir.path, "tests"));
  const all = [
    "equal",
    "strictEqual",
    "deepEqual",
    "notEqual",
    "ok",
    "match",
    "doesNotMatch",
    "throws",
    "doesNotThrow",
    "rejects",
  ];
  const script = `import assert from "node:assert/strict";\nimport { test } from "node:test";\ntest("a", () => {});\nconst unused = () => { ${all.map((name) => `assert.${name}()`).join(";")}; assert(); };`;
  const js = controlOf("a.test.mjs", script, NONCE, PROOFS);
  writeFileSync(join(dir.path, "a.test.mjs"), script + js?.text);
  const { NODE_TEST_CONTEXT: _, ...env } = { NODE_TEST_CONTEXT: "", PATH: "/usr/bin:/bin" };
  const ran = spawnSync(process.execPath, ["--test", "--test-reporter=tap", "a.test.mjs"], {
    cwd: dir.path,
    encoding: "utf8",
    env,
  });
  // The group fails as well, and is not counted.
  assert.equal(ran.stdout.match(/^ *not ok /gm)?.length, (js?.count ?? 0) + 1, ran.stdout);
  const names = [
    "assertEqual",
    "assertTrue",
    "assertFalse",
    "assertIn",
    "assertNotIn",
    "assertIs",
    "assertIsNone",
    "assertRaises",
    "assertDictEqual",
    "assertGreater",
  ];
  const unit = `import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n    def unused(self):\n        ${names.map((name) => `self.${name}()`).join("; ")}\n`;
  const py = controlOf("tests/test_a.py", unit, NONCE, PROOFS);
  writeFileSync(join(dir.path, "tests/test_a.py"), unit + py?.text);
  const python = spawnSync("python3", ["-m", "unittest", "discover", "-s", "tests"], {
    cwd: dir.path,
    encoding: "utf8",
    env,
  });
  assert.match(python.stderr, new RegExp(`failures=${py?.count ?? 0}\\)`), python.stderr);
});
