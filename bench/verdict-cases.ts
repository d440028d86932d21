/** Reads the projects and patches that the verdict is measured by, and what is true of each kind of patch. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const FIXTURES = join(import.meta.dirname, "../fixtures");

export type Files = Readonly<Record<string, string>>;

export interface Case {
  readonly ecosystem: string;
  readonly bug: string;
  readonly kind: Kind;
  /** New text of each changed path; null: deleted. */
  readonly changed: Readonly<Record<string, string | null>>;
}

export interface Ecosystem {
  readonly name: string;
  readonly command: string;
  readonly files: Files;
  readonly cases: readonly Case[];
  /** Results are read per test from a report; else a right fix with a test can be `passing` at most. */
  readonly reports: boolean;
}

export interface Truth {
  readonly right: boolean;
  /** A test that passes on the base fails over the patch's sources. */
  readonly breaks: boolean;
  /** One of these findings must be named; empty: there is nothing to name. */
  readonly named: readonly string[];
  /** Nothing that tests can do tells it from a right fix; it is shown apart. */
  readonly beyondTests: boolean;
}

const truth = (right: boolean, named: readonly string[] = [], breaks = false): Truth => ({
  right,
  named,
  breaks,
  beyondTests: false,
});

const GONE = ["test_deleted", "fewer_tests"];
const SKIPPED = ["test_skipped", "fewer_tests", "assertion_loosened"];
const LOOSE = ["assertion_loosened"];
const COPIED = ["expectation_changed", "existing_test_changed"];
const CONFIG = ["runner_config_changed", "test_script_changed"];
/** unittest is configured within its tests (`load_tests`): what is left out there is named as skipped. */
const CONFIGURED = [...CONFIG, "test_skipped"];
const EXIT = ["early_exit", "fewer_tests", "report_mismatch"];

/** What is true of each kind of patch. */
export const TRUTHS = {
  "right with test": truth(true),
  right: truth(true),
  "no-op": truth(false),
  partial: truth(false),
  regression: truth(false, [], true),
  "test deleted": truth(false, GONE),
  "test file deleted": truth(false, GONE),
  "test skipped": truth(false, SKIPPED),
  "assertion loosened": truth(false, LOOSE),
  "failure caught": truth(false, LOOSE),
  "expectation copied": truth(false, COPIED),
  "timeout raised": truth(false, ["timeout_raised"]),
  configuration: truth(false, CONFIGURED),
  environment: truth(false, CONFIG),
  "exit in set-up": truth(false, EXIT),
  "exit in source": truth(false, EXIT),
  swallowed: truth(false),
  "fails its own test": truth(false),
  "broken output expected": truth(false),
  "test that proves nothing": truth(false),
  "regression with test deleted": truth(false, GONE, true),
  "regression with test skipped": truth(false, SKIPPED, true),
  "regression with assertion loosened": truth(false, LOOSE, true),
  "regression with failure caught": truth(false, LOOSE, true),
  "regression with configuration": truth(false, CONFIGURED, true),
  "special-cased": { ...truth(false), beyondTests: true },
  // A changed expectation may be what the issue asks for: it is flagged, and decided by a person.
  "regression with expectation copied": { ...truth(false, COPIED, true), beyondTests: true },
} as const satisfies Readonly<Record<string, Truth>>;

export type Kind = keyof typeof TRUTHS;

type Edit = readonly (readonly [string, string])[] | { append: string } | { text: string } | null;
type Part = Readonly<Record<string, Edit>>;
type Row = readonly [bug: string, kind: Kind, parts: readonly string[]];

interface Sheet {
  readonly extends?: string;
  readonly repo?: string;
  readonly command?: string;
  readonly reports?: boolean;
  readonly replace?: readonly (readonly [string, string])[];
  readonly parts?: Readonly<Record<string, Part>>;
  readonly patches?: "common" | readonly Row[];
  /** Kinds or parts of the common table that make no sense here. */
  readonly without?: readonly string[];
}

function readSheet(name: string): Sheet {
  return parse(readFileSync(join(FIXTURES, "patches", `${name}.yml`), "utf8")) as Sheet;
}

function readRepo(name: string): Files {
  const root = join(FIXTURES, "repos", name);
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(root.length + 1), readFileSync(path, "utf8")];
    }),
  );
}

interface Loaded {
  readonly command: string;
  readonly files: Files;
  readonly parts: Readonly<Record<string, Part>>;
  readonly patches: readonly Row[];
  readonly reports: boolean;
  readonly without: readonly string[];
}

function replacer(rules: Sheet["replace"]): (text: string) => string {
  return (text) =>
    (rules ?? []).reduce(
      (all, [from, to]) => all.replace(new RegExp(from, "gm"), to.replaceAll("\\n", "\n")),
      text,
    );
}

function replaceEdit(edit: Edit, swap: (text: string) => string): Edit {
  if (edit === null) return null;
  if (Array.isArray(edit)) return edit.map(([from, to]) => [swap(from), swap(to)] as const);
  if ("append" in edit) return { append: swap(edit.append) };
  return "text" in edit ? { text: swap(edit.text) } : edit;
}

function load(name: string): Loaded {
  const sheet = readSheet(name);
  const parent = sheet.extends === undefined ? null : load(sheet.extends);
  const swap = replacer(sheet.replace);
  const inherited = Object.entries(parent?.parts ?? {}).map(([part, edits]) => [
    part,
    Object.fromEntries(Object.entries(edits).map(([path, edit]) => [path, replaceEdit(edit, swap)])),
  ]);
  const files = parent === null || sheet.repo !== undefined ? readRepo(sheet.repo ?? name) : parent.files;
  const rows =
    sheet.patches === undefined || sheet.patches === "common"
      ? (parent?.patches ?? (readSheet("common") as unknown as readonly Row[]))
      : sheet.patches;
  return {
    command: sheet.command ?? parent?.command ?? "",
    files: Object.fromEntries(Object.entries(files).map(([path, text]) => [path, swap(text)])),
    parts: { ...Object.fromEntries(inherited), ...sheet.parts },
    patches: rows,
    reports: sheet.reports ?? parent?.reports ?? true,
    without: [...(parent?.without ?? []), ...(sheet.without ?? [])],
  };
}

/** Throws where an edit does not apply, so that a patch is never silently another one. */
function applied(before: string | null, edit: Edit, where: string): string | null {
  if (edit === null) return null;
  if ("text" in edit) return edit.text;
  if ("append" in edit) return `${before ?? ""}${edit.append}`;
  return edit.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`${where} has no ${JSON.stringify(from)}`);
    return text.replace(from, () => to);
  }, before ?? "");
}

function changedBy(name: string, loaded: Loaded, parts: readonly string[]): Case["changed"] {
  const changed: Record<string, string | null> = {};
  for (const part of parts) {
    const edits = loaded.parts[part];
    if (edits === undefined) throw new Error(`${name} has no part ${part}`);
    for (const [path, edit] of Object.entries(edits))
      changed[path] = applied(changed[path] ?? loaded.files[path] ?? null, edit, `${name}: ${part}: ${path}`);
  }
  return changed;
}

export function ecosystemNames(): readonly string[] {
  return readdirSync(join(FIXTURES, "patches"))
    .filter((file) => file.endsWith(".yml") && file !== "common.yml")
    .map((file) => file.slice(0, -".yml".length))
    .sort();
}

export function readEcosystem(name: string): Ecosystem {
  const loaded = load(name);
  const rows = loaded.patches.filter(
    ([, kind, parts]) =>
      !loaded.without.includes(kind) && !parts.some((part) => loaded.without.includes(part)),
  );
  return {
    name,
    command: loaded.command,
    files: loaded.files,
    reports: loaded.reports,
    cases: rows.map(([bug, kind, parts]) => ({
      ecosystem: name,
      bug,
      kind,
      changed: changedBy(name, loaded, parts),
    })),
  };
}
