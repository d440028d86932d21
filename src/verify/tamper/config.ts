/** Compares the files that say how tests are run: manifests, configuration, make files, lock files, aliases, CI. */

import type { TamperFinding } from "#src/run/verdict.ts";
import type { ChangedFile } from "#src/workspace/workspace.ts";
import { recipeOf } from "../detect/make.ts";
import { surplus } from "./assertions.ts";
import { isCi, isRunnerFile, isShadow, isTestScript, MIXED } from "./files.ts";
import { linesOf } from "./items.ts";

export interface Changed {
  readonly path: string;
  readonly status: ChangedFile["status"];
  readonly before: string | null;
  readonly after: string | null;
}

type Members = Readonly<Record<string, unknown>>;

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? (value as Members) : {};
}

function jsonMembers(text: string | null): Members {
  if (text === null) return {};
  try {
    return membersOf(JSON.parse(text) as unknown);
  } catch {
    // Broken JSON has no members; npm refuses to run its scripts, which the suite's result shows.
    return {};
  }
}

const RUNNER_MEMBERS = ["jest", "vitest", "mocha", "ava", "c8", "nyc", "tap", "xo", "jasmine"] as const;

/** Scripts that decide what a test run is: the test scripts and those they start by name. */
function testScripts(members: Members): Members {
  const scripts = membersOf(members.scripts);
  const named = Object.keys(scripts).filter((name) =>
    /^(?:pre|post)?(?:tests?|unit|check)(?::|$)/.test(name),
  );
  const started = named.flatMap((name) =>
    [...String(scripts[name]).matchAll(/\brun\s+([\w:.-]+)/g)].map((call) => call[1] ?? ""),
  );
  return Object.fromEntries([...new Set([...named, ...started])].sort().map((name) => [name, scripts[name]]));
}

function differs(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

function packageJson(file: Changed): readonly TamperFinding[] {
  const { path } = file;
  const before = jsonMembers(file.before);
  const after = jsonMembers(file.after);
  const old = testScripts(before);
  const now = testScripts(after);
  const findings: TamperFinding[] = [];
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)]))
    if (old[name] !== now[name])
      findings.push({
        kind: "test_script_changed",
        path,
        detail: `scripts.${name}: ${JSON.stringify(old[name] ?? null)} became ${JSON.stringify(now[name] ?? null)}`,
      });
  for (const name of RUNNER_MEMBERS)
    if (differs(before[name], after[name]))
      findings.push({ kind: "runner_config_changed", path, detail: `\`${name}\` was changed` });
  for (const name of ["imports", "browser", "type", "_moduleAliases"])
    if (file.status !== "added" && differs(before[name], after[name]))
      findings.push({ kind: "alias_changed", path, detail: `\`${name}\` was changed` });
  return findings;
}

function tsconfig(file: Changed): readonly TamperFinding[] {
  const part = (text: string | null) =>
    linesOf(text ?? "")
      .join(" ")
      .match(/"(?:paths|baseUrl)"\s*:\s*(?:\{[^}]*\}|"[^"]*")/g) ?? [];
  return differs(part(file.before), part(file.after))
    ? [{ kind: "alias_changed", path: file.path, detail: "`paths` or `baseUrl` was changed" }]
    : [];
}

/** The sections of an INI or TOML file whose header matches. */
function sections(text: string | null, header: RegExp): string {
  const kept: string[] = [];
  let inside = false;
  for (const line of linesOf(text ?? "")) {
    if (line.startsWith("[") && line.endsWith("]")) inside = header.test(line);
    if (inside) kept.push(line);
  }
  return kept.join("\n");
}

function sectionFile(file: Changed): readonly TamperFinding[] {
  const header = /^\[+(?:tool[:.])?(?:pytest|coverage|nox|tox|aliases|hatch\.envs|pdm\.scripts|poe)\b/;
  if (sections(file.before, header) === sections(file.after, header)) return [];
  return [
    {
      kind: "runner_config_changed",
      path: file.path,
      detail: "its section about tests or coverage was changed",
    },
  ];
}

/** Targets that the test targets need, one level deep and further. */
function testTargets(text: string): readonly string[] {
  const reached = new Set(["test", "check", "tests"]);
  for (let before = 0; before !== reached.size; ) {
    before = reached.size;
    for (const line of text.split("\n")) {
      const rule = /^([\w./-]+)\s*:(?!=)\s*([^#]*)/.exec(line);
      if (rule?.[1] !== undefined && reached.has(rule[1]))
        for (const need of (rule[2] ?? "").split(/\s+/)) if (/^[\w.-]+$/.test(need)) reached.add(need);
    }
  }
  return [...reached];
}

/** Lines of a target's recipe whose failure make is told to ignore. */
function ignoring(text: string | null, target: string): string {
  const lines = (text ?? "").split("\n");
  const from = lines.findIndex((line) => line.startsWith(`${target}:`));
  if (from < 0) return "";
  const after = lines.slice(from + 1);
  const end = after.findIndex((line) => !/^(?:\t|\s*(?:#|$))/.test(line));
  return after
    .slice(0, end < 0 ? after.length : end)
    .filter((line) => /^\t\s*[@+]*-/.test(line))
    .join("\n");
}

function makefile(file: Changed): readonly TamperFinding[] {
  const variables = (text: string | null) =>
    linesOf(text ?? "").filter((line) =>
      /^(?:export\s+|override\s+)?\w+\s*[:?+!]?=|^(?:-?include|\.SHELLFLAGS|\.IGNORE|\.DEFAULT)/.test(line),
    );
  const rule = (text: string | null, target: string) =>
    `${linesOf(text ?? "")
      .filter((line) => line.startsWith(`${target}:`))
      .join("\n")}\n${recipeOf(text ?? "", target) ?? ""}\n${ignoring(text, target)}`;
  const targets = new Set([...testTargets(file.before ?? ""), ...testTargets(file.after ?? "")]);
  const changed = [...targets].filter((target) => rule(file.before, target) !== rule(file.after, target));
  if (variables(file.before).join("\n") !== variables(file.after).join("\n")) changed.push("a variable");
  if (changed.length === 0) return [];
  return [{ kind: "test_script_changed", path: file.path, detail: `changed: ${changed.join(", ")}` }];
}

interface Locked {
  readonly version: unknown;
  readonly from: string;
}

function lockedOf(text: string | null): ReadonlyMap<string, Locked> {
  const packages = membersOf(jsonMembers(text).packages);
  return new Map(
    Object.entries(packages).map(([name, value]) => {
      const { version, resolved, integrity, link } = membersOf(value);
      return [name, { version, from: JSON.stringify([resolved, integrity, link]) }];
    }),
  );
}

/** A package under its old version from another place, or with other bytes. */
function packageLock(file: Changed): readonly TamperFinding[] {
  if (file.status === "added") return [];
  const before = lockedOf(file.before);
  const swapped = [...lockedOf(file.after)].filter(([name, now]) => {
    const then = before.get(name);
    return name !== "" && then !== undefined && then.version === now.version && then.from !== now.from;
  });
  return swapped.map(([name]) => ({
    kind: "dependency_swapped",
    path: file.path,
    detail: `\`${name}\` has its old version and other bytes or another source`,
  }));
}

/** Other lock files, by line: a hash or an address changed without a version. */
function textLock(file: Changed): readonly TamperFinding[] {
  if (file.status === "added") return [];
  const origin = /\b(?:integrity|checksum|resolved|hash|sha(?:256|512)|url|source|path)\b/i;
  const itself = (line: string) => line;
  const [old, now] = [linesOf(file.before ?? ""), linesOf(file.after ?? "")];
  const added = surplus(now, old, itself);
  const versions = added.some((line) => /^"?version\b|@.*:$/.test(line));
  const line = added.find((one) => origin.test(one));
  return line === undefined || versions
    ? []
    : [
        {
          kind: "dependency_swapped",
          path: file.path,
          detail: `changed without a new version: ${line.slice(0, 160)}`,
        },
      ];
}

/** Named manifests, by the last part of the path. */
const MANIFESTS: readonly (readonly [RegExp, (file: Changed) => readonly TamperFinding[]])[] = [
  [/^package\.json$/, packageJson],
  [/^(?:ts|js)config[\w.-]*\.json$/, tsconfig],
  [/^(?:pyproject\.toml|setup\.cfg)$/, sectionFile],
  [/^(?:GNU)?[Mm]akefile$|\.mk$/, makefile],
  [/^(?:package-lock|npm-shrinkwrap)\.json$/, packageLock],
  [
    /^(?:yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock|go\.sum)$/,
    textLock,
  ],
];

const COVERAGE =
  /\b(?:fail_under|threshold\w*|check-coverage|branches|statements|min(?:imum)?_coverage|target)\b["']?\s*[:=]\s*["']?(\d+)/gi;

/** A threshold that is lower than before, or gone. */
function coverage(file: Changed): readonly TamperFinding[] {
  if (file.before === null || !/\.(?:json|toml|ini|cfg|ya?ml|[cm]?[jt]s|rc|coveragerc)$|rc$/.test(file.path))
    return [];
  const numbers = (text: string) => [...text.matchAll(COVERAGE)].map((one) => Number(one[1]));
  const [before, after] = [numbers(file.before), numbers(file.after ?? "")];
  const sum = (list: readonly number[]) => list.reduce((all, one) => all + one, 0);
  return before.length > 0 && sum(after) < sum(before) && /cov|threshold|nyc|c8|fail_under/i.test(file.before)
    ? [{ kind: "coverage_lowered", path: file.path, detail: "a coverage threshold is lower than before" }]
    : [];
}

function mixed(file: Changed, name: string): readonly TamperFinding[] {
  const row = MIXED.find((one) => one.name.test(name));
  if (row === undefined) return [];
  const itself = (line: string) => line;
  const [old, now] = [linesOf(file.before ?? ""), linesOf(file.after ?? "")];
  const line = [...surplus(now, old, itself), ...surplus(old, now, itself)].find((one) =>
    row.lines.test(one),
  );
  return line === undefined
    ? []
    : [
        {
          kind: "runner_config_changed",
          path: file.path,
          detail: `${row.what} changed: ${line.slice(0, 160)}`,
        },
      ];
}

/** What a changed file says about how tests are run, if it says anything about that. */
export function configFindings(file: Changed): readonly TamperFinding[] {
  const { path, status } = file;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const findings: TamperFinding[] = [];
  if (isCi(path)) findings.push({ kind: "ci_changed", path, detail: `the file was ${status}` });
  else if (isRunnerFile(path) || isShadow(path))
    findings.push({ kind: "runner_config_changed", path, detail: `the file was ${status}` });
  else if (isTestScript(path) && status !== "added")
    findings.push({ kind: "test_script_changed", path, detail: `the file was ${status}` });
  for (const [pattern, compare] of MANIFESTS) if (pattern.test(name)) findings.push(...compare(file));
  return [...findings, ...mixed(file, name), ...coverage(file)];
}
