/** Whether a patch changes what gets installed, as opposed to another part of a manifest. */

import type { PatchTexts } from "./tamper/report.ts";

function members(text: string | null): Readonly<Record<string, unknown>> {
  if (text === null) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Unreadable counts as changed below, since the other side is readable.
    return { unreadable: text };
  }
}

function pick(text: string | null, names: readonly string[]): string {
  const all = members(text);
  return JSON.stringify(names.map((name) => all[name] ?? null));
}

const NPM_SECTIONS = [
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "peerDependencies",
  "overrides",
  "resolutions",
  "workspaces",
  "packageManager",
  "unreadable",
] as const;

function packageJson(text: string | null): string {
  return pick(text, NPM_SECTIONS);
}

/** The root's own name and version live in the lock file too, and install nothing. */
function packageLock(text: string | null): string {
  const { packages, dependencies, unreadable } = members(text);
  const rest = { ...((packages ?? {}) as Record<string, unknown>) };
  const { name: _name, version: _version, ...root } = (rest[""] ?? {}) as Record<string, unknown>;
  return JSON.stringify([{ ...rest, "": root }, dependencies ?? null, unreadable ?? null]);
}

function requirements(text: string | null): string {
  return (text ?? "")
    .split("\n")
    .map((line) => line.replace(/(?:^|\s)#.*$/, "").trim())
    .filter((line) => line !== "")
    .join("\n");
}

/** Dependency tables and lists of pyproject.toml, setup.cfg and Pipfile, found by their names. */
function pythonProject(text: string | null): string {
  const kept: string[] = [];
  let inTable = false;
  let inList = false;
  for (const line of (text ?? "").split("\n").map((one) => one.trim())) {
    if (/^\[.*\]$/.test(line)) {
      inTable = /dependenc|packages|build-system|options\.extras_require/i.test(line);
      inList = false;
    } else if (
      /^(?:dependencies|optional-dependencies|install_requires|tests_require|requires(?:-python)?)\b/.test(
        line,
      )
    )
      inList = true;
    else if (/^[\w-]+\s*=/.test(line)) inList = false;
    if ((inTable || inList) && line !== "" && !line.startsWith("#")) kept.push(line);
  }
  return kept.join("\n");
}

/** Dependency tables of Cargo.toml; `[package]` only by what decides the build (edition, toolchain, features). */
function cargoToml(text: string | null): string {
  const kept: string[] = [];
  let table = "";
  for (const line of (text ?? "").split("\n").map((one) => one.trim())) {
    if (/^\[.*\]$/.test(line)) table = line;
    const installs = /dependencies|^\[(?:patch|replace|features|workspace|target)\b/.test(table);
    const decides = /^(?:edition|rust-version|build|links|resolver|members)\b/.test(line);
    if ((installs || decides) && line !== "" && !line.startsWith("#")) kept.push(line);
  }
  return kept.join("\n");
}

/** Lines of go.mod without comments, but with `// indirect`, which changes nothing; blank lines and order of lines count. */
function goMod(text: string | null): string {
  return (text ?? "")
    .split("\n")
    .map((line) => line.replace(/\/\/.*$/, "").trim())
    .filter((line) => line !== "")
    .join("\n");
}

/** Elements of a pom.xml that name something to fetch. */
function pom(text: string | null): string {
  const bare = (text ?? "").replace(/<!--[\s\S]*?-->/g, "");
  const parts = bare.match(
    /<(parent|dependencies|dependencyManagement|repositories|pluginRepositories|properties|modules|plugins|extensions)>[\s\S]*?<\/\1>/g,
  );
  return (parts ?? []).map((part) => part.replaceAll(/\s+/g, " ")).join("\n");
}

/** A Gemfile or build script is a program: all of it but comments counts. */
function program(comment: RegExp) {
  return (text: string | null): string =>
    (text ?? "")
      .split("\n")
      .map((line) => line.replace(comment, "").trim())
      .filter((line) => line !== "")
      .join("\n");
}

const COMPOSER_SECTIONS = [
  "require",
  "require-dev",
  "repositories",
  "replace",
  "conflict",
  "minimum-stability",
  "config",
  "unreadable",
] as const;

const asIs = (text: string | null): string => text ?? "";

/** What installs, per file name; files that differ only elsewhere count as unchanged. */
const READERS: readonly (readonly [name: RegExp, installs: (text: string | null) => string])[] = [
  [/^package\.json$/, packageJson],
  [/^(?:package-lock|npm-shrinkwrap)\.json$/, packageLock],
  [
    /^(?:pnpm-lock\.yaml|pnpm-workspace\.yaml|yarn\.lock|bun\.lockb?|poetry\.lock|uv\.lock|Pipfile\.lock|pdm\.lock)$/,
    asIs,
  ],
  [/^(?:[\w.-]*requirements[\w.-]*|constraints)\.(?:txt|in)$/, requirements],
  [/^(?:pyproject\.toml|setup\.cfg|Pipfile)$/, pythonProject],
  [/^setup\.py$/, asIs],
  [/^Cargo\.toml$/, cargoToml],
  [/^go\.(?:mod|work)$/, goMod],
  [/^pom\.xml$/, pom],
  [/^(?:build|settings)\.gradle(?:\.kts)?$|^libs\.versions\.toml$/, program(/^\s*(?:\/\/|#).*$/)],
  [/^(?:Gemfile|[\w.-]+\.gemspec)$/, program(/(?:^|\s)#.*$/)],
  [/^composer\.json$/, (text) => pick(text, COMPOSER_SECTIONS)],
  [
    /^(?:Cargo\.lock|go\.(?:work\.)?sum|Gemfile\.lock|composer\.lock|gradle\.lockfile|packages\.lock\.json|mix\.(?:exs|lock))$/,
    asIs,
  ],
  // Where packages come from, and with which settings: a patch must not choose that either.
  [
    /^(?:\.npmrc|\.yarnrc(?:\.yml)?|pip\.conf|uv\.toml|\.pnpmfile\.c?js|\.ruby-version|\.tool-versions|rust-toolchain(?:\.toml)?)$/,
    asIs,
  ],
];

/** Paths whose change alters what set-up would install; empty when none does. */
export function changedDependencies(patch: PatchTexts): readonly string[] {
  return patch.changes
    .filter((change) => {
      const name = change.path.slice(change.path.lastIndexOf("/") + 1);
      const installs = READERS.find(([pattern]) => pattern.test(name))?.[1];
      if (installs === undefined) return false;
      const before = change.status === "added" ? null : patch.baseText(change.path);
      const after = change.status === "deleted" ? null : patch.patchedText(change.path);
      return installs(before) !== installs(after);
    })
    .map((change) => change.path);
}
