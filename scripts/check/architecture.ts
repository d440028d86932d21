/** The architecture test: every rule on folders, imports, effects, names and ports, over one tree. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkCycles } from "./cycles.ts";
import { checkEffects, EFFECTS, TEST_EFFECTS } from "./effects.ts";
import { checkFolders } from "./folders.ts";
import { checkPackages, readDeclared } from "./packages.ts";
import type { Problem } from "./problem.ts";
import { checkBaseSize, checkName, checkShape } from "./shape.ts";
import { listSources, readSource } from "./source.ts";

/** All problems of the tree at `root`, in the order of its files; empty means that the architecture holds. */
export function checkArchitecture(root: string): readonly Problem[] {
  const paths = listSources(root, "src");
  const sources = paths.map((path) => readSource(root, path));
  const tests = listSources(root, "test");
  const declared = readDeclared(root);
  const exists = (path: string) => existsSync(join(root, path));
  return [
    ...[...paths, ...tests, ...listSources(root, "scripts"), ...listSources(root, "bench")].flatMap(
      checkName,
    ),
    ...sources.flatMap((source) => [
      ...checkFolders(source, exists),
      ...checkPackages(source, declared),
      ...checkEffects(source, EFFECTS),
      ...checkShape(source),
    ]),
    ...checkCycles(sources),
    ...checkBaseSize(paths),
    ...tests.flatMap((path) => checkEffects(readSource(root, path), TEST_EFFECTS)),
  ];
}
