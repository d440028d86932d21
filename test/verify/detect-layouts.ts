/** Tiny repositories and what detection must make of them. */

import type { RunnerKind } from "#src/verify/verify.ts";

export interface Layout {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** Changed paths, for monorepos. */
  readonly near?: readonly string[];
  /** Null: no command may be found. */
  readonly test: string | null;
  readonly runner?: RunnerKind;
  readonly directory?: string;
  /** Null: nothing to install; absent: not looked at. */
  readonly setup?: RegExp | null;
  readonly because?: RegExp;
  readonly needs?: readonly string[];
  readonly note?: RegExp;
}

export const pkg = (value: object) => JSON.stringify(value);
export const script = (text: string, more: object = {}) => ({
  "package.json": pkg({ scripts: { test: text }, ...more }),
});
const NPM = "npm test";

export const NODE: readonly Layout[] = [
  { name: "mocha", files: script("mocha"), test: NPM, runner: "mocha" },
  { name: "ava", files: script("ava"), test: NPM, runner: "ava" },
  { name: "tap", files: script("tap test/*.js"), test: NPM, runner: "tap" },
  { name: "jasmine", files: script("jasmine"), test: NPM, runner: "jasmine" },
  { name: "uvu", files: script("uvu test"), test: NPM, runner: "uvu" },
  { name: "coverage around mocha", files: script("c8 mocha --reporter dot"), test: NPM, runner: "mocha" },
  {
    name: "tape behind tap-spec is no tap",
    files: script("tape test/*.js | tap-spec"),
    test: NPM,
    runner: "unknown",
  },
  {
    name: "mocha as a dependency alone",
    files: { ...{ "package.json": pkg({ devDependencies: { mocha: "11" } }) }, "test/a.js": "" },
    test: "npx --no-install mocha",
    runner: "mocha",
    setup: /npm install --no-package-lock/,
  },
  {
    name: "ava as a dependency alone",
    files: { "package.json": pkg({ devDependencies: { ava: "6" } }), "test/a.js": "" },
    test: "npx --no-install ava",
    runner: "ava",
  },
  {
    name: "bun with its lock file",
    files: { ...script("bun test", { dependencies: { a: "1" } }), "bun.lock": "" },
    test: "bun run test",
    runner: "bun",
    setup: /^bun install --frozen-lockfile$/,
  },
  {
    name: "files that import bun:test",
    files: { "a.test.ts": 'import { test } from "bun:test"' },
    test: "bun test",
    runner: "bun",
  },
  {
    name: "G05: mocha -w",
    files: script("mocha -w"),
    test: 'PATH="$PWD/node_modules/.bin:/workspace/node_modules/.bin:$PATH"; mocha',
    runner: "mocha",
    note: /watch mode/,
  },
  {
    name: "G05: ava --watch",
    files: script("ava --watch --verbose"),
    test: 'PATH="$PWD/node_modules/.bin:/workspace/node_modules/.bin:$PATH"; ava --verbose',
    runner: "ava",
  },
  {
    name: "G05: nodemon gives way to test:ci",
    files: { "package.json": pkg({ scripts: { test: "nodemon --exec mocha", "test:ci": "mocha" } }) },
    test: "npm run test:ci",
    runner: "mocha",
  },
  {
    name: "G05: a script that opens a browser for a person is none",
    files: script("cypress open"),
    test: null,
  },
  { name: "G05: ng test without --watch=false is none", files: script("ng test"), test: null },
  {
    name: "no test specified, in words of its own",
    files: script("echo 'no tests yet' && exit 0"),
    test: null,
  },
  { name: "echo and exit 1", files: script('printf "todo" ; exit 1'), test: null },
  {
    name: "engines and packageManager are needs",
    files: script("jest", { engines: { node: ">=22" }, packageManager: "pnpm@9.1.0" }),
    test: "pnpm test",
    needs: ["node ≥ 22 (package.json)", "pnpm 9.1.0 (package.json)"],
  },
  {
    name: ".nvmrc is a need",
    files: { ...script("jest"), ".nvmrc": "v20.11.0\n" },
    test: NPM,
    needs: ["node 20.11.0 (.nvmrc)"],
  },
  {
    name: ".tool-versions is a need",
    files: { ...script("jest"), ".tool-versions": "ruby 3.3.0\nnodejs 22.1.0\n" },
    test: NPM,
    needs: ["node 22.1.0 (.tool-versions)"],
  },
  {
    name: "deno.json with a plain task",
    files: { "deno.json": '{"tasks":{"test":"deno test -A"}}', "deno.lock": "{}" },
    test: "deno test -A",
    runner: "deno",
    setup: /deno install --frozen/,
  },
  {
    name: "deno.json with a task of several steps",
    files: { "deno.json": '{"tasks":{"test":"deno lint && deno test"}}' },
    test: "deno task test",
    runner: "deno",
  },
  {
    name: "deno by its files",
    files: { "deno.jsonc": "{}", "lib/area_test.ts": "" },
    test: "deno test --allow-all",
    runner: "deno",
    because: /deno\.jsonc and lib\/area_test\.ts/,
  },
];

export const PYTHON: readonly Layout[] = [
  {
    name: "uv",
    files: {
      "uv.lock": "",
      "pyproject.toml": '[project]\nrequires-python = ">=3.12"\n[tool.pytest.ini_options]\n',
      "tests/test_a.py": "",
    },
    test: "python3 -m pytest",
    runner: "pytest",
    setup: /^uv sync --frozen/,
    needs: ["python ≥ 3.12 (pyproject.toml)"],
  },
  {
    name: "poetry",
    files: {
      "poetry.lock": "",
      "pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.11"\n',
      "tests/test_a.py": "import pytest",
    },
    test: "python3 -m pytest",
    setup: /poetry install/,
    needs: ["python ^3.11 (pyproject.toml)"],
  },
  {
    name: "pdm",
    files: { "pdm.lock": "", "pyproject.toml": "", "tests/test_a.py": "import pytest" },
    test: "python3 -m pytest",
    setup: /^pdm install --frozen-lockfile/,
  },
  {
    name: "pipenv",
    files: {
      "Pipfile.lock": "{}",
      Pipfile: '[requires]\npython_version = "3.11"\n',
      "test_a.py": "import unittest",
    },
    test: "python3 -m unittest discover",
    setup: /pipenv sync --dev/,
    needs: ["python 3.11 (Pipfile)"],
  },
  {
    name: "hatch: its build is what pip installs",
    files: {
      "pyproject.toml":
        '[build-system]\nrequires = ["hatchling"]\n[project]\nname = "x"\n[tool.hatch.envs.default.scripts]\ntest = "pytest {args}"\n',
      "tests/test_a.py": "import pytest",
    },
    test: "python3 -m pytest",
    setup: /pip install .* -e '\.'/,
    note: /script `test`: `pytest/,
  },
  {
    name: "dependency groups",
    files: {
      "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\nlint = ["ruff"]\ntest = ["pytest"]\n',
      "tests/test_a.py": "import pytest",
    },
    test: "python3 -m pytest",
    setup: /--group test$/,
  },
  {
    name: "tox around pytest: the tests themselves are run",
    files: {
      "tox.ini":
        "[tox]\nenvlist = py311\n[testenv]\ndeps =\n    pytest>=8\n    -r requirements.txt\ncommands = pytest {posargs}\n",
      "tests/test_a.py": "import pytest",
    },
    test: "python3 -m pytest",
    setup: /'pytest>=8' -r requirements\.txt/,
    note: /Not run: `tox run`/,
  },
  {
    name: "tox alone",
    files: { "tox.ini": "[testenv]\ncommands = ./check\n" },
    test: "tox run",
    runner: "tox",
    setup: /^tox run --notest$/,
  },
  {
    name: "nox alone",
    files: { "noxfile.py": "import nox\n@nox.session\ndef tests(session): session.run('x')\n" },
    test: "nox --no-install",
    runner: "nox",
    setup: /^nox --install-only$/,
  },
  {
    name: "django",
    files: {
      "manage.py":
        "import os\nos.environ['DJANGO_SETTINGS_MODULE']='x'\nfrom django.core import management\n",
      "shop/tests.py": "from django.test import TestCase",
    },
    test: "python3 manage.py test",
    runner: "unittest",
  },
  {
    name: "setup.cfg asks for a Python",
    files: { "setup.cfg": "[options]\npython_requires = >=3.9\n[tool:pytest]\n", "test_a.py": "" },
    test: "python3 -m pytest",
    needs: ["python ≥ 3.9 (setup.cfg)"],
  },
];
