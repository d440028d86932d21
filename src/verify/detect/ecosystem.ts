/** What an ecosystem's detection is: a row of the table in detect.ts. */

import type { Detected, DetectedCommand } from "../verify.ts";
import type { Tree } from "./manifests.ts";

export interface Ecosystem {
  readonly name: string;
  /** What it offers in this directory of the commit; null: this is no project of it, or one without tests. */
  readonly detect: (tree: Tree, directory: string) => Promise<Detected | null>;
  /** Set-up by itself, for a repository whose test command is configured; null where the ecosystem has none. */
  readonly setup: ((tree: Tree, directory: string) => Promise<DetectedCommand | null>) | null;
}

/** Paths below a directory (`.` for all) whose name matches. */
export function below(tree: Tree, directory: string, name: RegExp): readonly string[] {
  const prefix = directory === "." ? "" : `${directory}/`;
  return tree.paths.filter(
    (path) =>
      path.startsWith(prefix) &&
      name.test(path.slice(prefix.length)) &&
      !/(?:^|\/)(?:node_modules|vendor)\//.test(path),
  );
}

/** The first of these names that the directory has. */
export async function firstText(
  tree: Tree,
  directory: string,
  names: readonly string[],
): Promise<{ readonly path: string; readonly text: string } | null> {
  for (const name of names) {
    const path = directory === "." ? name : `${directory}/${name}`;
    const text = await tree.text(path);
    if (text !== null) return { path, text };
  }
  return null;
}
