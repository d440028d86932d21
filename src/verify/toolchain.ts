/** Recognises that a suite did not run because a program is not there, or is too old or too new for the repository. */

import type { SuiteResult, ToolNeed } from "./verify.ts";

const SHELL_CANNOT_FIND = 127;

/** A program that is not there; the first group is its name. */
const MISSING: readonly RegExp[] = [
  /(?:^|\s)([\w@./+-]+): command not found/,
  /(?:^|\s)(?:\/bin\/)?(?:ba|da)?sh: (?:line )?\d+: (?:exec: )?([\w@./+-]+): not found/,
  /\/usr\/bin\/env: [‘'`"]?([\w.+-]+)[’'"]?: No such file or directory/,
  /No module named '?(pytest|unittest2|nose2?|tox|nox|poetry|hatch|pdm|pipenv|uv)'?\s*(?:\n|$)/,
  /(?:^|\n)(?:g?make): ([\w./+-]+): No such file or directory/,
  /^error: no such command: `(\w+)`/m,
  /The JAVA_HOME environment variable is not defined correctly|JAVA_HOME is not set and no '(java)' command/,
  /CMake Error: CMake was unable to find a build program corresponding to "([\w ]+)"/,
  /No CMAKE_(C|CXX)_COMPILER could be found/,
  /A compatible \.NET SDK was not found|The command could not be loaded, possibly because:\s*\n[^\n]*(dotnet)/,
  /Could not find '?(bundler|rake|rspec|minitest)'? \(/,
  /error: toolchain '([^']+)' is not installed/,
];

/** A program of the wrong version: its name, then what the text says is wanted. */
const WRONG: readonly (readonly [tool: string, pattern: RegExp])[] = [
  ["go", /go\.(?:mod|work)(?: file)?(?: at [^\n]*)? requires go >= ?([\w.]+)/],
  ["go", /invalid go version '([\w.]+)': must match format/],
  ["go", /note: module requires Go ([\d.]+)/],
  ["rust", /requires rustc ([\d.]+)(?: or newer)?/],
  ["rust", /feature `?(edition\d+)`? is required/],
  ["rust", /lock file version `?(\d+)`? requires/],
  ["node", /(?:Unsupported engine|EBADENGINE)[\s\S]{0,400}?required: \{[^}]*node: '([^']+)'/],
  ["node", /The engine "node" is incompatible with this module\. Expected version "([^"]+)"/],
  ["node", /ERR_PNPM_UNSUPPORTED_ENGINE[\s\S]{0,200}?Expected version: ([^\n]+)/],
  ["python", /requires a different Python: \S+ not in '?"?([^'"\n]+)/],
  ["python", /Requires-Python ([^\s;]+)/],
  ["python", /requires Python ([^\s,]+)(?:,| but|\.\s)/],
  ["python", /The currently activated Python version \S+ is not supported by the project \(([^)]+)\)/],
  [
    "java",
    /(?:invalid source release|release version|invalid target release)[:\s]+(\d+)(?:\s+not supported)?/,
  ],
  ["java", /class file version (\d+)[\s\S]{0,200}?only recognizes class file versions/],
  ["java", /Cannot find a Java installation on your machine[^\n]*languageVersion=(\d+)/],
  ["java", /No matching toolchains? found for requested specification: \{languageVersion=(\d+)/],
  ["ruby", /Your Ruby version is [\d.]+, but your Gemfile specified ([^\n]+)/],
  ["php", /Root composer\.json requires php ([^\n]+?) but your php version/],
  ["php", /Your Composer dependencies require a PHP version "([^"]+)"/],
  ["dotnet", /The current \.NET SDK does not support targeting \.NET (\d+(?:\.\d+)*)/],
  ["dotnet", /Requested SDK version: ([\w.-]+)/],
  [
    "elixir",
    /You're trying to run [^\n]* but it has declared in its mix\.exs file it supports only Elixir ([^\n]+)/,
  ],
  ["cmake", /CMake ([\d.]+) or higher is required/],
  ["meson", /Meson version is [\d.]+ but project requires ([^\n]+?)\.?\s*(?:\n|$)/],
  ["perl", /Perl v?([\d.]+) required--this is only/],
  ["deno", /Unsupported lockfile version '?(\d+)/],
];

const FAMILIES: readonly (readonly [program: RegExp, tool: string])[] = [
  [/^(?:node|npm|npx)$/, "node"],
  [/^python[\d.]*$/, "python"],
  [/^(?:cargo|rustc|rustup)$/, "rust"],
  [/^(?:javac?|mvn|gradle)$/, "java"],
  [/^(?:ruby|bundle|bundler|rake|rspec|gem)$/, "ruby"],
  [/^(?:php|composer|phpunit)$/, "php"],
  [/^(?:mix|elixir)$/, "elixir"],
];

/** A name with the version the manifests want: `go ≥ 1.23 (go.mod)`; the name alone when they say nothing. */
function withVersion(program: string, needs: readonly ToolNeed[]): string {
  const tool = FAMILIES.find(([pattern]) => pattern.test(program))?.[1] ?? program;
  const need = needs.find((one) => one.tool === tool || one.tool === program);
  if (need === undefined || need.version === "") return program;
  const named = program === need.tool ? program : `${program} (of ${need.tool})`;
  return `${named} ${need.version} (${need.from})`;
}

/** The program that a text names as not there or as unfit, with the version that is wanted; null: it names none. */
export function toolMissingIn(text: string, needs: readonly ToolNeed[] = []): string | null {
  for (const [tool, pattern] of WRONG) {
    const wanted = pattern.exec(text)?.[1];
    if (wanted === undefined) continue;
    const need = needs.find((one) => one.tool === tool);
    if (need !== undefined && need.version !== "") return `${tool} ${need.version} (${need.from})`;
    const sign = /^\d/.test(wanted) && tool !== "php" ? "≥ " : "";
    return `${tool} ${sign}${wanted.trim().slice(0, 60)}`;
  }
  for (const pattern of MISSING) {
    const found = pattern.exec(text);
    if (found !== null) return withVersion(found[1] ?? "java", needs);
  }
  return null;
}

/** The name of the missing program, or null; only a run that reported no test and failed can say so. */
export function missingTool(result: SuiteResult, needs: readonly ToolNeed[] = []): string | null {
  const { exitCode, stopped } = result.evidence;
  if (stopped !== null || exitCode === 0 || exitCode === null || result.cases.length > 0) return null;
  return (
    toolMissingIn(result.output, needs) ??
    (exitCode === SHELL_CANNOT_FIND ? "the program that runs the tests" : null)
  );
}
