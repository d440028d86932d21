/** Finds the file that a test is in where its report names a class, a package or a crate only. */

import type { PlaceHint } from "./raw-case.ts";

/** A source file of the workspace, from its root; `test` is the name of a Go test function in it. */
export interface Place {
  readonly path: string;
  readonly test: string | null;
}

const MAX_PLACES = 50_000;

/** The list that the collecting script writes: `path`, or `path:func TestName`, one a line. */
export function parsePlaces(text: string): readonly Place[] {
  return text
    .split("\n", MAX_PLACES)
    .filter((line) => line !== "")
    .map((line) => {
      const go = /^(.+_test\.go):func (\w+)$/.exec(line);
      const path = (go?.[1] ?? line).replace(/^\.\//, "");
      return { path, test: go?.[2] ?? null };
    });
}

function only(paths: readonly string[]): string | null {
  const [first, ...others] = [...new Set(paths)];
  return first !== undefined && others.length === 0 ? first : null;
}

const CLASS_FILE = /^(.*?)([^/]+)\.(?:java|kt|groovy|scala|cs|fs|vb)$/;

function ofClass(name: string, byStem: ReadonlyMap<string, readonly string[]>): string | null {
  const outer = (name.split("$")[0] ?? "").replaceAll(".", "/");
  const paths = byStem.get(outer.slice(outer.lastIndexOf("/") + 1)) ?? [];
  // A namespace of .NET need not be the folder: there the name alone must do.
  return only(
    paths.filter(
      (path) => /\.(?:cs|fs|vb)$/.test(path) || `/${path.replace(/\.\w+$/, "")}`.endsWith(`/${outer}`),
    ),
  );
}

/** How many directories at the end of a package's import path and of a file's directory are the same. */
function overlap(pack: string, path: string): number {
  const wanted = pack.split("/").reverse();
  const have = path.split("/").slice(0, -1).reverse();
  let same = 0;
  while (same < have.length && wanted[same] === have[same]) same += 1;
  // A file at the module's root overlaps with nothing, and nothing of it contradicts.
  return same === have.length ? same : -1;
}

function ofGo(pack: string, found: readonly Place[]): string | null {
  const best = Math.max(...found.map(({ path }) => overlap(pack, path)), 0);
  return only(found.filter(({ path }) => overlap(pack, path) === best).map(({ path }) => path));
}

/** Candidates from the deepest module to the crate's root: the test's own name and inline modules have no file. */
function rustCandidates(directory: string, crate: string, names: readonly string[]): readonly string[] {
  const inDirectory = (path: string) => (directory === "" ? path : `${directory}/${path}`);
  const candidates = [`tests/${crate}.rs`, `tests/${crate}/main.rs`].map(inDirectory);
  for (let depth = names.length; depth > 0; depth--) {
    const module = names.slice(0, depth).join("/");
    candidates.push(inDirectory(`src/${module}.rs`), inDirectory(`src/${module}/mod.rs`));
  }
  return [...candidates, ...["src/lib.rs", "src/main.rs", `src/bin/${crate}.rs`].map(inDirectory)];
}

/** Built once per run: looking a class up among all files for each case would cost their product. */
export function placeFinder(places: readonly Place[]): (hint: PlaceHint) => string | null {
  const known = new Set(places.map(({ path }) => path));
  const byStem = new Map<string, string[]>();
  const byTest = new Map<string, Place[]>();
  for (const place of places) {
    const stem = CLASS_FILE.exec(place.path)?.[2];
    if (stem !== undefined) byStem.set(stem, [...(byStem.get(stem) ?? []), place.path]);
    if (place.test !== null) byTest.set(place.test, [...(byTest.get(place.test) ?? []), place]);
  }
  const seen = new Map<string, string | null>();
  const find = (hint: PlaceHint): string | null => {
    if (hint.kind === "path")
      return only(places.map(({ path }) => path).filter((path) => `/${path}`.endsWith(`/${hint.end}`)));
    if (hint.kind === "class") return ofClass(hint.name, byStem);
    if (hint.kind === "go") return ofGo(hint.pack, byTest.get(hint.test.split("/")[0] ?? "") ?? []);
    const candidates = rustCandidates(hint.directory, hint.crate, hint.names.slice(0, -1));
    return candidates.find((path) => known.has(path)) ?? null;
  };
  return (hint) => {
    const key = JSON.stringify(hint);
    const before = seen.get(key);
    if (before !== undefined) return before;
    const found = find(hint);
    seen.set(key, found);
    return found;
  };
}
