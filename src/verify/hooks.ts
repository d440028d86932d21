/** The report hooks: files placed beside the workspace and the environment that makes each runner load them. */

import { readFile } from "node:fs/promises";
import type { HookFamily } from "./runners.ts";

/** Where reports and hooks are seen inside the sandbox. */
export const REPORTS = "/reports";
const HOOKS = `${REPORTS}/hooks`;

const HOOK_FILES = [
  "node-reporter.mjs",
  "argv.cjs",
  "suite_report.py",
  "unittest_report.py",
  "sitecustomize.py",
] as const;

/**
 * How the hooks are attached. Two of them can collide with what a script already does, which shows in the output:
 * Node wants as many destinations as reporters, and a script that sets PYTHONPATH hides our pytest plugin.
 */
export interface HookVariant {
  /** `beside`: the script names one reporter itself, without a destination. */
  readonly nodeReporter: "own" | "beside";
  readonly pytest: "plugin" | "junit";
}

export const FIRST_VARIANT: HookVariant = { nodeReporter: "own", pytest: "plugin" };

/** The variant to try when the output shows that this one kept the runner from starting; null: the output shows no such thing. */
export function nextVariant(variant: HookVariant, output: string): HookVariant | null {
  if (variant.nodeReporter === "own" && /'--test-reporter' must match the number of specified/.test(output))
    return { ...variant, nodeReporter: "beside" };
  if (variant.pytest === "plugin" && /Error importing plugin "suite_report"/.test(output))
    return { ...variant, pytest: "junit" };
  return null;
}

/** Environment for a run; everything it names lies under `/reports`. */
export function hookEnvironment(
  families: readonly HookFamily[],
  variant: HookVariant,
): Readonly<Record<string, string>> {
  const ours = `--test-reporter=${HOOKS}/node-reporter.mjs --test-reporter-destination=stderr`;
  const theirs =
    variant.nodeReporter === "own"
      ? "--test-reporter=spec --test-reporter-destination=stdout"
      : "--test-reporter-destination=stdout";
  const node = { NODE_OPTIONS: `--require=${HOOKS}/argv.cjs ${ours} ${theirs}` };
  const python = {
    PYTHONPATH: HOOKS,
    PYTHONDONTWRITEBYTECODE: "1",
    PYTEST_ADDOPTS:
      variant.pytest === "plugin"
        ? "-p suite_report"
        : `--junitxml=${REPORTS}/junit-pytest.xml -o junit_family=xunit1`,
  };
  return { ...(families.includes("node") ? node : {}), ...(families.includes("python") ? python : {}) };
}

/**
 * Shell text that empties `/reports`, writes the hooks there and prints the workspace's real path. It runs inside the sandbox,
 * so that a link planted there by an earlier command leads nowhere on the host.
 */
export async function prepareScript(): Promise<string> {
  const parts = await Promise.all(
    HOOK_FILES.map(async (name) => {
      const text = await readFile(new URL(`./hooks/${name}`, import.meta.url), "utf8");
      return `cat > ${HOOKS}/${name} <<'END_OF_HOOK'\n${text}\nEND_OF_HOOK`;
    }),
  );
  return [
    "set -e",
    `find ${REPORTS} -mindepth 1 -delete`,
    `mkdir ${HOOKS}`,
    ...parts,
    "cd /workspace && pwd -P",
  ].join("\n");
}
