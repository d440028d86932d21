/** Finds the test runners that the verdict bench needs: those of npm in a cache folder (installed once), pytest on the machine, the rest on the path. */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ecosystem } from "./verdict-cases.ts";
import type { Runners } from "./verdict-run.ts";

const PACKAGES = { jest: "30.5.2", mocha: "11.8.0", vitest: "3.2.7" };
const PYTEST_PARTS = ["pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py"];

function cache(): string {
  return join(process.env.XDG_CACHE_HOME ?? tmpdir(), "agent-fix-bench-runners");
}

function nodeModules(): string | null {
  const root = cache();
  const modules = join(root, "node_modules");
  const there = Object.keys(PACKAGES).every((name) => existsSync(join(modules, name, "package.json")));
  if (there) return modules;
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "package.json"), JSON.stringify({ private: true, dependencies: PACKAGES }));
  const installed = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return installed.status === 0 ? modules : null;
}

function pytest(): string | null {
  const target = join(cache(), "python");
  if (existsSync(join(target, "pytest"))) return target;
  const where = "import pytest, os; print(os.path.dirname(os.path.dirname(pytest.__file__)))";
  const found = spawnSync("python3", ["-c", where], { encoding: "utf8" });
  if (found.status !== 0) return null;
  for (const name of PYTEST_PARTS) {
    const from = join(found.stdout.trim(), name);
    const filter = (path: string) => !path.includes("__pycache__");
    if (existsSync(from)) cpSync(from, join(target, name), { recursive: true, filter });
  }
  return existsSync(join(target, "pytest")) ? target : null;
}

export async function findRunners(): Promise<Runners> {
  return { nodeModules: nodeModules(), python: pytest() };
}

/** Why an ecosystem cannot be run here; null: it can. */
export function missingFor({ name, command }: Ecosystem, runners: Runners): string | null {
  if (/^(?:mocha|jest|vitest)$/.test(name))
    return runners.nodeModules === null ? "its packages could not be installed from npm" : null;
  if (name === "pytest") return runners.python === null ? "python3 has no pytest (pip install pytest)" : null;
  const programs: Readonly<Record<string, string>> = {
    cargo: "cargo",
    junit: "javac",
    make: "gcc",
    ctest: "ctest",
  };
  const program = programs[name] ?? command.split(/\s+/)[0] ?? "";
  const found = spawnSync("sh", ["-c", `command -v ${program}`]);
  return found.status === 0 ? null : `${program} is not installed (scripts/setup-system.sh tells how)`;
}
