/** The tamper report over everything that is no test: runner configuration, scripts, CI, snapshots, sources; and what counts as a test. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { changedDependencies } from "#src/verify/dependencies.ts";
import { isTestPath } from "#src/verify/test-files.ts";
import { changesOf, kinds, type Texts } from "./facts.ts";

const PACKAGE = JSON.stringify({
  scripts: { test: "npm run unit && lint", unit: "node --test", build: "x" },
  jest: { bail: true },
});

/** Name, path, before, after, kinds found. */
const CASES: readonly (readonly [string, string, string | null, string | null, readonly string[]])[] = [
  ["conftest.py added", "tests/conftest.py", null, "import pytest\n", ["runner_config_changed"]],
  ["sitecustomize.py added", "sitecustomize.py", null, "x = 1\n", ["runner_config_changed"]],
  ["a module that takes pytest's place", "pytest/__init__.py", null, "", ["runner_config_changed"]],
  ["jest.config.js changed", "jest.config.js", "a", "b", ["runner_config_changed"]],
  [".npmrc added", ".npmrc", null, "script-shell=/bin/true", ["runner_config_changed"]],
  [
    "G01: the test script changed",
    "package.json",
    PACKAGE,
    PACKAGE.replace("npm run unit && lint", "true"),
    ["test_script_changed"],
  ],
  [
    "a script that the test script starts",
    "package.json",
    PACKAGE,
    PACKAGE.replace("node --test", "node --test || true"),
    ["test_script_changed"],
  ],
  [
    "a pretest script added",
    "package.json",
    PACKAGE,
    PACKAGE.replace('"build"', '"pretest":"rm -r test","build"'),
    ["test_script_changed"],
  ],
  ["another script changed", "package.json", PACKAGE, PACKAGE.replace('"build":"x"', '"build":"y"'), []],
  [
    "jest settings in package.json",
    "package.json",
    PACKAGE,
    PACKAGE.replace("true", "false"),
    ["runner_config_changed"],
  ],
  [
    "pytest settings in pyproject",
    "pyproject.toml",
    "[project]\nname='a'\n[tool.pytest.ini_options]\naddopts=''\n",
    "[project]\nname='a'\n[tool.pytest.ini_options]\naddopts='-k x'\n",
    ["runner_config_changed"],
  ],
  [
    "a coverage threshold lowered",
    "pyproject.toml",
    "[tool.coverage.report]\nfail_under=90\n",
    "[tool.coverage.report]\nfail_under=1\n",
    ["runner_config_changed", "coverage_lowered"],
  ],
  ["another part of pyproject", "pyproject.toml", "[project]\nversion='1'\n", "[project]\nversion='2'\n", []],
  [
    "the test target of a Makefile",
    "Makefile",
    "test:\n\t./run\n",
    "test:\n\ttrue\n",
    ["test_script_changed"],
  ],
  [
    "a variable of a Makefile",
    "Makefile",
    "T = ./run\ntest:\n\t$(T)\n",
    "T = true\ntest:\n\t$(T)\n",
    ["test_script_changed"],
  ],
  [
    "a recipe that make is told to go on after",
    "Makefile",
    "test:\n\tprove t\n",
    "test:\n\t-prove t\n",
    ["test_script_changed"],
  ],
  [
    "a check in C that asks for less",
    "tests/a.c",
    'int main(void) {\n  check(add(1, 2) == 3, "adds");\n}\n',
    'int main(void) {\n  check(add(1, 2) > 0, "adds");\n}\n',
    ["assertion_loosened"],
  ],
  [
    "another target of a Makefile",
    "Makefile",
    "test:\n\t./run\nall:\n\tcc\n",
    "test:\n\t./run\nall:\n\tcc -O2\n",
    [],
  ],
  ["a workflow", ".github/workflows/ci.yml", "a", "b", ["ci_changed"]],
  ["H10: the app's own file", ".github/agent-fix.yml", "a", "test: true", ["ci_changed"]],
  ["a snapshot changed", "src/__snapshots__/a.test.js.snap", "a", "b", ["snapshot_changed"]],
  ["a snapshot added", "src/__snapshots__/a.test.js.snap", null, "b", []],
  ["a fixture changed", "test/fixtures/in.json", "1", "2", ["existing_test_changed"]],
  ["a fixture added", "test/fixtures/in.json", null, "2", []],
  [
    "a source that ends the process for good",
    "src/a.py",
    "x = 1\n",
    "x = 1\nimport os\nos._exit(0)\n",
    ["early_exit"],
  ],
  [
    "a source that reaches for the runner",
    "src/a.js",
    "",
    "process.env.NODE_TEST_CONTEXT",
    ["runner_config_changed"],
  ],
  [
    "a source that writes to the report directory",
    "src/a.js",
    "",
    'writeFileSync("/reports/node-1.ndjson", x)',
    ["runner_config_changed"],
  ],
  [
    "a program without an ending that ends who called it",
    "bin/price",
    "#!/bin/sh\necho 1\n",
    "#!/bin/sh\nkill -TERM $PPID\necho 1\n",
    ["early_exit"],
  ],
  [
    "a program that sets the runner's variables for others",
    "bin/price",
    "#!/bin/bash\necho 1\n",
    "#!/bin/bash\nexport BATS_TEST_FILTER=default\necho 1\n",
    ["runner_config_changed", "special_cased"],
  ],
  [
    "a time limit by the runner's variable",
    "test/a.bats",
    '@test "a" {\n  run true\n}\n',
    'BATS_TEST_TIMEOUT=600\n@test "a" {\n  run true\n}\n',
    ["timeout_raised"],
  ],
  ["a text that only begins like a program", "bin/notes", "a\n", "kill -TERM $PPID\n", []],
  [
    "an ordinary source",
    "src/add.js",
    "export const add = (a, b) => a - b;",
    "export const add = (a, b) => a + b;",
    [],
  ],
  ["an ordinary deletion", "src/old.js", "x", null, []],
];

for (const [name, path, before, after, found] of CASES)
  test(`G01: ${name}`, async () => {
    assert.deepEqual(await kinds({ [path]: [before, after] }), found);
  });

test("test paths of each ecosystem, and sources that only sound like tests", () => {
  for (const path of [
    "test/a.js",
    "a.test.ts",
    "src/x.spec.tsx",
    "src/__tests__/a.js",
    "tests/data.json",
    "test_a.py",
    "pkg/a_test.py",
    "conftest.py",
    "a/__snapshots__/x.snap",
    "test.js",
  ])
    assert.equal(isTestPath(path), true, path);
  for (const path of [
    "src/attest.js",
    "src/contest.py",
    "latest/a.js",
    "src/testing.py",
    "README.md",
    "src/spec-parser.js",
  ])
    assert.equal(isTestPath(path), false, path);
});

test("dependencies count as changed only when something else would be installed", () => {
  const changed = (path: string, before: string | null, after: string | null) => {
    const texts: Texts = { [path]: [before, after] };
    return (
      changedDependencies({ changes: changesOf(texts), baseText: () => before, patchedText: () => after })
        .length > 0
    );
  };
  assert.equal(changed("package.json", '{"version":"1"}', '{"version":"2"}'), false);
  assert.equal(changed("package.json", '{"dependencies":{}}', '{"dependencies":{"a":"1"}}'), true);
  assert.equal(
    changed(
      "package-lock.json",
      '{"version":"1","packages":{"":{"version":"1"}}}',
      '{"version":"2","packages":{"":{"version":"2"}}}',
    ),
    false,
  );
  assert.equal(
    changed("package-lock.json", '{"packages":{}}', '{"packages":{"node_modules/a":{"version":"1"}}}'),
    true,
  );
  assert.equal(changed("packages/a/pnpm-lock.yaml", "a", "b"), true);
  assert.equal(changed("requirements-dev.txt", "a==1\n", "# why\na==1\n"), false);
  assert.equal(changed("requirements.txt", "a==1\n", "a==2\n"), true);
  assert.equal(
    changed(
      "pyproject.toml",
      "[project]\nversion='1'\ndependencies = [\n 'a',\n]\n",
      "[project]\nversion='2'\ndependencies = [\n 'a',\n]\n",
    ),
    false,
  );
  assert.equal(
    changed(
      "pyproject.toml",
      "[project]\ndependencies = [\n 'a',\n]\n",
      "[project]\ndependencies = [\n 'a',\n 'b',\n]\n",
    ),
    true,
  );
  assert.equal(changed("src/package.json.js", "a", "b"), false);
});
