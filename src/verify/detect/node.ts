/** Detection for JavaScript: package manager and set-up by searching upwards, the test command from scripts or from test files. */

import { recognise } from "../runners.ts";
import { isTestCode } from "../test-files.ts";
import type { Detected, DetectedCommand, DetectedSuite, RunnerKind } from "../verify.ts";
import { asksToWatch, mayWatch, neverEnds, withoutWatch } from "../watch.ts";
import type { PackageJson, Tree } from "./manifests.ts";
import { directoryOf, inside, packageAt, upwards } from "./manifests.ts";

interface Manager {
  readonly name: string;
  readonly locks: readonly string[];
  readonly install: string;
  /** Without a lock file there is nothing to install exactly, and none must be written. */
  readonly installUnlocked: string;
  /** Runs a script of package.json; the name is appended. */
  readonly script: string;
  /** Runs the test script of every workspace. */
  readonly everywhere: string;
}

const MANAGERS: readonly Manager[] = [
  {
    name: "pnpm",
    locks: ["pnpm-lock.yaml"],
    install: "pnpm install --frozen-lockfile",
    installUnlocked: "pnpm install --no-lockfile",
    script: "pnpm run",
    everywhere: "pnpm -r --if-present run test",
  },
  {
    name: "yarn",
    locks: ["yarn.lock"],
    install: "yarn install --frozen-lockfile",
    installUnlocked: "yarn install --no-lockfile",
    script: "yarn run",
    everywhere: "yarn workspaces run test",
  },
  {
    name: "bun",
    locks: ["bun.lock", "bun.lockb"],
    install: "bun install --frozen-lockfile",
    installUnlocked: "bun install --no-save",
    script: "bun run",
    everywhere: "bun run --filter '*' test",
  },
  {
    name: "npm",
    locks: ["package-lock.json", "npm-shrinkwrap.json"],
    install: "npm ci --no-audit --no-fund",
    installUnlocked: "npm install --no-package-lock --no-audit --no-fund",
    script: "npm run",
    everywhere: "npm test --workspaces --if-present",
  },
];

const YARN_BERRY: Partial<Manager> = {
  install: "yarn install --immutable",
  installUnlocked: "yarn install",
  everywhere: "yarn workspaces foreach -A run test",
};

interface Found {
  readonly manager: Manager;
  /** Where set-up runs: beside the lock file, else at the workspace root. */
  readonly directory: string;
  readonly locked: boolean;
  readonly because: string;
}

/** Searches upwards for `packageManager` and for a lock file; the nearest of each counts (FAULTS G10). */
async function findManager(tree: Tree, directory: string): Promise<Found> {
  let named: { readonly name: string; readonly directory: string } | null = null;
  let top = directory;
  let lock: { readonly manager: Manager; readonly path: string; readonly directory: string } | null = null;
  for (const here of upwards(directory)) {
    const manifest = await packageAt(tree, here);
    if (manifest?.packageManager != null)
      named ??= { name: manifest.packageManager.split("@")[0] ?? "", directory: here };
    if (manifest?.workspaces === true || tree.has(inside(here, "pnpm-workspace.yaml"))) top = here;
    for (const manager of MANAGERS) {
      const path = manager.locks.map((name) => inside(here, name)).find((candidate) => tree.has(candidate));
      if (path !== undefined) lock ??= { manager, path, directory: here };
    }
  }
  const chosen = MANAGERS.find((manager) => manager.name === named?.name);
  const base = chosen ?? lock?.manager ?? (MANAGERS.find((manager) => manager.name === "npm") as Manager);
  const locked = lock !== null && lock.manager.name === base.name;
  const berry =
    base.name === "yarn" && upwards(directory).some((here) => tree.has(inside(here, ".yarnrc.yml")));
  return {
    manager: berry ? { ...base, ...YARN_BERRY } : base,
    directory: locked && lock !== null ? lock.directory : top,
    locked,
    because:
      chosen !== undefined && named !== null
        ? `packageManager in ${inside(named.directory, "package.json")}`
        : locked && lock !== null
          ? lock.path
          : "package.json without a lock file",
  };
}

async function findSetup(tree: Tree, found: Found, directory: string): Promise<DetectedCommand | null> {
  const own = await packageAt(tree, directory);
  const root = await packageAt(tree, found.directory);
  const wanted = [own, root].some(
    (manifest) => manifest !== null && (manifest.dependencies.length > 0 || manifest.workspaces),
  );
  if (!wanted) return null;
  return {
    command: found.locked ? found.manager.install : found.manager.installUnlocked,
    directory: found.directory,
    because: found.because,
  };
}

/** Scripts that say there are no tests, or that succeed whatever the code does. */
function isEmptyScript(script: string): boolean {
  return (
    /no tests? (?:specified|yet|defined|here)|tests? not (?:implemented|specified)/i.test(script) ||
    /^\s*(?:true|:|exit \d+|(?:echo|printf)\b[^&|;]*(?:(?:&&|;)\s*(?:exit \d+|true)\s*)?)?\s*$/.test(script)
  );
}

const SCRIPT_NAMES = [
  "test",
  "test:ci",
  "ci:test",
  "test:unit",
  "unit",
  "tests",
  "test:run",
  "test:once",
] as const;

function testScript(manifest: PackageJson): { readonly name: string; readonly text: string } | null {
  for (const name of SCRIPT_NAMES) {
    const text = manifest.scripts[name];
    if (text !== undefined && !isEmptyScript(text) && neverEnds(text) === null) return { name, text };
  }
  return null;
}

/** The runner behind a script: its own text, else that of the scripts it starts by `run`. */
export function runnerOfScript(manifest: PackageJson, text: string, depth = 0): RunnerKind {
  const own = recognise(text);
  if (own !== "unknown" || depth > 3) return own;
  for (const call of text.matchAll(
    /\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:-s\s+|--silent\s+)?([\w:.-]+)/g,
  )) {
    const next = manifest.scripts[call[1] ?? ""];
    if (next === undefined || next === text) continue;
    const runner = runnerOfScript(manifest, next, depth + 1);
    if (runner !== "unknown") return runner;
  }
  return "unknown";
}

function scriptCommand(manager: Manager, name: string): string {
  return name === "test" && manager.name !== "bun" ? `${manager.name} test` : `${manager.script} ${name}`;
}

function suiteFromScript(
  found: Found,
  directory: string,
  manifest: PackageJson,
): { readonly suite: DetectedSuite; readonly notes: readonly string[] } | null {
  const script = testScript(manifest);
  if (script === null) return null;
  const runner = runnerOfScript(manifest, script.text);
  const where = `scripts.${script.name} in ${inside(directory, "package.json")}`;
  const plain = { directory, runner, because: where };
  if (asksToWatch(script.text))
    return {
      suite: {
        ...plain,
        command: `PATH="$PWD/node_modules/.bin:/workspace/node_modules/.bin:$PATH"; ${withoutWatch(script.text)}`,
        because: `${where}, without watch mode`,
      },
      notes: [`${where} asks for watch mode, which never ends: run once instead.`],
    };
  const command = scriptCommand(found.manager, script.name);
  if (!mayWatch(script.text)) return { suite: { ...plain, command }, notes: [] };
  const separator = found.manager.name === "npm" ? " --" : "";
  return {
    suite: {
      ...plain,
      command: `${command}${separator} --run`,
      because: `${where}, with --run since vitest alone may watch`,
    },
    notes: [],
  };
}

const SEARCHED_FILES = 40;

/** No test script: the runner is known from the dependencies or from what the test files import. */
async function suiteFromFiles(
  tree: Tree,
  directory: string,
  manifest: PackageJson | null,
): Promise<DetectedSuite | null> {
  const prefix = directory === "." ? "" : `${directory}/`;
  const tests = tree.paths.filter(
    (path) =>
      path.startsWith(prefix) && !path.endsWith(".py") && isTestCode(path) && !path.includes("node_modules/"),
  );
  const first = tests[0];
  if (first === undefined) return null;
  for (const [name, command] of [
    ["vitest", "npx --no-install vitest run"],
    ["jest", "npx --no-install jest"],
    ["mocha", "npx --no-install mocha"],
    ["ava", "npx --no-install ava"],
    ["tap", "npx --no-install tap"],
    ["jasmine", "npx --no-install jasmine"],
    ["uvu", "npx --no-install uvu"],
  ] as const)
    if (manifest?.dependencies.includes(name))
      return {
        command,
        directory,
        runner: name,
        because: `${name} in ${inside(directory, "package.json")} and ${first}`,
      };
  for (const path of tests.slice(0, SEARCHED_FILES)) {
    const text = await tree.text(path);
    if (text !== null && /(?:from\s*|require\(\s*|import\(\s*|import\s+)["']node:test["']/.test(text))
      return { command: "node --test", directory, runner: "node-test", because: `${path} imports node:test` };
    if (text !== null && /from\s*["']bun:test["']/.test(text))
      return { command: "bun test", directory, runner: "bun", because: `${path} imports bun:test` };
  }
  return null;
}

/** The runner of several packages below a workspace root that has no tests of its own; null: there are none, or one. */
async function runnerOfPackages(tree: Tree, root: PackageJson | null): Promise<RunnerKind | null> {
  if (root?.workspaces !== true && !tree.has("pnpm-workspace.yaml")) return null;
  const runners: RunnerKind[] = [];
  for (const path of tree.paths) {
    if (!path.endsWith("/package.json") || path.includes("node_modules/")) continue;
    const manifest = await packageAt(tree, directoryOf(path));
    const script = manifest === null ? null : testScript(manifest);
    if (manifest !== null && script !== null) runners.push(runnerOfScript(manifest, script.text));
  }
  const [only, ...others] = runners;
  // One package with tests is found as the only project with some, and its tests are run where they are.
  if (only === undefined || others.length === 0) return null;
  return others.every((other) => other === only) ? only : "unknown";
}

/** Setup for a directory alone, for a test command that was configured. */
export async function nodeSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  const home = upwards(directory).find((here) => tree.has(inside(here, "package.json")));
  if (home === undefined) return null;
  return findSetup(tree, await findManager(tree, home), home);
}

/** What JavaScript offers in this directory of the commit; null: this is no JavaScript project, or one without tests. */
export async function detectNode(tree: Tree, directory: string): Promise<Detected | null> {
  const manifest = await packageAt(tree, directory);
  const found = await findManager(tree, directory);
  if (manifest !== null) {
    const chosen = suiteFromScript(found, directory, manifest);
    if (chosen !== null)
      return { setup: await findSetup(tree, found, directory), test: chosen.suite, notes: chosen.notes };
  }
  if (directory === ".") {
    const packages = await runnerOfPackages(tree, manifest);
    if (packages !== null)
      return {
        setup: await findSetup(tree, found, "."),
        test: {
          command: found.manager.everywhere,
          directory: ".",
          runner: packages,
          because: "test scripts of several workspaces",
        },
        notes: [
          "The tests of all workspaces are run; `working_directory` in .github/agent-fix.yml narrows that.",
        ],
      };
  }
  const test = await suiteFromFiles(tree, directory, manifest);
  return test === null ? null : { setup: await findSetup(tree, found, directory), test, notes: [] };
}
