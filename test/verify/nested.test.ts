/** Tests that themselves start a test runner: what that one finds is no part of the suite. */

import assert from "node:assert/strict";
import { testPart } from "#test/support/tier.ts";
import { openProject, outcomes, suiteOf } from "./project.ts";

const test = testPart(0.5);

test("node:test: a test that starts node --test on a failing file adds no case of it", async () => {
  await using project = await openProject({
    "package.json": JSON.stringify({ name: "x", type: "module", scripts: { test: "node --test test/" } }),
    "inner/bad.test.js":
      'import test from "node:test"; test("inner", () => { throw new Error("meant"); });\n',
    "test/a.test.js": `import test from "node:test";
import assert from "node:assert";
import { spawnSync } from "node:child_process";
test("outer", () => {
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  assert.equal(spawnSync("node", ["--test", "inner/"], { env }).status, 1);
});
`,
  });
  const result = await project.run(suiteOf("node --test test/a.test.js", "node-test"));
  assert.deepEqual(outcomes(result), { "test/a.test.js > outer": "pass" }, result.output);
  assert.equal(result.mismatch, null);
});

test("unittest: neither a nested process nor a nested runner adds a case", async () => {
  await using project = await openProject({
    "inner.py": "import unittest\nclass I(unittest.TestCase):\n    def test_bad(self): self.fail('meant')\n",
    "test_a.py": `import subprocess, sys, unittest, io
class A(unittest.TestCase):
    def test_process(self):
        self.assertEqual(subprocess.run([sys.executable, "-m", "unittest", "inner"], capture_output=True).returncode, 1)
    def test_runner(self):
        import inner
        suite = unittest.defaultTestLoader.loadTestsFromModule(inner)
        self.assertFalse(unittest.TextTestRunner(stream=io.StringIO()).run(suite).wasSuccessful())
`,
  });
  const result = await project.run(suiteOf("python3 -m unittest discover", "unittest"));
  assert.deepEqual(outcomes(result), {
    "test_a.py > A.test_process": "pass",
    "test_a.py > A.test_runner": "pass",
  });
  assert.equal(result.mismatch, null);
});

test("unittest: unittest.main() of a script started by itself gives a report as well", async () => {
  await using project = await openProject({
    "check.py":
      "import unittest\nclass A(unittest.TestCase):\n    def test_ok(self): pass\n    def test_bad(self): self.assertEqual(5, 10)\nunittest.main()\n",
  });
  const result = await project.run(suiteOf("python3 check.py", "unknown"));
  assert.equal(result.strength, "report");
  assert.deepEqual(outcomes(result), { "check.py > A.test_bad": "fail", "check.py > A.test_ok": "pass" });
});
