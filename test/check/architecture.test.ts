/** Each architecture rule fails on a planted violation, with its place and a remedy; the project's own tree passes. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { checkArchitecture } from "#scripts/check/architecture.ts";
import { formatProblem } from "#scripts/check/problem.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const HEAD = "/** Does one thing, and says here what. */\n";

/** A tree in which every rule holds; each case adds or replaces files. */
const GOOD: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify({ dependencies: { zod: "1.0.0" }, devDependencies: { ajv: "1.0.0" } }),
  "src/base/clock.ts": `${HEAD}export interface Clock { now(): number }\nexport const real: Clock = { now: () => Date.now() };\n`,
  "src/store/store.ts": `${HEAD}export interface Store { ready(): boolean }\n`,
  "src/store/sqlite.ts": `${HEAD}import type { Store } from "./store.ts";\nimport "node:sqlite";\nexport const open = (): Store => ({ ready: () => true });\n`,
  "src/model/model.ts": `${HEAD}export interface Model { id: string }\n`,
  "src/run/run.ts": `${HEAD}export const STATES = ["queued"] as const;\n`,
  "src/harness/tool.ts": `${HEAD}import type { z } from "zod";\nexport type Schema = z.ZodType;\n`,
  "src/harness/loop.ts": `${HEAD}import type { Model } from "#src/model/model.ts";\nexport const loop = (model: Model) => model.id;\n`,
  "src/github/github.ts": `${HEAD}export interface GitHub { issue(): string }\n`,
  "src/cli/main.ts": `${HEAD}import { open } from "#src/store/sqlite.ts";\nconsole.log(open().ready());\n`,
};

interface Planted {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** `file:line  rule`, as printed. */
  readonly found: string;
}

/** A file of the tree with the header on line 1, so that the planted text starts on line 2. */
const plant = (path: string, text: string) => ({ [path]: `${HEAD}${text}\n` });

const FOLDERS: readonly Planted[] = [
  {
    name: "the loop imports GitHub",
    files: plant(
      "src/harness/stop.ts",
      'import type { GitHub } from "#src/github/github.ts";\nexport type A = GitHub;',
    ),
    found: "src/harness/stop.ts:2  folder-table",
  },
  {
    name: "by a relative path",
    files: plant(
      "src/harness/stop.ts",
      'export const a = 1;\nimport type { GitHub } from "../github/github.ts";\nexport type A = GitHub;',
    ),
    found: "src/harness/stop.ts:3  folder-table",
  },
  {
    name: "by a type import inside an expression",
    files: plant("src/run/verdict.ts", 'export type A = import("#src/model/model.ts").Model;'),
    found: "src/run/verdict.ts:2  folder-table",
  },
  {
    name: "by a dynamic import",
    files: plant("src/run/verdict.ts", 'export const a = () => import("#src/model/model.ts");'),
    found: "src/run/verdict.ts:2  folder-table",
  },
  {
    name: "by a re-export",
    files: plant("src/run/verdict.ts", 'export { open } from "#src/store/sqlite.ts";'),
    found: "src/run/verdict.ts:2  folder-table",
  },
  {
    name: "a value where only types are allowed",
    files: plant(
      "src/trace/summary.ts",
      'import { STATES } from "#src/run/run.ts";\nexport const a = STATES;',
    ),
    found: "src/trace/summary.ts:2  folder-table",
  },
  {
    name: "an adapter from outside its family",
    files: plant(
      "src/worker/worker.ts",
      'import { open } from "#src/store/sqlite.ts";\nexport const a = open;',
    ),
    found: "src/worker/worker.ts:2  port-only",
  },
  {
    name: "the loop from a tool",
    files: plant(
      "src/tools/search.ts",
      'import { loop } from "#src/harness/loop.ts";\nexport const a = loop;',
    ),
    found: "src/tools/search.ts:2  port-only",
  },
  {
    name: "a folder that the table does not know",
    files: plant("src/agents/agent.ts", "export const a = 1;"),
    found: "src/agents/agent.ts:1  unknown-folder",
  },
  {
    name: "a file that does not exist",
    files: plant("src/run/verdict.ts", 'import type { A } from "./proposal.ts";\nexport type B = A;'),
    found: "src/run/verdict.ts:2  missing-file",
  },
  {
    name: "a test's tool in the program",
    files: {
      ...plant("src/run/verdict.ts", 'export { a } from "#test/support/a.ts";'),
      ...plant("test/support/a.ts", "export const a = 1;"),
    },
    found: "src/run/verdict.ts:2  outside-src",
  },
  {
    name: "two files that need each other",
    files: {
      ...plant("src/run/a.ts", 'import { b } from "./b.ts";\nexport const a = () => b;'),
      ...plant("src/run/b.ts", 'import { a } from "./a.ts";\nexport const b = () => a;'),
    },
    found: "src/run/a.ts:1  file-cycle",
  },
  {
    name: "two folders that need each other",
    files: {
      ...plant("src/store/rows.ts", 'import type { A } from "#src/run/a.ts";\nexport type B = A;'),
      ...plant("src/run/a.ts", 'export type A = import("#src/store/store.ts").Store;'),
    },
    found: "src/store:1  folder-cycle",
  },
];

const EFFECTS: readonly Planted[] = [
  ...[
    ["process.env.HOME", "environment"],
    ['process["env"]', "environment"],
    ["globalThis.process.env", "environment"],
    ["Date.now()", "time"],
    ["new Date()", "time"],
    ["setTimeout(() => 1, 5)", "time"],
    ["globalThis.setInterval(() => 1, 5)", "time"],
    ["AbortSignal.timeout(5)", "time"],
    ["performance.now()", "time"],
    ["Math.random()", "chance"],
    ["crypto.randomUUID()", "chance"],
    ["console.log(1)", "terminal"],
    ["process.stdout.write('')", "terminal"],
    ["process.exit(1)", "terminal"],
    ["(context: any) => context.octokit", "context-octokit"],
  ].map(([code, rule]) => ({
    name: code ?? "",
    files: plant("src/run/verdict.ts", `export const a = () => (${code});`),
    found: `src/run/verdict.ts:2  ${rule}`,
  })),
  ...[
    ['import { spawn } from "node:child_process";', "child-process"],
    ['import { execFile } from "child_process";', "child-process"],
    ['import { DatabaseSync } from "node:sqlite";', "database"],
    ['import type { Octokit } from "@octokit/rest";', "octokit"],
    ['import { randomUUID } from "node:crypto";', "chance"],
    ['import { env } from "node:process";', "environment"],
    ['import { setTimeout } from "node:timers/promises";', "time"],
    ['import type { Context } from "probot";', "probot"],
  ].map(([code, rule]) => ({
    name: code ?? "",
    files: plant("src/run/verdict.ts", `${code}\nexport const a = 1;`),
    found: `src/run/verdict.ts:2  ${rule}`,
  })),
  {
    name: "the environment by a pattern",
    files: plant("src/run/verdict.ts", "export const a = () => { const { env } = process; return env; };"),
    found: "src/run/verdict.ts:2  environment",
  },
  {
    name: "a module mock in a test",
    files: plant(
      "test/run/a.test.ts",
      'import { mock } from "node:test";\nmock.module("#src/run/run.ts", {});',
    ),
    found: "test/run/a.test.ts:3  module-mock",
  },
  {
    name: "a method mock in a test, through its context",
    files: plant(
      "test/run/a.test.ts",
      'import { test } from "node:test";\ntest("a", (t) => t.mock.method(console, "log"));',
    ),
    found: "test/run/a.test.ts:3  module-mock",
  },
];

const SHAPE: readonly Planted[] = [
  {
    name: "an index.ts",
    files: plant("src/run/index.ts", "export const a = 1;"),
    found: "src/run/index.ts:1  no-index",
  },
  {
    name: "a folder called utils",
    files: plant("test/utils/a.ts", "export const a = 1;"),
    found: "test/utils/a.ts:1  banned-name",
  },
  {
    name: "a file called helpers",
    files: plant("src/run/helpers.ts", "export const a = 1;"),
    found: "src/run/helpers.ts:1  banned-name",
  },
  {
    name: "a root types.ts",
    files: plant("src/types.ts", "export type A = 1;"),
    found: "src/types.ts:1  banned-name",
  },
  {
    name: "a file without a sentence",
    files: { "src/run/a.ts": "export const a = 1;\n" },
    found: "src/run/a.ts:1  file-head",
  },
  {
    name: "a file whose comment comes too late",
    files: { "src/run/a.ts": `export const a = 1;\n${HEAD}` },
    found: "src/run/a.ts:1  file-head",
  },
  {
    name: "work at import time",
    files: plant("src/run/a.ts", "globalThis.name;"),
    found: "src/run/a.ts:2  import-time",
  },
  {
    name: "a port with a runtime import",
    files: plant("src/harness/tool.ts", 'import { z } from "zod";\nexport type A = z.ZodType;'),
    found: "src/harness/tool.ts:2  port-types-only",
  },
  {
    name: "a port with a function",
    files: plant(
      "src/store/store.ts",
      "export interface Store { ready(): boolean }\nexport function open() {}",
    ),
    found: "src/store/store.ts:3  port-types-only",
  },
  {
    name: "a port of 121 lines of code",
    files: plant(
      "src/model/model.ts",
      Array.from({ length: 121 }, (_, n) => `export type A${n} = ${n};`).join("\n"),
    ),
    found: "src/model/model.ts:1  port-size",
  },
  {
    name: "a loop of 201 lines",
    files: plant(
      "src/harness/loop.ts",
      Array.from({ length: 200 }, (_, n) => `export const a${n} = ${n};`).join("\n"),
    ),
    found: "src/harness/loop.ts:1  file-size",
  },
  {
    name: "a subcommand of 151 lines",
    files: plant(
      "src/cli/serve.ts",
      Array.from({ length: 150 }, (_, n) => `export const a${n} = ${n};`).join("\n"),
    ),
    found: "src/cli/serve.ts:1  file-size",
  },
  {
    name: "a tenth file in base",
    files: Object.assign(
      {},
      ...Array.from({ length: 9 }, (_, n) => plant(`src/base/b${n}.ts`, "export const a = 1;")),
    ),
    found: "src/base:1  base-size",
  },
  {
    name: "a file that does not parse",
    files: plant("src/run/a.ts", "export const = 1;"),
    found: "src/run/a.ts:1  syntax",
  },
  {
    name: "a development package in the program",
    files: plant("src/run/a.ts", 'import ajv from "ajv";\nexport const a = ajv;'),
    found: "src/run/a.ts:2  undeclared-package",
  },
  {
    name: "a package that nobody declared",
    files: plant("src/run/a.ts", 'import left from "left-pad/x";\nexport const a = left;'),
    found: "src/run/a.ts:2  undeclared-package",
  },
];

/** What looks like a violation and is none. */
const ALLOWED: readonly { readonly name: string; readonly files: Readonly<Record<string, string>> }[] = [
  {
    name: "a date made from a number",
    files: plant("src/run/a.ts", "export const a = (ms: number) => new Date(ms);"),
  },
  {
    name: "a member of that name",
    files: plant(
      "src/run/a.ts",
      "export const a = (c: { setTimeout(): 1; env: 1 }) => [c.setTimeout(), c.env];",
    ),
  },
  {
    name: "a key of that name",
    files: plant("src/run/a.ts", "export const a = { console: 1, setTimeout: 2 };"),
  },
  {
    name: "a hash",
    files: plant("src/run/a.ts", 'import { createHash } from "node:crypto";\nexport const a = createHash;'),
  },
  {
    name: "the words in a comment or text",
    files: plant("src/run/a.ts", 'export const a = "process.env"; // Date.now()'),
  },
  {
    name: "the environment in config",
    files: plant("src/config/a.ts", "export const a = () => process.env;"),
  },
  {
    name: "an adapter in the demo",
    files: plant("src/demo/a.ts", 'import { open } from "#src/store/sqlite.ts";\nexport const a = open;'),
  },
  {
    name: "the loop in fix",
    files: plant("src/fix/a.ts", 'import { loop } from "#src/harness/loop.ts";\nexport const a = loop;'),
  },
  {
    name: "types of the scheduler in run",
    files: {
      ...plant("src/dag/dag.ts", "export type A = 1;"),
      ...plant("src/run/a.ts", 'export type B = import("#src/dag/dag.ts").A;'),
    },
  },
];

async function problemsOf(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  await using dir = await tempDir();
  await writeTree(dir.path, { ...GOOD, ...files });
  return checkArchitecture(dir.path).map(formatProblem);
}

describe("the architecture test", () => {
  test("finds nothing in a tree that follows every rule", async () => {
    assert.deepEqual(await problemsOf({}), []);
  });

  for (const { name, files, found } of [...FOLDERS, ...EFFECTS, ...SHAPE]) {
    test(`finds ${name} (${found.replace(/.* {2}/, "")})`, async () => {
      const problems = await problemsOf(files);
      const hit = problems.find((problem) => problem.startsWith(`${found}: `));
      assert.ok(hit !== undefined, `expected ${found}, found:\n${problems.join("\n")}`);
    });
  }

  for (const { name, files } of ALLOWED) {
    test(`lets ${name} pass`, async () => {
      assert.deepEqual(await problemsOf(files), []);
    });
  }

  test("finds nothing in this project", () => {
    assert.deepEqual(checkArchitecture(join(import.meta.dirname, "../..")).map(formatProblem), []);
  });
});
