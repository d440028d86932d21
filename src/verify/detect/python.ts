/** Detection for Python: pytest by its configuration or its use, else unittest; dependencies go into a virtual environment. */

import { recognise } from "../runners.ts";
import { isTestCode } from "../test-files.ts";
import type { Detected, DetectedSuite } from "../verify.ts";
import type { Tree } from "./manifests.ts";
import { directoryOf, inside } from "./manifests.ts";
import { pythonSetup } from "./python-setup.ts";

/** A file that configures pytest, and the text in it that says so; null: the file's presence is enough. */
const PYTEST_CONFIGURATION: readonly (readonly [name: string, mark: RegExp | null])[] = [
  ["pytest.ini", null],
  [".pytest.ini", null],
  ["pyproject.toml", /^\s*\[tool\.pytest\b/m],
  ["tox.ini", /^\s*\[pytest\]/m],
  ["setup.cfg", /^\s*\[tool:pytest\]/m],
  ["conftest.py", null],
];

const SEARCHED_FILES = 60;

function testsBelow(tree: Tree, directory: string): readonly string[] {
  const prefix = directory === "." ? "" : `${directory}/`;
  return tree.paths.filter((path) => path.startsWith(prefix) && path.endsWith(".py") && isTestCode(path));
}

async function pytestReason(tree: Tree, directory: string, tests: readonly string[]): Promise<string | null> {
  for (const [name, mark] of PYTEST_CONFIGURATION) {
    const path = inside(directory, name);
    const text = await tree.text(path);
    if (text !== null && (mark === null || mark.test(text))) return path;
  }
  const nested = tests.find((path) => path.endsWith("/conftest.py"));
  if (nested !== undefined) return nested;
  for (const path of tests.slice(0, SEARCHED_FILES)) {
    const text = await tree.text(path);
    if (text === null) continue;
    if (/^\s*(?:import pytest|from pytest\b)/m.test(text)) return `${path} imports pytest`;
    if (/^(?:async )?def test_/m.test(text) && !/^\s*(?:import|from) unittest\b/m.test(text))
      return `${path} has test functions`;
  }
  return null;
}

/** unittest's discovery descends only into packages: it is started in the folder that holds the tests unless that is one. */
async function unittestSuite(
  tree: Tree,
  directory: string,
  tests: readonly string[],
): Promise<DetectedSuite | null> {
  for (const path of tests.slice(0, SEARCHED_FILES)) {
    const text = await tree.text(path);
    if (text === null || !/\bunittest\b/.test(text)) continue;
    const folder = directoryOf(path);
    const isPackage = folder === directory || tree.has(inside(folder, "__init__.py"));
    const start = directory === "." ? folder : folder.slice(directory.length + 1);
    const name = path.slice(path.lastIndexOf("/") + 1);
    const pattern = name.startsWith("test") ? "" : " -p '*_test.py'";
    return {
      command: `python3 -m unittest discover${isPackage ? "" : ` -s '${start.replaceAll("'", "")}'`}${pattern}`,
      directory,
      runner: "unittest",
      because: `${path} uses unittest`,
    };
  }
  return null;
}

interface Wrapper {
  readonly file: string;
  readonly mark: RegExp;
  readonly runner: "tox" | "nox";
  readonly setup: string;
  readonly command: string;
}

/** Used where the tests themselves do not say what runs them; their environments are made by set-up and kept in the workspace. */
const WRAPPERS: readonly Wrapper[] = [
  {
    file: "tox.ini",
    mark: /^\s*\[(?:tox|testenv)/m,
    runner: "tox",
    setup: "tox run --notest",
    command: "tox run",
  },
  { file: "tox.toml", mark: /./, runner: "tox", setup: "tox run --notest", command: "tox run" },
  {
    file: "pyproject.toml",
    mark: /^\s*\[tool\.tox\b/m,
    runner: "tox",
    setup: "tox run --notest",
    command: "tox run",
  },
  {
    file: "noxfile.py",
    mark: /\bnox\.session\b|@session\b/,
    runner: "nox",
    setup: "nox --install-only",
    command: "nox --no-install",
  },
];

async function wrapped(tree: Tree, directory: string): Promise<Detected | null> {
  for (const { file, mark, runner, setup, command } of WRAPPERS) {
    const path = inside(directory, file);
    const text = await tree.text(path);
    if (text === null || !mark.test(text)) continue;
    return {
      setup: { command: setup, directory, because: path },
      test: { command, directory, runner, because: path },
      notes: [],
    };
  }
  return null;
}

/** Django's own test command; pytest-django has a pytest configuration and comes before. */
async function djangoSuite(tree: Tree, directory: string): Promise<DetectedSuite | null> {
  const path = inside(directory, "manage.py");
  const text = await tree.text(path);
  if (text === null || !/\bdjango\b/.test(text)) return null;
  return { command: "python3 manage.py test", directory, runner: "unittest", because: path };
}

/** What hatch would run as `hatch test` or by a script of its own, for people. */
function otherWays(project: string | null): readonly string[] {
  const script = project === null ? undefined : /^\s*test\s*=\s*"([^"]+)"/m.exec(project)?.[1];
  return script !== undefined && recognise(script) !== "unknown"
    ? [`pyproject.toml also has a script \`test\`: \`${script}\`.`]
    : [];
}

/** What Python offers in this directory of the commit; null: no Python tests there. */
export async function detectPython(tree: Tree, directory: string): Promise<Detected | null> {
  const tests = testsBelow(tree, directory);
  const django = await djangoSuite(tree, directory);
  if (tests.every((path) => path.endsWith("conftest.py")) && django === null) return wrapped(tree, directory);
  const reason = await pytestReason(tree, directory, tests);
  const test: DetectedSuite | null =
    reason === null
      ? (django ?? (await unittestSuite(tree, directory, tests)))
      : { command: "python3 -m pytest", directory, runner: "pytest", because: reason };
  if (test === null) return wrapped(tree, directory);
  const other = await wrapped(tree, directory);
  const project = await tree.text(inside(directory, "pyproject.toml"));
  return {
    setup: await pythonSetup(tree, directory),
    test,
    notes: [
      ...(other?.test == null
        ? []
        : [`Not run: \`${other.test.command}\` (${other.test.because}), which would start the same tests.`]),
      ...otherWays(project),
    ],
  };
}
