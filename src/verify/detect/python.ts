/** Detection for Python: pytest by its configuration or its use, else unittest; dependencies go into a virtual environment. */

import { isTestCode } from "../test-files.ts";
import type { Detected, DetectedCommand, DetectedSuite } from "../verify.ts";
import type { Tree } from "./manifests.ts";
import { directoryOf, inside, upwards } from "./manifests.ts";

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

const REQUIREMENT_FILES = [
  "requirements.txt",
  "requirements-dev.txt",
  "requirements-test.txt",
  "requirements_dev.txt",
  "requirements/test.txt",
  "requirements/dev.txt",
  "dev-requirements.txt",
  "test-requirements.txt",
] as const;

function namesPackages(text: string): boolean {
  return text.split("\n").some((line) => /^\s*[^\s#]/.test(line));
}

/**
 * A virtual environment at `/workspace/.venv`: it travels with copies of the workspace (its paths are absolute, and the workspace
 * has the same path in every session), sees the system's packages, and is noise that no tree takes.
 */
export async function pythonSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  for (const here of upwards(directory)) {
    const named: string[] = [];
    for (const name of REQUIREMENT_FILES) {
      const text = await tree.text(inside(here, name));
      if (text !== null && namesPackages(text)) named.push(name);
    }
    const project = await tree.text(inside(here, "pyproject.toml"));
    const installable =
      (project !== null &&
        /^\s*\[(?:project|tool\.poetry)\]/m.test(project) &&
        /^\s*\[build-system\]/m.test(project)) ||
      tree.has(inside(here, "setup.py"));
    if (named.length === 0 && !installable) continue;
    const extra = project === null ? null : /^\s*(tests?|dev)\s*=\s*\[/m.exec(project);
    const wanted = [
      ...named.map((name) => `-r ${name}`),
      ...(installable ? [`-e '.${extra === null ? "" : `[${extra[1]}]`}'`] : []),
    ];
    return {
      command: `python3 -m venv --system-site-packages /workspace/.venv && /workspace/.venv/bin/python -m pip install --no-input --disable-pip-version-check ${wanted.join(" ")}`,
      directory: here,
      because:
        named[0] === undefined
          ? inside(here, project === null ? "setup.py" : "pyproject.toml")
          : inside(here, named[0]),
    };
  }
  return null;
}

/** What Python offers in this directory of the commit; null: no Python tests there. */
export async function detectPython(tree: Tree, directory: string): Promise<Detected | null> {
  const tests = testsBelow(tree, directory);
  if (tests.every((path) => path.endsWith("conftest.py"))) return null;
  const reason = await pytestReason(tree, directory, tests);
  const test: DetectedSuite | null =
    reason === null
      ? await unittestSuite(tree, directory, tests)
      : { command: "python3 -m pytest", directory, runner: "pytest", because: reason };
  return test === null ? null : { setup: await pythonSetup(tree, directory), test, notes: [] };
}
