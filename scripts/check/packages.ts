/** The rule on packages: the program imports only what package.json declares as a dependency. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Problem } from "./problem.ts";
import type { Source } from "./source.ts";

export interface Declared {
  readonly dependencies: ReadonlySet<string>;
  readonly devDependencies: ReadonlySet<string>;
}

/** Parts that run only from a checkout, where development packages are installed. */
const MAY_USE_DEV = ["src/demo/", "src/github/sim/"];

export function readDeclared(root: string): Declared {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
  };
  return {
    dependencies: new Set(Object.keys(manifest.dependencies ?? {})),
    devDependencies: new Set(Object.keys(manifest.devDependencies ?? {})),
  };
}

export function checkPackages(source: Source, declared: Declared): readonly Problem[] {
  return source.imports.flatMap((one) => {
    if (one.target !== null || one.specifier.startsWith("node:")) return [];
    const name = one.specifier
      .split("/")
      .slice(0, one.specifier.startsWith("@") ? 2 : 1)
      .join("/");
    if (declared.dependencies.has(name)) return [];
    const devIsFine = one.typesOnly || MAY_USE_DEV.some((prefix) => source.path.startsWith(prefix));
    if (devIsFine && declared.devDependencies.has(name)) return [];
    const message = declared.devDependencies.has(name)
      ? `${name} is a development dependency, which an installed server does not have; declare it under dependencies`
      : `${name} is not in package.json; declare it with its exact version (npm i -E ${name})`;
    return [{ file: source.path, line: one.line, rule: "undeclared-package", message }];
  });
}
