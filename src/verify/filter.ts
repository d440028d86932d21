/** Narrows a suite's command to matching tests where the runner can be told so, and picks the matching cases where it cannot. */

import { recognise } from "./runners.ts";
import type { DetectedSuite, RunnerKind, TestCase } from "./verify.ts";

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A filter that names a file or folder, as opposed to a part of a test's name. */
function isPath(filter: string): boolean {
  return !/\s/.test(filter) && (/\//.test(filter) || /\.(?:[cm]?[jt]sx?|py)$/.test(filter));
}

/** A path in a filter is from the repository root; runners want it from the directory they start in. */
function fromDirectory(path: string, directory: string): string {
  const clean = path.replace(/^\.\//, "");
  return directory !== "." && clean.startsWith(`${directory}/`) ? clean.slice(directory.length + 1) : clean;
}

type Narrow = (filter: string, isPath: boolean) => string | null;

/** Arguments appended to a command that calls the runner directly; null: the runner cannot be narrowed that way. */
const ARGUMENTS: Partial<Record<RunnerKind, Narrow>> = {
  "node-test": (filter, path) => (path ? quoted(filter) : null),
  vitest: (filter, path) => (path ? quoted(filter) : `-t ${quoted(filter)}`),
  jest: (filter, path) => (path ? quoted(filter) : `-t ${quoted(filter)}`),
  pytest: (filter, path) => (path ? quoted(filter) : `-k ${quoted(filter)}`),
  unittest: (filter, path) => (path ? null : `-k ${quoted(filter)}`),
};

/** Commands that end with the runner's call, so that an appended argument reaches it. */
const DIRECT: Partial<Record<RunnerKind, RegExp>> = {
  "node-test": /^node --test$/,
  vitest: /(?:^|\s)vitest(?: run)?$/,
  jest: /(?:^|\s)jest$/,
  pytest: /(?:^|\s)pytest$/,
  unittest: /(?:^|\s)-m unittest discover(?: -s '[^']*')?(?: -p '[^']*')?$/,
};

/** The suite's command for this filter; the whole suite's where the runner cannot be narrowed from outside. */
export function narrow(suite: DetectedSuite, filter: string | null): string {
  const wanted = filter?.trim() ?? "";
  if (wanted === "" || wanted.startsWith("-")) return suite.command;
  const direct =
    DIRECT[suite.runner]?.test(suite.command) === true && recognise(suite.command) === suite.runner;
  if (!direct) return suite.command;
  const path = isPath(wanted);
  const argument =
    ARGUMENTS[suite.runner]?.(path ? fromDirectory(wanted, suite.directory) : wanted, path) ?? null;
  return argument === null ? suite.command : `${suite.command} ${argument}`;
}

/** The cases a filter means, by a part of the id in any letter case; all of them when none matches or there is no filter. */
export function matching(cases: readonly TestCase[], filter: string | null): readonly TestCase[] {
  const wanted = filter?.trim().toLowerCase().replace(/^\.\//, "") ?? "";
  if (wanted === "") return cases;
  const chosen = cases.filter((one) => one.id.toLowerCase().includes(wanted));
  return chosen.length === 0 ? cases : chosen;
}
