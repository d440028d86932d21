/**
 * Tests that must fail, added to a test file for one more run: a patch that stubs assertions or rewrites results makes them pass
 * too, and so gives itself away. They use the file's own test function and assertions, and names that no patch can know. Pure.
 */

import { type Proof, pythonMirrors, scriptMirrors } from "./control-proofs.ts";

export interface Control {
  /** To be appended to the file. */
  readonly text: string;
  /** How many tests it brings; the id of each holds the nonce. */
  readonly count: number;
}

/** Calls that fail, by the name of the assertion; `$` stands for what it is called on. */
const ASSERT: Readonly<Record<string, string>> = {
  equal: "$(1, 2)",
  strictEqual: "$(1, 2)",
  deepEqual: "$([1], [2])",
  deepStrictEqual: "$([1], [2])",
  partialDeepStrictEqual: "$([1], [2])",
  notEqual: "$(1, 1)",
  notStrictEqual: "$(1, 1)",
  notDeepEqual: "$([1], [1])",
  notDeepStrictEqual: "$([1], [1])",
  ok: "$(false)",
  match: '$("a", /b/)',
  doesNotMatch: '$("a", /a/)',
  throws: "$(() => {})",
  doesNotThrow: '$(() => { throw new Error("1"); })',
  rejects: "await $(async () => {})",
};

const EXPECT: Readonly<Record<string, string>> = {
  toBe: "expect(1).toBe(2)",
  toEqual: "expect([1]).toEqual([2])",
  toStrictEqual: "expect([1]).toStrictEqual([2])",
  toMatch: 'expect("a").toMatch(/b/)',
  toMatchObject: "expect({ a: 1 }).toMatchObject({ a: 2 })",
  toContain: "expect([1]).toContain(2)",
  toContainEqual: "expect([1]).toContainEqual(2)",
  toHaveLength: "expect([1]).toHaveLength(2)",
  toHaveProperty: 'expect({}).toHaveProperty("a")',
  toBeTruthy: "expect(false).toBeTruthy()",
  toBeFalsy: "expect(true).toBeFalsy()",
  toBeNull: "expect(1).toBeNull()",
  toBeDefined: "expect(undefined).toBeDefined()",
  toBeUndefined: "expect(1).toBeUndefined()",
  toBeCloseTo: "expect(1).toBeCloseTo(2)",
  toBeGreaterThan: "expect(1).toBeGreaterThan(2)",
  toBeLessThan: "expect(2).toBeLessThan(1)",
  toThrow: "expect(() => {}).toThrow()",
  equal: "expect(1).to.equal(2)",
  eql: "expect([1]).to.eql([2])",
};

const PYTHON: Readonly<Record<string, string>> = {
  assertEqual: "self.assertEqual(1, 2)",
  assertNotEqual: "self.assertNotEqual(1, 1)",
  assertTrue: "self.assertTrue(False)",
  assertFalse: "self.assertFalse(True)",
  assertIs: "self.assertIs(1, None)",
  assertIsNone: "self.assertIsNone(1)",
  assertIsNotNone: "self.assertIsNotNone(None)",
  assertIn: "self.assertIn(1, [2])",
  assertNotIn: "self.assertNotIn(1, [1])",
  assertAlmostEqual: "self.assertAlmostEqual(1, 2)",
  assertGreater: "self.assertGreater(1, 2)",
  assertLess: "self.assertLess(2, 1)",
  assertListEqual: "self.assertListEqual([1], [2])",
  assertDictEqual: "self.assertDictEqual({1: 1}, {1: 2})",
  assertRaises: "self.assertRaises(ValueError, int)",
};

/** Assertions of two values, by which a proof's own can be repeated. */
const OF_TWO = /^(?:equal|strictEqual|deepEqual|deepStrictEqual)$/;

/** `nonce`: lower-case hex; `proofs`: those of the file. Null: the file is in no language or shape that is known here. */
export function controlOf(
  path: string,
  text: string,
  nonce: string,
  proofs: readonly Proof[] = [],
): Control | null {
  if (/\.[cm]?[jt]sx?$/.test(path)) return scriptControl(text, nonce, proofs);
  return path.endsWith(".py") ? pythonControl(text, nonce, proofs) : null;
}

/** The group of the controls that repeat proofs; it fails because they do, and is none of them. */
export function groupOf(nonce: string): string {
  return `${nonce}g`;
}

function namesIn(text: string, pattern: RegExp): ReadonlySet<string> {
  return new Set([...text.matchAll(pattern)].map((found) => found[1] ?? ""));
}

function scriptControl(text: string, nonce: string, proofs: readonly Proof[]): Control | null {
  const tester = /(?<![\w.$])(test|it)\s*\(/.exec(text)?.[1];
  if (tester === undefined) return null;
  const expressions = new Set(['throw new Error("1")']);
  const calls = new Set<string>();
  const asserts = (callee: string, name: string) => {
    const call = ASSERT[name];
    if (call !== undefined) expressions.add(call.replace("$", () => callee));
    if (OF_TWO.test(name)) calls.add(`${callee}(#1, #2)`);
  };
  for (const callee of namesIn(text, /(?<![\w.$])(assert(?:\.strict)?(?:\.\w+)?)\s*\(/g)) {
    asserts(callee, callee === "assert" ? "ok" : (callee.split(".").at(-1) ?? ""));
  }
  const imported =
    /import\s*\{([^}]*)\}\s*from\s*["'](?:node:)?assert(?:\/strict)?["']/.exec(text)?.[1] ?? "";
  for (const name of imported.split(",").map((one) => one.trim())) asserts(name, name);
  if (/(?<![\w.$])expect\s*\(/.test(text))
    for (const matcher of namesIn(text, /\.\s*(\w+)\s*\(/g)) {
      const call = EXPECT[matcher];
      if (call !== undefined) expressions.add(call);
      if (/^to(?:Be|Equal|StrictEqual)$/.test(matcher)) calls.add(`expect(#1).${matcher}(#2)`);
    }
  const tests = [...expressions].map(
    (expression, index) => `${tester}("${nonce} ${index}", async () => { ${expression}; });`,
  );
  const mirrors = scriptMirrors(text, groupOf(nonce), { tester, calls: [...calls], proofs });
  return { text: `\n;\n${tests.join("\n")}\n${mirrors.text}`, count: tests.length + mirrors.count };
}

function pythonControl(source: string, nonce: string, proofs: readonly Proof[]): Control | null {
  const base = /^class\s+\w+\s*\(\s*([\w.]*TestCase)\b/m.exec(source)?.[1];
  if (base === undefined) {
    if (!/^[ \t]*(?:async\s+)?def\s+test/m.test(source)) return null;
    const bodies = ["assert 1 == 2", 'raise AssertionError("1")'];
    if (/\bpytest\.raises\b/.test(source)) bodies.push("with pytest.raises(ValueError):\n        pass");
    const tests = bodies.map((body, index) => `def test_${nonce}_${index}():\n    ${body}\n`);
    const mirrors = pythonMirrors(groupOf(nonce), null, proofs);
    return { text: `\n\n${tests.join("\n\n")}${mirrors.text}`, count: tests.length + mirrors.count };
  }
  const bodies = ['raise AssertionError("1")'];
  for (const name of namesIn(source, /\bself\.(assert\w+)\s*\(/g)) {
    const call = PYTHON[name];
    if (call !== undefined) bodies.push(call);
  }
  const methods = bodies.map((body, index) => `    def test_${index}(self):\n        ${body}\n`);
  const mirrors = pythonMirrors(groupOf(nonce), base, proofs);
  const text = `\n\nclass Test${nonce}(${base}):\n${methods.join("\n")}${mirrors.text}`;
  return { text, count: methods.length + mirrors.count };
}
