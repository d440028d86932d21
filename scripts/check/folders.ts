/** The folder table: which folder of src may import which, as data, and the rules that read it. */

import type { Problem } from "./problem.ts";
import type { Import, Source } from "./source.ts";

interface Folder {
  /** Folders it may import, besides itself and `base`. `types` after a colon: only with `import type`. */
  readonly imports: readonly string[];
  /** Its entry: the only file other folders may import, or several where a port is read in parts; null: every file is open, because the folder is pure. */
  readonly entry: string | readonly string[] | null;
}

/** Everything below the step graph, from which `fix` is put together. */
const BELOW_FIX = [
  ...["gate", "run", "dag", "store", "queue", "harness", "model", "tools", "sandbox"],
  ...["workspace", "verify", "publish", "github", "trace", "config"],
];
const BELOW_CLI = ["app", "worker", "fix", ...BELOW_FIX];

export const FOLDERS: Readonly<Record<string, Folder>> = {
  cli: { imports: ["demo", "eval", ...BELOW_CLI], entry: null },
  demo: { imports: BELOW_CLI, entry: null },
  eval: { imports: BELOW_CLI, entry: null },
  app: { imports: ["config", "run", "gate", "store", "queue", "github"], entry: null },
  worker: { imports: ["run", "dag", "store", "queue", "fix"], entry: null },
  fix: { imports: BELOW_FIX, entry: null },
  publish: { imports: ["run", "gate", "github", "workspace"], entry: "publish/publish.ts" },
  verify: { imports: ["run", "sandbox", "workspace"], entry: "verify/verify.ts" },
  workspace: { imports: ["sandbox"], entry: "workspace/workspace.ts" },
  tools: { imports: ["harness", "sandbox"], entry: null },
  trace: { imports: ["run:types", "dag:types", "model:types", "harness:types"], entry: "trace/trace.ts" },
  harness: { imports: ["model"], entry: "harness/tool.ts" },
  // The event log carries step records, whose shape belongs to the scheduler.
  store: { imports: ["run", "dag:types"], entry: "store/store.ts" },
  gate: { imports: ["run"], entry: null },
  run: { imports: ["dag:types"], entry: null },
  dag: { imports: [], entry: null },
  queue: { imports: [], entry: "queue/queue.ts" },
  model: { imports: [], entry: "model/model.ts" },
  sandbox: { imports: [], entry: "sandbox/sandbox.ts" },
  github: { imports: [], entry: ["github/github.ts", "github/surroundings.ts", "github/github-app.ts"] },
  config: { imports: [], entry: null },
  base: { imports: [], entry: null },
};

/** Who may import a family's adapters: the folders that choose them. */
const MAY_CHOOSE_ADAPTERS = new Set(["cli", "demo", "eval"]);

/** `fix` builds the loop out of the harness's parts, and the trace names its stops (types only, by the table). */
const MAY_OPEN_HARNESS = new Set(["fix", "trace"]);

/** Entries that are ports: types only. `publish.ts` is an entry but no port, since its effects go through the GitHub port. */
export const PORTS: ReadonlySet<string> = new Set(
  Object.values(FOLDERS).flatMap(({ entry }) => (entry === "publish/publish.ts" ? [] : entriesOf(entry))),
);

function entriesOf(entry: Folder["entry"]): readonly string[] {
  return (entry === null ? [] : [entry].flat()).map((file) => `src/${file}`);
}

/** `src/store/sqlite.ts` → `store`; null outside src or directly in it. */
export function folderOf(path: string): string | null {
  return /^src\/([^/]+)\/./.exec(path)?.[1] ?? null;
}

export function checkFolders(source: Source, exists: (path: string) => boolean): readonly Problem[] {
  const from = folderOf(source.path);
  if (from === null || FOLDERS[from] === undefined) {
    const message = `not in the folder table of scripts/check/folders.ts; put the file into one of: ${Object.keys(FOLDERS).join(", ")}`;
    return [{ file: source.path, line: 1, rule: "unknown-folder", message }];
  }
  return source.imports.flatMap((one) =>
    one.target === null
      ? []
      : importProblem({ from, one, target: one.target, exists }).map((problem) => ({
          ...problem,
          file: source.path,
          line: one.line,
        })),
  );
}

interface Question {
  readonly from: string;
  readonly one: Import;
  readonly target: string;
  readonly exists: (path: string) => boolean;
}

function importProblem({ from, one, target, exists }: Question): { rule: string; message: string }[] {
  if (target === "package.json") return [];
  if (!exists(target)) {
    return [
      { rule: "missing-file", message: `${one.specifier} names no file; write the path with its .ts ending` },
    ];
  }
  const to = folderOf(target);
  if (to === null) {
    return [
      {
        rule: "outside-src",
        message: `${target} is not part of the program; src imports only src and packages`,
      },
    ];
  }
  if (to === from || to === "base") return [];
  const allowed = FOLDERS[from]?.imports ?? [];
  if (!allowed.includes(to) && !(one.typesOnly && allowed.includes(`${to}:types`))) {
    return [{ rule: "folder-table", message: tableMessage(from, to, allowed) }];
  }
  const entries = entriesOf(FOLDERS[to]?.entry ?? null);
  if (entries.length === 0 || entries.includes(target) || MAY_CHOOSE_ADAPTERS.has(from)) return [];
  if (to === "harness" && MAY_OPEN_HARNESS.has(from)) return [];
  const message = `${from} may import only ${entries.join(", ")} of ${to}; take ${target} as a parameter typed there, and let cli hand it over`;
  return [{ rule: "port-only", message }];
}

function tableMessage(from: string, to: string, allowed: readonly string[]): string {
  if (allowed.includes(`${to}:types`))
    return `${from} may import ${to} for types only; write \`import type\``;
  const list = ["base", ...allowed].join(", ");
  return `${from} may not import ${to} (it may import ${list}); move the code, or take what you need as a parameter`;
}
