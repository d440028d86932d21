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
