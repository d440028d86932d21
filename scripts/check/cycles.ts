/** Finds cycles in the imports: between folders (types count), and between files when the program runs. */

import { FOLDERS, folderOf } from "./folders.ts";
import type { Problem } from "./problem.ts";
import type { Source } from "./source.ts";

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** One cycle as the list of its members, the first repeated at the end; null when the graph has none. */
export function findCycle(graph: Graph): readonly string[] | null {
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): readonly string[] | null => {
    const seenAt = path.indexOf(node);
    if (seenAt >= 0) return [...path.slice(seenAt), node];
    if (done.has(node)) return null;
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...path, node]);
      if (cycle !== null) return cycle;
    }
    done.add(node);
    return null;
  };
  for (const node of graph.keys()) {
    const cycle = visit(node, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

export function checkCycles(sources: readonly Source[]): readonly Problem[] {
  return [
    ...report(
      findCycle(tableGraph()),
      "table-cycle",
      "the folder table itself is no order; take one entry out",
    ),
    ...report(
      findCycle(folderGraph(sources)),
      "folder-cycle",
      "move what both need into a folder below both",
    ),
    ...report(findCycle(fileGraph(sources)), "file-cycle", "move what both need into a third file"),
  ];
}

function report(cycle: readonly string[] | null, rule: string, remedy: string): Problem[] {
  if (cycle === null) return [];
  const first = cycle[0] ?? "";
  const file = first.endsWith(".ts") ? first : `src/${first}`;
  return [{ file, line: 1, rule, message: `${cycle.join(" → ")}; ${remedy}` }];
}

function tableGraph(): Graph {
  return new Map(
    Object.entries(FOLDERS).map(([name, folder]) => [
      name,
      new Set(folder.imports.map((entry) => entry.replace(/:types$/, ""))),
    ]),
  );
}

function folderGraph(sources: readonly Source[]): Graph {
  const graph = new Map<string, Set<string>>();
  for (const source of sources) {
    const from = folderOf(source.path);
    if (from === null) continue;
    const targets = graph.get(from) ?? new Set<string>();
    for (const one of source.imports) {
      const to = one.target === null ? null : folderOf(one.target);
      if (to !== null && to !== from) targets.add(to);
    }
    graph.set(from, targets);
  }
  return graph;
}

/** Type imports are erased before the program runs, so that only the others can form a cycle that matters. */
function fileGraph(sources: readonly Source[]): Graph {
  return new Map(
    sources.map((source) => [
      source.path,
      new Set(source.imports.flatMap((one) => (one.typesOnly || one.target === null ? [] : [one.target]))),
    ]),
  );
}
