/** The other gates of `npm run check` fail on a planted violation too: the compiler's strictness and Biome's size budgets. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const ROOT = join(import.meta.dirname, "../..");

function run(
  program: string,
  argv: readonly string[],
  cwd: string,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(join(ROOT, "node_modules/.bin", program), argv, { cwd }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
  });
}

/** The project's own compiler options over the given files. */
async function compile(files: Readonly<Record<string, string>>): Promise<{ code: number; output: string }> {
  await using dir = await tempDir();
  const { compilerOptions } = JSON.parse(await readFile(join(ROOT, "tsconfig.json"), "utf8"));
  const config = { compilerOptions: { ...compilerOptions, types: [] }, include: ["src"] };
  await writeTree(dir.path, {
    ...files,
    "package.json": '{"type": "module"}',
    "tsconfig.json": JSON.stringify(config),
  });
  return await run("tsc", ["-p", "."], dir.path);
}

/** The project's own Biome settings over the given files. */
async function lint(files: Readonly<Record<string, string>>): Promise<{ code: number; output: string }> {
  await using dir = await tempDir();
  await writeTree(dir.path, { ...files, ".gitignore": "node_modules\n" });
  await copyFile(join(ROOT, "biome.jsonc"), join(dir.path, "biome.jsonc"));
  await symlink(join(ROOT, "node_modules"), join(dir.path, "node_modules"));
  return await run("biome", ["check", "--error-on-warnings", "--max-diagnostics=50", "."], dir.path);
}

const lines = (count: number) =>
  Array.from({ length: count }, (_, n) => `export const a${n} = ${n};\n`).join("");
const body = (count: number) => Array.from({ length: count }, () => "  n += 1;\n").join("");
const longFunction = (count: number) =>
  `export function f(start: number): number {\n  let n = start;\n${body(count - 2)}  return n;\n}\n`;

describe("the compiler", () => {
  test("takes plain erasable code", async () => {
    assert.deepEqual(await compile({ "src/a.ts": "export const a: number = 1;\n" }), { code: 0, output: "" });
  });

  for (const [name, source, error] of [
    ["an enum, which Node cannot erase", "export enum A { B }\n", "TS1294"],
    ["a parameter property", "export class A { constructor(readonly b: number) {} }\n", "TS1294"],
    ["an index that may be missing", "export const a = (list: string[]): string => list[0];\n", "TS2322"],
    ["undefined for an optional member", "export const a: { b?: number } = { b: undefined };\n", "TS2375"],
    ["a type imported as a value", 'import { B } from "./b.ts";\nexport type A = B;\n', "TS1484"],
    ["a missing return value", "export function a(b: boolean): number { if (b) return 1; }\n", "TS2366"],
  ] as const) {
    test(`refuses ${name} (${error})`, async () => {
      const { code, output } = await compile({
        "src/a.ts": source,
        "src/b.ts": "export interface B { c: 1 }\n",
      });
      assert.notEqual(code, 0);
      assert.match(output, new RegExp(`src/a\\.ts.*${error}`));
    });
  }
});

describe("Biome", () => {
  test("takes a file of 400 lines, a function of 80 and one of 4 parameters", async () => {
    const { code, output } = await lint({
      "src/run/a.ts": lines(400),
      "src/run/b.ts": longFunction(80),
      "src/run/c.ts":
        "export const c = (w: number, x: number, y: number, z: number): number => w + x + y + z;\n",
    });
    assert.equal(code, 0, output);
  });

  for (const [name, path, code, rule] of [
    ["a file of 401 lines", "src/run/a.ts", lines(401), "noExcessiveLinesPerFile"],
    ["a test file of 401 lines", "test/run/a.test.ts", lines(401), "noExcessiveLinesPerFile"],
    ["a function of 81 lines", "src/run/a.ts", longFunction(81), "noExcessiveLinesPerFunction"],
    [
      "a function of 5 parameters",
      "src/run/a.ts",
      "export const f = (a: 1, b: 1, c: 1, d: 1, e: 1): number => a + b + c + d + e;\n",
      "useMaxParams",
    ],
    ["any", "src/run/a.ts", "export const f = (a: any): number => a.b;\n", "noExplicitAny"],
    ["@ts-ignore", "src/run/a.ts", "// @ts-ignore\nexport const a: number = 1;\n", "noTsIgnore"],
    [
      "a promise nobody waits for",
      "src/run/a.ts",
      "const f = async (): Promise<number> => 1;\nexport function g(): void {\n  f();\n}\n",
      "noFloatingPromises",
    ],
    [
      "the console outside cli and demo",
      "src/run/a.ts",
      "export const f = () => console.log(1);\n",
      "noConsole",
    ],
    [
      "the environment outside config",
      "src/run/a.ts",
      "export const f = () => process.env.A;\n",
      "noProcessEnv",
    ],
    ["a barrel", "src/run/a.ts", 'export * from "./b.ts";\n', "noReExportAll"],
    [
      "an unused import",
      "src/run/a.ts",
      'import { join } from "node:path";\n\nexport const a = 1;\n',
      "noUnusedImports",
    ],
    ["a file in another format", "src/run/a.ts", "export const a = 'b'\n", "format"],
  ] as const) {
    test(`refuses ${name} (${rule})`, async () => {
      const { code: exit, output } = await lint({ [path]: code });
      assert.notEqual(exit, 0);
      assert.match(output, new RegExp(`${path}.*${rule}`));
    });
  }
});
