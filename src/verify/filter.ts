/** Narrows a suite's command to matching tests where the runner can be told so, and picks the matching cases where it cannot. */

import { narrowTo } from "./narrow.ts";
import { recognise } from "./runners.ts";
import type { DetectedSuite, RunnerKind, TestCase } from "./verify.ts";

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A filter that names a file or folder, as opposed to a part of a test's name. */
function isPath(filter: string): boolean {
  return (
    !/\s/.test(filter) &&
    (/\//.test(filter) || /\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|rb|php|cs|exs|bats|t)$/.test(filter))
  );
}

/** Arguments for a part of a test's name, appended to a command that calls the runner directly; a path goes the way of files. */
const BY_NAME: Partial<Record<RunnerKind, (name: string) => string>> = {
  vitest: (name) => `-t ${quoted(name)}`,
  jest: (name) => `-t ${quoted(name)}`,
  mocha: (name) => `--fgrep ${quoted(name)}`,
  jasmine: (name) => `--filter=${quoted(name)}`,
  ava: (name) => `--match=${quoted(`*${name}*`)}`,
  pytest: (name) => `-k ${quoted(name)}`,
  unittest: (name) => `-k ${quoted(name)}`,
  rspec: (name) => `-e ${quoted(name)}`,
  bats: (name) => `-f ${quoted(name.replace(/[^\w\s]/g, "."))}`,
  deno: (name) => `--filter ${quoted(name)}`,
  bun: (name) => `-t ${quoted(name.replace(/[^\w\s]/g, "."))}`,
  phpunit: (name) => `--filter ${quoted(name.replace(/[^\w\s]/g, "."))}`,
  dotnet: (name) => `--filter ${quoted(`DisplayName~${name.replace(/[^\w\s.]/g, "")}`)}`,
  ctest: (name) => `-R ${quoted(name.replace(/[^\w\s]/g, "."))}`,
};

/** Commands that end with the runner's call, so that an appended argument reaches it. */
const DIRECT: Partial<Record<RunnerKind, RegExp>> = {
  vitest: /(?:^|\s)vitest(?: run)?$/,
  jest: /(?:^|\s)jest$/,
  mocha: /(?:^|\s)mocha$/,
  jasmine: /(?:^|\s)jasmine$/,
  ava: /(?:^|\s)ava$/,
  pytest: /(?:^|\s)pytest$/,
  unittest: /(?:^|\s)-m unittest discover(?: -s '[^']*')?(?: -p '[^']*')?$/,
  rspec: /(?:^|\s)rspec$/,
  bats: /^bats(?: -r)?(?: [\w./-]+)?$/,
  deno: /(?:^|\s)deno test$/,
  bun: /(?:^|\s)bun test$/,
  phpunit: /(?:^|[\s/])phpunit$/,
  dotnet: /(?:^|\s)dotnet test$/,
  ctest: /(?:^|\s)ctest --test-dir \S+ --output-on-failure$/,
};

/** The suite's command for this filter; the whole suite's where the runner cannot be narrowed from outside. */
export function narrow(suite: DetectedSuite, filter: string | null): string {
  const wanted = filter?.trim() ?? "";
  if (wanted === "" || wanted.startsWith("-")) return suite.command;
  if (isPath(wanted)) {
    const path = wanted.replace(/^\.\//, "");
    const inside = suite.directory === "." || path.startsWith(`${suite.directory}/`);
    return narrowTo(suite, [inside ? path : `${suite.directory}/${path}`]) ?? suite.command;
  }
  const direct =
    DIRECT[suite.runner]?.test(suite.command) === true && recognise(suite.command) === suite.runner;
  const argument = direct ? BY_NAME[suite.runner]?.(wanted) : undefined;
  return argument === undefined ? suite.command : `${suite.command} ${argument}`;
}

/** The cases a filter means, by a part of the id in any letter case; all of them when none matches or there is no filter. */
export function matching(cases: readonly TestCase[], filter: string | null): readonly TestCase[] {
  const wanted = filter?.trim().toLowerCase().replace(/^\.\//, "") ?? "";
  if (wanted === "") return cases;
  const chosen = cases.filter((one) => one.id.toLowerCase().includes(wanted));
  return chosen.length === 0 ? cases : chosen;
}
