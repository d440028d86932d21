/** Set-up for Python: the project's own environment manager, else a virtual environment filled by pip. */

import type { DetectedCommand } from "../verify.ts";
import type { Tree } from "./manifests.ts";
import { inside, upwards } from "./manifests.ts";

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

/** The lines of one TOML table, up to the next header; empty when it is not there. */
function tableOf(text: string, name: string): string {
  const start = text.split("\n").findIndex((line) => line.trim() === `[${name}]`);
  if (start < 0) return "";
  const rest = text.split("\n").slice(start + 1);
  const end = rest.findIndex((line) => /^\s*\[[\w.\s"'-]+\]\s*(?:#.*)?$/.test(line));
  return rest.slice(0, end < 0 ? undefined : end).join("\n");
}

function namesPackages(text: string): boolean {
  return text.split("\n").some((line) => /^\s*[^\s#]/.test(line));
}

interface Manager {
  readonly lock: string;
  /** Text of pyproject.toml that says so without a lock file. */
  readonly mark: RegExp | null;
  readonly command: string;
}

/** Managers of a project's environment; each makes `.venv` beside its lock file. */
const MANAGERS: readonly Manager[] = [
  { lock: "uv.lock", mark: null, command: "uv sync --frozen --all-extras --all-groups" },
  {
    lock: "poetry.lock",
    mark: /^\s*\[tool\.poetry\.group\./m,
    command: "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction --all-extras",
  },
  { lock: "pdm.lock", mark: null, command: "pdm install --frozen-lockfile --dev" },
  { lock: "Pipfile.lock", mark: null, command: "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev" },
];

function managedSetup(tree: Tree, here: string, project: string | null): DetectedCommand | null {
  for (const { lock, mark, command } of MANAGERS) {
    const locked = tree.has(inside(here, lock));
    if (!locked && (mark === null || project === null || !mark.test(project))) continue;
    return { command, directory: here, because: inside(here, locked ? lock : "pyproject.toml") };
  }
  return null;
}

/** What tox would install before the tests: plain requirements of `[testenv]`, without those of single environments. */
function toxDependencies(text: string | null): readonly string[] {
  const list =
    text === null
      ? undefined
      : /^\[testenv\]\s*\n(?:(?!\[).*\n)*?deps\s*=\s*((?:.*\n)(?:[ \t]+.*\n)*)/m.exec(`${text}\n`)?.[1];
  return (list ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^(?:-r\s*)?[\w./-]+(?:\[[\w,-]+\])?(?:\s*[<>=!~]=?\s*[\w.*,<>=!~ ]+)?$/.test(line))
    .map((line) => (line.startsWith("-r") ? `-r ${line.slice(2).trim()}` : `'${line}'`));
}

/**
 * A virtual environment at `/workspace/.venv`: it travels with copies of the workspace (its paths are absolute, and the workspace
 * has the same path in every session), sees the system's packages, and is noise that no tree takes.
 */
export async function pythonSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  for (const here of upwards(directory)) {
    const managed = managedSetup(tree, here, await tree.text(inside(here, "pyproject.toml")));
    if (managed !== null) return managed;
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
    const tox = toxDependencies(await tree.text(inside(here, "tox.ini")));
    const group = /^\s*(tests?|dev)\s*=/m.exec(tableOf(project ?? "", "dependency-groups"))?.[1];
    if (named.length === 0 && !installable && tox.length === 0 && group === undefined) continue;
    const extra = /^\s*(tests?|dev)\s*=\s*\[/m.exec(tableOf(project ?? "", "project.optional-dependencies"));
    const wanted = [
      ...named.map((name) => `-r ${name}`),
      ...(group === undefined ? [] : [`--group ${group}`]),
      ...tox.filter((one) => !named.includes(one.replace(/^-r /, ""))),
      ...(installable ? [`-e '.${extra === null ? "" : `[${extra[1]}]`}'`] : []),
    ];
    return {
      command: `python3 -m venv --system-site-packages /workspace/.venv && /workspace/.venv/bin/python -m pip install --no-input --disable-pip-version-check ${wanted.join(" ")}`,
      directory: here,
      because:
        named[0] === undefined
          ? inside(here, project !== null ? "pyproject.toml" : installable ? "setup.py" : "tox.ini")
          : inside(here, named[0]),
    };
  }
  return null;
}
