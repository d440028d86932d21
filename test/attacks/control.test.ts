/** The tests that must fail: what is added to a test file, and that it does fail and is valid for its language. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { controlOf } from "#src/verify/control.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const NONCE = "c4f2a90b1177";

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
  const js = controlOf("a.test.mjs", script, NONCE);
  writeFileSync(join(dir.path, "a.test.mjs"), script + js?.text);
  const { NODE_TEST_CONTEXT: _, ...env } = { NODE_TEST_CONTEXT: "", PATH: "/usr/bin:/bin" };
  const ran = spawnSync(process.execPath, ["--test", "--test-reporter=tap", "a.test.mjs"], {
    cwd: dir.path,
    encoding: "utf8",
    env,
  });
  assert.equal(ran.stdout.match(new RegExp(`^ *not ok .* ${NONCE} `, "gm"))?.length, js?.count, ran.stdout);
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
  const py = controlOf("tests/test_a.py", unit, NONCE);
  writeFileSync(join(dir.path, "tests/test_a.py"), unit + py?.text);
  const python = spawnSync("python3", ["-m", "unittest", "discover", "-s", "tests"], {
    cwd: dir.path,
    encoding: "utf8",
    env,
  });
  assert.match(python.stderr, new RegExp(`failures=${py?.count ?? 0}\\)`), python.stderr);
});
