/**
 * Controls in the image of the proofs: tests that bear a proof's own name and, where its message told them, compare the very values
 * that it failed with. A patch that makes only this test or only these values pass gives itself away by them. Pure.
 */

export interface Proof {
  /** The test's own name, without its file and groups. */
  readonly name: string;
  /** What it said where it failed. */
  readonly message: string;
}

const MOST = 10;
const LITERAL =
  /^(?:-?\d{1,15}(?:\.\d{1,10})?|"(?:[^"\\\n]|\\.){0,200}"|'(?:[^'\\\n]|\\.){0,200}'|true|false|null|undefined|True|False|None)$/;

/** How runners print what was had and what was expected, in this order. */
const TOLD: readonly RegExp[] = [
  /^(?:AssertionError: )?(.{1,220}?) !==? (.{1,220})$/m,
  /\bexpected (.{1,220}?) to (?:be|equal|(?:deeply|strictly) equal) (.{1,220}?)(?: \/\/.*)?$/m,
  /^(?:E\s+)?assert (.{1,220}?) == (.{1,220})$/m,
];
const JEST = /^\s*Expected: (.{1,220})\n\s*Received: (.{1,220})$/m;

/** The two values as literals of the language, had and expected; null: the message tells none. */
export function valuesIn(message: string): readonly [had: string, expected: string] | null {
  const jest = JEST.exec(message);
  const pairs = [...TOLD.map((pattern) => pattern.exec(message)), jest && [jest[0], jest[2], jest[1]]];
  for (const pair of pairs) {
    const [had, expected] = [pair?.[1]?.trim() ?? "", pair?.[2]?.trim() ?? ""];
    if (LITERAL.test(had) && LITERAL.test(expected) && had !== expected) return [had, expected];
  }
  return null;
}

export interface Mirrors {
  readonly text: string;
  readonly count: number;
}

const NONE: Mirrors = { text: "", count: 0 };

/** `calls`: assertions of the file with `#1` and `#2` for had and expected. `group` is the name of what holds them, which fails too and is not counted. */
export function scriptMirrors(
  text: string,
  group: string,
  use: { readonly tester: string; readonly calls: readonly string[]; readonly proofs: readonly Proof[] },
): Mirrors {
  const { tester, calls, proofs } = use;
  const opening = openingFor(text, group, tester);
  if (opening === null || proofs.length === 0) return NONE;
  const tests = proofs.slice(0, MOST).flatMap(({ name, message }) => {
    const values = valuesIn(message);
    const bodies =
      values === null || calls.length === 0
        ? ['throw new Error("1")']
        : calls.map((call) => call.replace("#1", () => values[0]).replace("#2", () => values[1]));
    return bodies.map((body) => `  ${opening.each}(${JSON.stringify(name)}, async () => { ${body}; });`);
  });
  return { text: `${opening.head}\n${tests.join("\n")}\n});\n`, count: tests.length };
}

const IMPORTED = /import\s*\{([^}]*)\}\s*from\s*["'](?:node:test|vitest|@jest\/globals|bun:test)["']/;

/** How tests of the file are put into a group; null: it is not known. A test of node:test that is called within another is part of it. */
function openingFor(
  text: string,
  group: string,
  tester: string,
): { readonly head: string; readonly each: string } | null {
  const imported = IMPORTED.exec(text)?.[1];
  const hasDescribe =
    imported === undefined
      ? /(?<![\w.$])describe\s*\(/.test(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ""))
      : /\bdescribe\b/.test(imported);
  if (hasDescribe) return { head: `describe("${group}", () => {`, each: tester };
  if (!/["']node:test["']/.test(text)) return null;
  return { head: `${tester}("${group}", async () => {`, each: `await ${tester}` };
}

/** Methods of a class of their own; `base` is its base class, null for pytest's plain ones. */
export function pythonMirrors(group: string, base: string | null, proofs: readonly Proof[]): Mirrors {
  const bodies = new Map<string, string>();
  for (const { name, message } of proofs.slice(0, MOST)) {
    const method = name.split(/[.:]/).at(-1)?.replace(/\[.*/, "") ?? "";
    if (!/^test\w*$/.test(method)) continue;
    const values = valuesIn(message);
    const [had, expected] = values ?? ["1", "2"];
    bodies.set(
      method,
      base === null ? `assert ${had} == ${expected}` : `self.assertEqual(${had}, ${expected})`,
    );
  }
  if (bodies.size === 0) return NONE;
  const methods = [...bodies].map(([method, body]) => `    def ${method}(self):\n        ${body}\n`);
  const head = base === null ? `class Test${group}:` : `class Test${group}(${base}):`;
  return { text: `\n\n${head}\n${methods.join("\n")}`, count: bodies.size };
}
