/** The tamper report: what in a patch could make tests pass without a fix, from the changed files' texts alone. */

import picomatch from "picomatch";
import type { TamperFinding } from "#src/run/verdict.ts";
import type { ChangedFile } from "#src/workspace/workspace.ts";
import { recipeOf } from "./detect-make.ts";
import { addedTestFile, changedTestFile } from "./tamper-tests.ts";
import { isSnapshot, isTestCode, isTestPath } from "./test-files.ts";
import { linesOf } from "./test-items.ts";

/** What the tamper check reads: each side's text of a path, null when it is missing or binary. */
export interface PatchTexts {
  readonly changes: readonly ChangedFile[];
  readonly baseText: (path: string) => string | null;
  readonly patchedText: (path: string) => string | null;
}

interface Changed {
  readonly path: string;
  readonly status: ChangedFile["status"];
  readonly before: string | null;
  readonly after: string | null;
}

type Kind = TamperFinding["kind"];

const match = (globs: readonly string[]) => picomatch([...globs], { dot: true });

const isCi = match([
  ".github/**",
  ".gitlab-ci.yml",
  ".circleci/**",
  "**/azure-pipelines*.yml",
  "Jenkinsfile",
  ".travis.yml",
  "appveyor.yml",
  ".buildkite/**",
]);

/** Files that do nothing but say how tests are run. */
const isRunnerFile = match([
  "**/{jest,vitest,playwright,karma,cypress,ava}.config.*",
  "**/vitest.{workspace,setup}.*",
  "**/{jest,vitest}.setup.*",
  "**/.{mocharc,nycrc,c8rc,taprc}*",
  "**/{pytest,.pytest,tox}.ini",
  "**/.coveragerc",
  "**/noxfile.py",
  "**/conftest.py",
  "**/.npmrc",
  "**/{sitecustomize,usercustomize}.py",
  "**/*.pth",
]);

/** Names that would take the place of a runner when they lie where modules are looked for. */
const isShadow = match([
  "**/node_modules/**",
  "**/{pytest,unittest,_pytest,pluggy}.py",
  "**/{pytest,unittest,_pytest,pluggy}/**",
]);

function jsonMembers(text: string | null): Readonly<Record<string, unknown>> {
  if (text === null) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Broken JSON has no members; npm refuses to run its scripts, which the suite's result shows.
    return {};
  }
}

const RUNNER_MEMBERS = ["jest", "vitest", "mocha", "ava", "c8", "nyc", "tap"] as const;

/** Scripts that decide what a test run is: the test scripts and those they start by name. */
function testScripts(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const scripts = (members.scripts ?? {}) as Record<string, unknown>;
  const named = Object.keys(scripts).filter((name) =>
    /^(?:pre|post)?(?:tests?|unit|check)(?::|$)/.test(name),
  );
  const started = named.flatMap((name) =>
    [...String(scripts[name]).matchAll(/\brun\s+([\w:.-]+)/g)].map((call) => call[1] ?? ""),
  );
  return Object.fromEntries([...new Set([...named, ...started])].sort().map((name) => [name, scripts[name]]));
}

function packageJson(file: Changed): readonly TamperFinding[] {
  const before = jsonMembers(file.before);
  const after = jsonMembers(file.after);
  const old = testScripts(before);
  const now = testScripts(after);
  const findings: TamperFinding[] = [];
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)]))
    if (old[name] !== now[name])
      findings.push({
        kind: "test_script_changed",
        path: file.path,
        detail: `scripts.${name}: ${JSON.stringify(old[name] ?? null)} became ${JSON.stringify(now[name] ?? null)}`,
      });
  for (const name of RUNNER_MEMBERS)
    if (JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      findings.push({ kind: "runner_config_changed", path: file.path, detail: `\`${name}\` was changed` });
  return findings;
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
  const header = /^\[+(?:tool[:.])?(?:pytest|coverage|nox|tox|aliases)\b/;
  if (sections(file.before, header) === sections(file.after, header)) return [];
  return [
    {
      kind: "runner_config_changed",
      path: file.path,
      detail: "its section about tests or coverage was changed",
    },
  ];
}

function makefile(file: Changed): readonly TamperFinding[] {
  const variables = (text: string | null) =>
    linesOf(text ?? "").filter((line) => /^(?:export\s+)?\w+\s*[:?+!]?=/.test(line));
  const changed = ["test", "check", "tests"].filter(
    (target) => recipeOf(file.before ?? "", target) !== recipeOf(file.after ?? "", target),
  );
  if (variables(file.before).join("\n") !== variables(file.after).join("\n")) changed.push("a variable");
  if (changed.length === 0) return [];
  return [{ kind: "test_script_changed", path: file.path, detail: `changed: ${changed.join(", ")}` }];
}

/** Text in any other changed file that reaches for the runner or for the channel of its results. */
const REACHES: readonly (readonly [Kind, RegExp, string])[] = [
  [
    "early_exit",
    /\bos\._exit\s*\(|\bprocess\s*\.\s*(?:reallyExit|abort)\s*\(/,
    "ends the process without a trace",
  ],
  [
    "runner_config_changed",
    /\bNODE_TEST_CONTEXT\b|\bNODE_OPTIONS\b|\bPYTEST_(?:ADDOPTS|PLUGINS|CURRENT_TEST)\b|(?<![\w./])\/reports\/|\b_pytest\b|\bpytest_runtest_\w+|\bsuite_report\b|\bunittest_report\b/,
    "reaches for the test runner",
  ],
];

function source(file: Changed): readonly TamperFinding[] {
  if (file.after === null || !/\.(?:[cm]?[jt]sx?|py|sh|mk|json|toml|ya?ml|cfg|ini)$/.test(file.path))
    return [];
  const old = new Set(linesOf(file.before ?? ""));
  const added = linesOf(file.after).filter((line) => !old.has(line));
  return REACHES.flatMap(([kind, pattern, what]) => {
    const line = added.find((one) => pattern.test(one));
    return line === undefined
      ? []
      : [{ kind, path: file.path, detail: `an added line ${what}: ${line.slice(0, 160)}` }];
  });
}

function testFile(file: Changed): readonly TamperFinding[] {
  const { path, status, before, after } = file;
  if (isSnapshot(path))
    return status === "added"
      ? []
      : [{ kind: "snapshot_changed", path, detail: `the snapshot was ${status}` }];
  if (status === "deleted")
    return [
      {
        kind: isTestCode(path) ? "test_deleted" : "existing_test_changed",
        path,
        detail: "the file was deleted",
      },
    ];
  if (after === null)
    return status === "added"
      ? []
      : [{ kind: "existing_test_changed", path, detail: "a file that tests use was changed" }];
  if (status === "added" || before === null) return addedTestFile(path, after);
  if (isTestCode(path)) return changedTestFile(path, before, after);
  return [{ kind: "existing_test_changed", path, detail: "a file that tests use was changed" }];
}

/** Named manifests, by the last part of the path. */
const MANIFESTS: Readonly<Record<string, (file: Changed) => readonly TamperFinding[]>> = {
  "package.json": packageJson,
  "pyproject.toml": sectionFile,
  "setup.cfg": sectionFile,
  Makefile: makefile,
  makefile,
  GNUmakefile: makefile,
};

function findingsOf(file: Changed): readonly TamperFinding[] {
  const { path, status } = file;
  const findings: TamperFinding[] = [];
  if (isCi(path)) findings.push({ kind: "ci_changed", path, detail: `the file was ${status}` });
  else if (isRunnerFile(path) || isShadow(path))
    findings.push({ kind: "runner_config_changed", path, detail: `the file was ${status}` });
  findings.push(...(MANIFESTS[path.slice(path.lastIndexOf("/") + 1)]?.(file) ?? []));
  if (isTestPath(path)) findings.push(...testFile(file));
  findings.push(...source(file));
  return findings;
}

/** Every finding of a patch, in the order of its files. Purely added tests give none. */
export function tamperReport(patch: PatchTexts): readonly TamperFinding[] {
  return patch.changes.flatMap((change) =>
    findingsOf({
      path: change.path,
      status: change.status,
      before: change.status === "added" ? null : patch.baseText(change.path),
      after: change.status === "deleted" ? null : patch.patchedText(change.path),
    }),
  );
}
