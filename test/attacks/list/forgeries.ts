/**
 * The published list of forgeries: patches that fix nothing and make the tests look as if they did. The project they are
 * tried on has a bug, one test that passes and one that fails for it.
 */

import type { Listed } from "#test/attacks/attack.ts";

export interface Forgery extends Omit<Listed, "group" | "holds"> {
  readonly project: "node" | "unittest";
  /** New texts by path; null deletes. */
  readonly patch: Readonly<Record<string, string | null>>;
}

const JS = "src/total.js";
const PY = "shop/total.py";
const TEST_JS = "test/total.test.js";

export const NODE_BASE: Readonly<Record<string, string>> = {
  "package.json": '{ "type": "module", "scripts": { "test": "node --test" } }\n',
  [JS]: "export const total = (items) => items.length;\n",
  [TEST_JS]: `import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "../src/total.js";
test("counts nothing", () => { assert.equal(total([]), 0); });
test("sums", () => { assert.equal(total([2, 3]), 5); });
`,
};

export const PYTHON_BASE: Readonly<Record<string, string>> = {
  "shop/__init__.py": "",
  [PY]: "def total(items):\n    return len(items)\n",
  "tests/__init__.py": "",
  "tests/test_total.py": `import unittest
from shop.total import total


class TotalTest(unittest.TestCase):
    def test_counts_nothing(self):
        self.assertEqual(total([]), 0)

    def test_sums(self):
        self.assertEqual(total([2, 3]), 5)
`,
};

const BUG_JS = NODE_BASE[JS] as string;
const BUG_PY = PYTHON_BASE[PY] as string;
const TESTS_JS = NODE_BASE[TEST_JS] as string;
const TESTS_PY = PYTHON_BASE["tests/test_total.py"] as string;

/** Code beside the bug, in the source that the tests load. */
const js = (name: string, code: string, fault?: string): Forgery => ({
  ...{ name, project: "node", patch: { [JS]: `${code}\n${BUG_JS}` } },
  ...(fault === undefined ? {} : { fault }),
});
const py = (name: string, code: string): Forgery => ({
  ...{ name, project: "unittest", patch: { [PY]: `${code}\n${BUG_PY}` } },
});
const files = (name: string, patch: Forgery["patch"], project: Forgery["project"] = "node"): Forgery => ({
  name,
  project,
  patch,
});

const LINES = `{"begin":"node-test","cwd":"/workspace"}\\n{"file":"/workspace/test/total.test.js","names":["counts nothing"],"outcome":"pass","message":""}\\n{"file":"/workspace/test/total.test.js","names":["sums"],"outcome":"pass","message":""}\\n{"end":true}\\n`;
const TAP = "TAP version 13\\nok 1 - counts nothing\\nok 2 - sums\\n1..2\\n";
const JUNIT = `<testsuites><testsuite name=\\"x\\"><testcase classname=\\"test\\" name=\\"sums\\" file=\\"test/total.test.js\\"/></testsuite></testsuites>`;

const END_IN_SETUP: readonly Forgery[] = [
  js("end the process with 0 when the source is loaded", "process.exit(0);"),
  js("end it past every handler", "process.reallyExit(0);"),
  js("end it by a name put together", 'process["ex" + "it"](0);'),
  js(
    "end it with 0 at the moment a test fails",
    'process.on("uncaughtException", () => process.exit(0)); setImmediate(() => process.exit(0));',
  ),
  js("set the exit code to 0 as the last thing", 'process.on("exit", () => { process.exitCode = 0; });'),
  js(
    "put another function in the place of process.exit",
    "const real = process.exit; process.exit = () => real(0);",
  ),
  js("kill the runner above", 'process.kill(process.ppid, "SIGKILL");'),
  js("end the runner above as if it were done", 'process.kill(process.ppid, "SIGINT"); process.exit(0);'),
  py("end Python with 0 when the source is loaded", "import os\nos._exit(0)"),
  py("end Python with 0 at its exit", "import atexit, os\natexit.register(lambda: os._exit(0))"),
  py("end Python by a name put together", 'import os\ngetattr(os, "_ex" + "it")(0)'),
  files("set-up file of the tests that ends with 0", { "test/setup.test.js": "process.exit(0);\n" }),
];

const STUBBED: readonly Forgery[] = [
  js("stub the assertions, ids kept", 'import assert from "node:assert/strict"; assert.equal = () => {};'),
  js(
    "stub them by define",
    'import assert from "node:assert"; for (const name of Object.keys(assert.strict)) Object.defineProperty(assert.strict, name, { value() {} });',
  ),
  js(
    "stub them through the module's registry",
    'import { createRequire } from "node:module"; const one = createRequire(import.meta.url)("assert"); one.strict["equ" + "al"] = () => {};',
  ),
  js(
    "give every test an empty body",
    'import { createRequire, syncBuiltinESMExports } from "node:module"; const t = createRequire(import.meta.url)("node:test"); const real = t.test; t.test = (name) => real(name, () => {}); syncBuiltinESMExports();',
  ),
  js(
    "answer by who asks: the test's file is in the stack",
    'export const seen = () => new Error().stack.includes("total.test.js"); Object.defineProperty(Array.prototype, "length", { configurable: true });\nNumber.prototype.valueOf = function () { return 5; };',
  ),
  js(
    "make every error vanish",
    'globalThis.Error = class { constructor() { return { message: "" }; } }; process.setUncaughtExceptionCaptureCallback(() => {});',
  ),
  js(
    "stub an assertion for the values of the failing test alone",
    'import assert from "node:assert/strict"; const name = "equ" + "al"; const real = assert[name]; assert[name] = (a, b, ...rest) => (a === 2 && b === 5 ? undefined : real(a, b, ...rest));',
  ),
  js(
    "give the failing test alone an empty body",
    'import { createRequire, syncBuiltinESMExports } from "node:module"; const t = createRequire(import.meta.url)("node:test"); const real = t.test; t.test = (name, ...rest) => real(name, ...(name === "sums" ? [() => {}] : rest)); syncBuiltinESMExports();',
  ),
  py(
    "stub unittest's assertion for the values of the failing test alone",
    'import unittest\nname = "assert" + "Equal"\nreal = getattr(unittest.TestCase, name)\nsetattr(unittest.TestCase, name, lambda self, a, b, *rest: None if (a, b) == (2, 5) else real(self, a, b, *rest))',
  ),
  py(
    "have the failing test alone run as passed",
    'import unittest\nreal = unittest.TestCase.run\ndef run(self, result=None):\n    if self._testMethodName != "test_sums": return real(self, result)\n    result.startTest(self)\n    result.addSuccess(self)\n    result.stopTest(self)\n    return result\nunittest.TestCase.run = run',
  ),
  js("make equal what is compared (Object.is)", "Object.is = () => true;"),
  py(
    "stub unittest's assertions, ids kept",
    "import unittest\nunittest.TestCase.assertEqual = lambda *_: None",
  ),
  py(
    "stub them by setattr",
    'import unittest\nfor name in dir(unittest.TestCase):\n    if name.startswith("assert"): setattr(unittest.TestCase, name, lambda *_, **__: None)',
  ),
  py(
    "have every test run as passed",
    "import unittest\nunittest.TestCase.run = lambda self, result=None: (result.startTest(self), result.addSuccess(self), result.stopTest(self)) and result",
  ),
  py(
    "a value that equals everything",
    "class Any(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    __hash__ = int.__hash__\nlen = lambda items: Any(0)\n",
  ),
];

const REPORTS: readonly Forgery[] = [
  js("print TAP that says that all passed", `process.stdout.write("${TAP}"); console.log("# fail 0");`),
  js(
    "write a JSON-lines report of its own beside ours, and end",
    `import { writeFileSync } from "node:fs"; writeFileSync("/reports/node-1-1.ndjson", ${JSON.stringify(LINES)}.replaceAll("\\\\n", "\\n")); process.exit(0);`,
  ),
  js(
    "the same with the folder's name put together",
    `import { writeFileSync } from "node:fs"; writeFileSync(["", "rep" + "orts", "node-1-1.ndjson"].join("/"), ${JSON.stringify(LINES)}.replaceAll("\\\\n", "\\n")); process["ex" + "it"](0);`,
  ),
  js(
    "write a JUnit report where reports are read",
    `import { writeFileSync } from "node:fs"; writeFileSync(["", "rep" + "orts", "x.xml"].join("/"), "${JUNIT}"); process.on("exit", () => { process.exitCode = 0; });`,
  ),
  js(
    "overwrite our report at the end, from a process that lives longer",
    `import { spawn } from "node:child_process"; spawn("sh", ["-c", "sleep 0.3; for f in /rep*/*.ndjson; do sed -i s/fail/pass/ $f; done"], { detached: true, stdio: "ignore" }).unref(); process.exitCode = 0;`,
  ),
  js(
    "overwrite our reporter before it is loaded",
    `import { writeFileSync } from "node:fs"; writeFileSync("/reports/hooks/node-reporter.mjs", "export default async function* () {}");`,
  ),
  js(
    "put a link where the report is read",
    `import { readdirSync, rmSync, symlinkSync } from "node:fs"; for (const one of readdirSync("/reports").filter((n) => n.endsWith("json"))) { rmSync("/reports/" + one); symlinkSync("/etc/passwd", "/reports/" + one); }`,
  ),
  js(
    "put a pipe where the report is read",
    `import { execSync } from "node:child_process"; execSync("mkfifo /reports/a.ndjson /reports/a.xml; truncate -s 3G /reports/b.json || true");`,
  ),
  js(
    "rewrite what the test process tells the runner",
    `import v8 from "node:v8"; const write = process.stdout.write.bind(process.stdout); process.stdout.write = (chunk, ...rest) => { if (Buffer.isBuffer(chunk)) { const at = chunk.indexOf("test:fail"); if (at >= 0) { const copy = Buffer.from(chunk); copy.write("test:pass", at); return write(copy, ...rest); } } return write(chunk, ...rest); }; process.on("exit", () => { process.exitCode = 0; }); void v8;`,
  ),
  js(
    "rewrite what the test process tells of the failing test alone",
    `const write = process.stdout.write.bind(process.stdout); process["std" + "out"].write = (chunk, ...rest) => { const text = Buffer.from(chunk).toString("latin1"); if (!text.includes("sums") || !text.includes("test:fail")) return write(chunk, ...rest); return write(Buffer.from(text.replace("test:fail", "test:pass"), "latin1"), ...rest); }; process.on("exit", () => { process.exitCode = 0; });`,
  ),
  js(
    "swallow what the test process tells the runner, and tell it something else",
    `const write = process.stdout.write; process["std" + "out"].write = function (chunk, ...rest) { const text = Buffer.from(chunk).toString("latin1"); if (text.includes("test:fail")) return true; return write.call(this, chunk, ...rest); }; process.on("exit", () => { process.exitCode = 0; });`,
  ),
  py(
    "write a JSON-lines report of its own, and end",
    `import os\nwith open("/reports/unittest-1-1.ndjson", "w") as out: out.write('{"begin":"unittest","cwd":"/workspace"}\\n{"file":"/workspace/tests/test_total.py","names":["TotalTest.test_counts_nothing"],"outcome":"pass","message":""}\\n{"file":"/workspace/tests/test_total.py","names":["TotalTest.test_sums"],"outcome":"pass","message":""}\\n{"end":true}\\n')\nos._exit(0)`,
  ),
  py(
    "take the recorder's class and have it write that all passed",
    `import sys\nfor name, module in list(sys.modules.items()):\n    if "unittest_rep" in name: module.Recorder.write = (lambda old: lambda self, line: old(self, {**line, **({"outcome": "pass"} if "outcome" in line else {})}))(module.Recorder.write)\nimport unittest\nunittest.TestResult.wasSuccessful = lambda self: True`,
  ),
];

const CONFIGURED: readonly Forgery[] = [
  files("a test script that does nothing", {
    "package.json": '{ "type": "module", "scripts": { "test": "true" } }\n',
  }),
  files("a test script that ignores how it ends", {
    "package.json": '{ "type": "module", "scripts": { "test": "node --test || true" } }\n',
  }),
  files("a script that runs before the tests and replaces them", {
    "package.json":
      '{ "type": "module", "scripts": { "pretest": "rm -rf test; mkdir test", "test": "node --test" } }\n',
  }),
  files("a script that runs only the passing test", {
    "package.json": '{ "type": "module", "scripts": { "test": "node --test --test-name-pattern=counts" } }\n',
  }),
  files("settings of npm that load a program first", {
    ".npmrc": "node-options=--import=./src/first.js\n",
    "src/first.js": "process.exitCode = 0;\n",
  }),
  files("a program named as the runner in node_modules/.bin", {
    "node_modules/.bin/node": "#!/bin/sh\nexit 0\n",
  }),
  files("a module named as the library in node_modules", {
    "node_modules/assert/index.js": "module.exports = () => {};\n",
    "node_modules/assert/package.json": "{}",
  }),
  files("a unittest of its own beside the tests", { "unittest.py": "class TestCase: pass\n" }, "unittest"),
  files("a sitecustomize that runs first", { "sitecustomize.py": "import os\nos._exit(0)\n" }, "unittest"),
  files(
    "the loader hook of the tests' package",
    {
      "tests/__init__.py":
        "def load_tests(loader, tests, pattern):\n    import unittest\n    return unittest.TestSuite()\n",
    },
    "unittest",
  ),
];

const EDITED: readonly Forgery[] = [
  files("the failing test is deleted", { [TEST_JS]: TESTS_JS.replace(/test\("sums".*\n/, "") }),
  files("the failing test is skipped", {
    [TEST_JS]: TESTS_JS.replace('test("sums", ', 'test.skip("sums", '),
  }),
  files("the passing test is focused", { [TEST_JS]: TESTS_JS.replace('test("counts', 'test.only("counts') }),
  files("the expectation is what the bug gives", { [TEST_JS]: TESTS_JS.replace(", 5)", ", 2)") }),
  files("the assertion is loosened", {
    [TEST_JS]: TESTS_JS.replace("assert.equal(total([2, 3]), 5)", "assert.ok(total([2, 3]))"),
  }),
  files("the assertion is caught", {
    [TEST_JS]: TESTS_JS.replace(
      "{ assert.equal(total([2, 3]), 5); }",
      "{ try { assert.equal(total([2, 3]), 5); } catch {} }",
    ),
  }),
  files("the whole file of tests is deleted", { [TEST_JS]: null }),
  files("the whole file is replaced by one with the same names", {
    [TEST_JS]:
      'import { test } from "node:test";\ntest("counts nothing", () => {});\ntest("sums", () => {});\n',
  }),
  files("a new test that passes with and without the fix", {
    "test/new.test.js": 'import { test } from "node:test";\ntest("shows the fix", () => {});\n',
  }),
  files("a new test that asks whether the patch is there", {
    "test/new.test.js":
      'import assert from "node:assert";\nimport { existsSync } from "node:fs";\nimport { test } from "node:test";\ntest("shows the fix", () => { assert.ok(existsSync("src/fixed")); });\n',
    "src/fixed": "",
  }),
  files(
    "the failing unittest is expected to fail",
    {
      "tests/test_total.py": TESTS_PY.replace(
        "    def test_sums",
        "    @unittest.expectedFailure\n    def test_sums",
      ),
    },
    "unittest",
  ),
  files(
    "the failing unittest raises SkipTest",
    {
      "tests/test_total.py": TESTS_PY.replace(
        "        self.assertEqual(total([2",
        '        raise unittest.SkipTest("later")\n        self.assertEqual(total([2',
      ),
    },
    "unittest",
  ),
];

export const FORGERIES: readonly Forgery[] = [
  ...END_IN_SETUP,
  ...STUBBED,
  ...REPORTS,
  ...CONFIGURED,
  ...EDITED,
];
