/** Reading a commit's manifests for detection: package.json as checked data, text files, and look-ups that climb to the root. */

import type { CommitFiles } from "#src/workspace/workspace.ts";

export interface PackageJson {
  readonly scripts: Readonly<Record<string, string>>;
  readonly packageManager: string | null;
  /** Names in any of the dependency sections. */
  readonly dependencies: readonly string[];
  /** True when it declares workspaces. */
  readonly workspaces: boolean;
}

/** What detection knows of a commit; reads are shared between the ecosystems. */
export interface Tree {
  readonly paths: readonly string[];
  has(path: string): boolean;
  text(path: string): Promise<string | null>;
}

export async function readTree(files: CommitFiles): Promise<Tree> {
  const paths = (await files.list()).map((entry) => entry.path).sort();
  const known = new Set(paths);
  const seen = new Map<string, string | null>();
  return {
    paths,
    has: (path) => known.has(path),
    text: async (path) => {
      const before = seen.get(path);
      if (before !== undefined) return before;
      const bytes = known.has(path) ? await files.read(path) : null;
      const text =
        bytes === null
          ? null
          : Buffer.from(bytes)
              .toString("utf8")
              .replace(/^\uFEFF/, "");
      seen.set(path, text);
      return text;
    },
  };
}

/** `directory` (`.` for the root) and a name as one path from the root. */
export function inside(directory: string, name: string): string {
  return directory === "." ? name : `${directory}/${name}`;
}

export function directoryOf(path: string): string {
  const cut = path.lastIndexOf("/");
  return cut < 0 ? "." : path.slice(0, cut);
}

/** A directory as people write it (`./a/`, `a//b`, empty) in the one form used here; null when it leads outside. */
export function normalDirectory(written: string): string | null {
  const parts = written.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) return null;
  return parts.length === 0 ? "." : parts.join("/");
}

/** The directory itself and everything above it, nearest first; ends with `.`. */
export function upwards(directory: string): readonly string[] {
  const chain: string[] = [];
  for (let here = directory; here !== "."; here = directoryOf(here)) chain.push(here);
  return [...chain, "."];
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

const DEPENDENCY_SECTIONS = [
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "peerDependencies",
] as const;

/** Null when the text is not a JSON object: a broken manifest is treated as none. */
export function parsePackageJson(text: string): PackageJson | null {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return null;
  const members = record(raw);
  const scripts = Object.entries(record(members.scripts)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  const manager = members.packageManager;
  return {
    scripts: Object.fromEntries(scripts),
    packageManager: typeof manager === "string" ? manager : null,
    dependencies: DEPENDENCY_SECTIONS.flatMap((section) => Object.keys(record(members[section]))),
    workspaces: members.workspaces !== undefined,
  };
}

export async function packageAt(tree: Tree, directory: string): Promise<PackageJson | null> {
  const text = await tree.text(inside(directory, "package.json"));
  return text === null ? null : parsePackageJson(text);
}
