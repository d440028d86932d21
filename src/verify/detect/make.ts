/** Detection for make: a `test` or `check` target, and the runner its recipe calls where one is recognised. */

import { recognise } from "../runners.ts";
import type { Detected } from "../verify.ts";
import type { Tree } from "./manifests.ts";
import { inside } from "./manifests.ts";

const MAKEFILES = ["GNUmakefile", "makefile", "Makefile"] as const;
const TARGETS = ["test", "check", "tests"] as const;

/** The recipe lines of a target, joined; null: there is no such target. */
export function recipeOf(makefile: string, target: string): string | null {
  const lines = makefile.split("\n");
  const start = lines.findIndex((line) => new RegExp(`^${target}\\s*::?(?!=)`).test(line));
  if (start < 0) return null;
  const recipe: string[] = [(lines[start] ?? "").replace(/^[^:]*::?[^;]*;?/, "")];
  for (const line of lines.slice(start + 1)) {
    if (!line.startsWith("\t") && line.trim() !== "") break;
    recipe.push(line.replace(/^\t[@+-]*\s*/, ""));
  }
  return recipe.join("\n").trim();
}

/** What make offers in this directory of the commit; null: no such target. */
export async function detectMake(tree: Tree, directory: string): Promise<Detected | null> {
  for (const name of MAKEFILES) {
    const text = await tree.text(inside(directory, name));
    if (text === null) continue;
    for (const target of TARGETS) {
      const recipe = recipeOf(text, target);
      if (recipe === null) continue;
      const runner = recognise(recipe);
      return {
        setup: null,
        test: {
          command: `make ${target}`,
          directory,
          runner: runner === "unknown" ? "make" : runner,
          because: `target ${target} in ${inside(directory, name)}`,
        },
        notes: [],
      };
    }
  }
  return null;
}
