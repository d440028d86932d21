/** A suite's command for some of its test files, where the runner takes files as arguments. */

import type { DetectedSuite, RunnerKind } from "./verify.ts";

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Commands that end with the runner's call, so that appended files reach it; a runner that is given folders as well runs more, which does no harm. */
const DIRECT: Partial<Record<RunnerKind, RegExp>> = {
  "node-test": /^(?:CI=\S+ )?node(?: --[\w=-]+)* --test(?: --[\w=-]+)*$/,
  vitest: /^(?:npx |pnpm (?:exec )?|yarn )?vitest(?: run)?(?: --?[\w.=-]+)*$/,
  jest: /^(?:npx |pnpm (?:exec )?|yarn )?jest(?: --?[\w.=-]+)*$/,
  pytest: /^(?:python[\d.]* -m )?(?:pytest|py\.test)(?: -[\w=-]+)*$/,
};

/** Scripts of package managers, which hand arguments on behind `--`. */
const SCRIPT = /^(?:npm|pnpm)(?: run)? test$|^npm t$|^(?:npm|pnpm) run [\w:.-]+$/;
const SCRIPTED: ReadonlySet<RunnerKind> = new Set(["node-test", "vitest", "jest"]);

/** The command for these files, paths from the repository root; null: the runner cannot be told, or a file lies outside the suite's directory. */
export function narrowTo(suite: DetectedSuite, files: readonly string[]): string | null {
  if (files.length === 0 || files.length > 50) return null;
  const inside = suite.directory === "." ? "" : `${suite.directory}/`;
  if (!files.every((file) => file.startsWith(inside) && !file.startsWith("-"))) return null;
  const list = files.map((file) => quoted(file.slice(inside.length))).join(" ");
  const command = suite.command.trim();
  if (DIRECT[suite.runner]?.test(command) === true) return `${command} ${list}`;
  return SCRIPT.test(command) && SCRIPTED.has(suite.runner) ? `${command} -- ${list}` : null;
}
