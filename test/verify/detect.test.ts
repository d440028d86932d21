/** Detection from a commit's files alone: commands, runners, package managers, and what the repository file overrules. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { detect } from "#src/verify/detect.ts";
import type { Detected, DetectOverrides } from "#src/verify/verify.ts";
import type { CommitFiles } from "#src/workspace/workspace.ts";

const NONE: DetectOverrides = { setup: null, test: null, workingDirectory: null };

function commit(files: Readonly<Record<string, string>>): CommitFiles {
  return {
    read: async (path) => (files[path] === undefined ? null : Buffer.from(files[path])),
    list: async () => Object.keys(files).map((path) => ({ path, mode: "100644" })),
  };
}

function detected(
  files: Readonly<Record<string, string>>,
  overrides: Partial<DetectOverrides> = {},
): Promise<Detected> {
  return detect(commit(files), { ...NONE, ...overrides });
}

const pkg = (value: object) => JSON.stringify(value);

/** Name, files, then expected test command, runner, directory and set-up command (null: nothing to install). */
const CASES: readonly (readonly [
  name: string,
  files: Readonly<Record<string, string>>,
  command: string | null,
  runner: string | null,
  directory: string | null,
  setup: string | null,
])[] = [
  [
    "npm with node:test and no dependencies",
    { "package.json": pkg({ scripts: { test: "node --test" } }) },
    "npm test",
    "node-test",
    ".",
    null,
  ],
  [
    "npm with a lock file",
    {
      "package.json": pkg({ scripts: { test: "jest" }, devDependencies: { jest: "1" } }),
      "package-lock.json": "{}",
    },
    "npm test",
    "jest",
    ".",
    "npm ci --no-audit --no-fund",
  ],
  [
    "npm without a lock file writes none",
    { "package.json": pkg({ scripts: { test: "mocha" }, dependencies: { a: "1" } }) },
    "npm test",
    "mocha",
    ".",
    "npm install --no-package-lock --no-audit --no-fund",
  ],
  [
    "a lock file without dependencies installs nothing",
    { "package.json": pkg({ scripts: { test: "node --test test/" } }), "package-lock.json": "{}" },
    "npm test",
    "node-test",
    ".",
    null,
  ],
  [
    "npm's own empty script is no test",
    { "package.json": pkg({ scripts: { test: 'echo "Error: no test specified" && exit 1' } }) },
    null,
    null,
    null,
    null,
  ],
  [
    "a script that always succeeds is no test",
    { "package.json": pkg({ scripts: { test: "true" } }) },
    null,
    null,
    null,
    null,
  ],
  [
    "an empty script falls back to the test files",
    {
      "package.json": pkg({ scripts: { test: 'echo "Error: no test specified" && exit 1' } }),
      "test/a.test.js": 'import test from "node:test"',
    },
    "node --test",
    "node-test",
    ".",
    null,
  ],
  [
    "no package.json, but files that import node:test",
    { "a.test.mjs": 'import { test } from "node:test"' },
    "node --test",
    "node-test",
    ".",
    null,
  ],
  [
    "G05: plain vitest is told to run once",
    { "package.json": pkg({ scripts: { test: "vitest" } }) },
    "npm test -- --run",
    "vitest",
    ".",
    null,
  ],
  [
    "vitest run is left alone",
    { "package.json": pkg({ scripts: { test: "tsc && vitest run" } }) },
    "npm test",
    "vitest",
    ".",
    null,
  ],
  [
    "G05: watch flags are taken out of the script",
    { "package.json": pkg({ scripts: { test: "jest --watch --coverage" } }) },
    'PATH="$PWD/node_modules/.bin:/workspace/node_modules/.bin:$PATH"; jest --coverage',
    "jest",
    ".",
    null,
  ],
  [
    "a script that starts another",
    {
      "package.json": pkg({
        scripts: { test: "npm run lint && npm run test:unit", lint: "eslint", "test:unit": "vitest run" },
      }),
    },
    "npm test",
    "vitest",
    ".",
    null,
  ],
  [
    "test:unit when there is no test",
    { "package.json": pkg({ scripts: { "test:unit": "node --test" } }) },
    "npm run test:unit",
    "node-test",
    ".",
    null,
  ],
  [
    "vitest among the dependencies, no script",
    {
      "package.json": pkg({ devDependencies: { vitest: "1" } }),
      "src/a.test.ts": "",
      "package-lock.json": "{}",
    },
    "npx --no-install vitest run",
    "vitest",
    ".",
    "npm ci --no-audit --no-fund",
  ],
  [
    "pnpm by lock file",
    {
      "package.json": pkg({ scripts: { test: "vitest run" }, devDependencies: { vitest: "1" } }),
      "pnpm-lock.yaml": "",
    },
    "pnpm test",
    "vitest",
    ".",
    "pnpm install --frozen-lockfile",
  ],
  [
    "packageManager beats a foreign lock file",
    {
      "package.json": pkg({
        packageManager: "yarn@4.1.0",
        scripts: { test: "jest" },
        dependencies: { a: "1" },
      }),
      "package-lock.json": "{}",
      ".yarnrc.yml": "",
    },
    "yarn test",
    "jest",
    ".",
    "yarn install",
  ],
  [
    "a broken package.json is none",
    { "package.json": "{", Makefile: "test:\n\ttrue\n" },
    "make test",
    "make",
    ".",
    null,
  ],
  [
    "pytest by pytest.ini",
    { "pytest.ini": "[pytest]", "tests/test_a.py": "def test_a(): pass" },
    "python3 -m pytest",
    "pytest",
    ".",
    null,
  ],
  [
    "pytest by pyproject",
    { "pyproject.toml": "[tool.pytest.ini_options]\n", "test_a.py": "" },
    "python3 -m pytest",
    "pytest",
    ".",
    null,
  ],
  [
    "pytest by conftest",
    { "tests/conftest.py": "", "tests/test_a.py": "" },
    "python3 -m pytest",
    "pytest",
    ".",
    null,
  ],
  [
    "pytest by test functions",
    { "tests/test_a.py": "def test_a():\n    assert True" },
    "python3 -m pytest",
    "pytest",
    ".",
    null,
  ],
  [
    "unittest in a package",
    { "tests/__init__.py": "", "tests/test_a.py": "import unittest" },
    "python3 -m unittest discover",
    "unittest",
    ".",
    null,
  ],
  [
    "unittest in a plain folder",
    { "tests/test_a.py": "import unittest" },
    "python3 -m unittest discover -s 'tests'",
    "unittest",
    ".",
    null,
  ],
  [
    "requirements go into a virtual environment",
    { "requirements.txt": "# none\nrequests==2\n", "test_a.py": "import unittest" },
    "python3 -m unittest discover",
    "unittest",
    ".",
    "python3 -m venv --system-site-packages /workspace/.venv && /workspace/.venv/bin/python -m pip install --no-input --disable-pip-version-check -r requirements.txt",
  ],
  [
    "requirements of comments only install nothing",
    { "requirements.txt": "# none\n", "test_a.py": "import unittest" },
    "python3 -m unittest discover",
    "unittest",
    ".",
    null,
  ],
  ["make test", { Makefile: "all:\n\tcc\n\ntest: all\n\t./run\n" }, "make test", "make", ".", null],
  [
    "make check that starts pytest",
    { Makefile: "check:\n\t@python3 -m pytest -q\n" },
    "make check",
    "pytest",
    ".",
    null,
  ],
  ["a variable named test is no target", { Makefile: "test := x\n" }, null, null, null, null],
  ["nothing", { "README.md": "" }, null, null, null, null],
  [
    "the only package below the root",
    { "app/package.json": pkg({ scripts: { test: "node --test" } }) },
    "npm test",
    "node-test",
    "app",
    null,
  ],
  [
    "workspaces without a root script",
    {
      "package.json": pkg({ workspaces: ["packages/*"] }),
      "package-lock.json": "{}",
      "packages/a/package.json": pkg({ scripts: { test: "node --test" } }),
      "packages/b/package.json": pkg({ scripts: { test: "node --test" } }),
    },
    "npm test --workspaces --if-present",
    "node-test",
    ".",
    "npm ci --no-audit --no-fund",
  ],
];

for (const [name, files, command, runner, directory, setup] of CASES)
  test(`detects: ${name}`, async () => {
    const found = await detected(files);
    assert.deepEqual(
      [
        found.test?.command ?? null,
        found.test?.runner ?? null,
        found.test?.directory ?? null,
        found.setup?.command ?? null,
      ],
      [command, runner, directory, setup],
    );
    if (command === null)
      assert.match(found.notes.join(), /No test command was found/, "unknown is said, with what to do");
  });

const MONOREPO = {
  "package.json": pkg({ private: true, packageManager: "pnpm@9.1.0" }),
  "pnpm-workspace.yaml": "packages: ['packages/*']",
  "pnpm-lock.yaml": "",
  "packages/a/package.json": pkg({ scripts: { test: "vitest run" }, devDependencies: { vitest: "1" } }),
};

test("G10: lock file and packageManager are found upwards; command, directory and reason are told", async () => {
  for (const overrides of [{}, { workingDirectory: "packages/a" }, { workingDirectory: "./packages//a/" }]) {
    const found = await detected(MONOREPO, overrides);
    assert.deepEqual(found.test, {
      command: "pnpm test",
      directory: "packages/a",
      runner: "vitest",
      stack: "javascript",
      because: "scripts.test in packages/a/package.json",
      needs: [{ tool: "pnpm", version: "9.1.0", from: "package.json" }],
    });
    assert.deepEqual(found.setup, {
      command: "pnpm install --frozen-lockfile",
      directory: ".",
      because: "packageManager in package.json",
    });
  }
});

test("G10: the configured command wins over detection, and its runner is still recognised", async () => {
  const found = await detected(MONOREPO, {
    workingDirectory: "packages/a",
    test: "pnpm run test",
    setup: "pnpm i",
  });
  assert.deepEqual(found.test, {
    command: "pnpm run test",
    directory: "packages/a",
    runner: "vitest",
    stack: "javascript",
    because: "test in .github/agent-fix.yml",
    needs: [{ tool: "pnpm", version: "9.1.0", from: "package.json" }],
  });
  assert.equal(found.setup?.because, "setup in .github/agent-fix.yml");
});

test("G10: several packages with tests and no workspace are unknown, not a guess", async () => {
  const found = await detected({
    "a/package.json": pkg({ scripts: { test: "jest" } }),
    "b/package.json": pkg({ scripts: { test: "jest" } }),
  });
  assert.equal(found.test, null);
});

test("a working directory that is not in the commit, or leads outside, is refused with a reason", async () => {
  for (const workingDirectory of ["nowhere", "../..", "packages/../../x"]) {
    const found = await detected(MONOREPO, { workingDirectory });
    assert.equal(found.test, null);
    assert.match(found.notes.join(), /working_directory/);
  }
});

test("H10: detection reads the commit it is given and nothing else", async () => {
  const read: string[] = [];
  const files = commit({
    "package.json": pkg({ scripts: { test: "node --test" } }),
    ".github/agent-fix.yml": "test: curl evil",
  });
  const found = await detect(
    {
      list: files.list,
      read: (path) => {
        read.push(path);
        return files.read(path);
      },
    },
    NONE,
  );
  assert.equal(found.test?.command, "npm test");
  assert.deepEqual(
    read,
    ["package.json"],
    "the repository file reaches detection only through the overrides",
  );
});

test("other ecosystems in the same directory are named as not run", async () => {
  const found = await detected({
    "package.json": pkg({ scripts: { test: "jest" } }),
    Makefile: "test:\n\ttrue\n",
  });
  assert.match(found.notes.join(), /Not run: `make test`/);
});
