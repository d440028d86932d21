/** What tests, assertions and imports look like in a JavaScript or TypeScript syntax tree. */

import type { Node } from "web-tree-sitter";
import type { Dialect, Opened } from "./tree.ts";

const GROUPS = new Set(["describe", "suite", "context", "xdescribe", "fdescribe"]);
const TESTS = new Set(["test", "it", "specify", "xit", "xtest", "fit"]);
const SKIPPING = new Set(["skip", "todo", "skipIf", "runIf", "fails", "failing"]);
const ASSERTING = new Set(["assert", "expect", "should", "chai", "t", "tap"]);

/** Words of matchers by what they look at; a name of none of them counts as the value. */
const STRENGTHS: readonly (readonly [strength: number, names: RegExp])[] = [
  [
    1,
    /^(?:ok|assert|truthy|falsy|toBeTruthy|toBeFalsy|toBeDefined|toBeUndefined|toBeNull|not|notEqual|notStrictEqual|notDeepEqual|notDeepStrictEqual|isOk|exists?|isDefined|isNotNull|toBeInstanceOf|instanceOf|isObject|isArray|isString|isNumber|toBeGreaterThan\w*|toBeLessThan\w*|isAbove|isBelow|above|below|toHaveBeenCalled|called|doesNotThrow|doesNotReject|isTrue|isFalse|true|false|undefined|a|an)$/,
  ],
  [
    2,
    /^(?:match|doesNotMatch|toMatch|toContain|toContainEqual|toMatchObject|toHaveProperty|toHaveLength|include|includes|property|length|lengthOf|toBeCloseTo|closeTo|approximately|throws|rejects|toThrow|toThrowError|throw|partialDeepStrictEqual|like|any|anything|objectContaining|stringContaining|arrayContaining|toMatchSnapshot)$/,
  ],
  [4, /^(?:strictEqual|deepStrictEqual|toBe|toStrictEqual|is|same|strict|toMatchInlineSnapshot)$/],
];

interface Callee {
  readonly base: string;
  /** Names behind the base, in order of the text. */
  readonly names: readonly string[];
  /** The arguments of the innermost call, `expect(…)` of `expect(…).toBe(…)`. */
  readonly first: Node | null;
}

/** `test.skip.each([...])` as its base name and the names behind it; null for any other callee. */
function calleeOf(call: Node): Callee | null {
  const names: string[] = [];
  let first: Node | null = null;
  let here: Node | null = call;
  while (here !== null) {
    if (here.type === "identifier" || here.type === "this") return { base: here.text, names, first };
    if (here.type === "call_expression") {
      first = here.childForFieldName("arguments");
      here = here.childForFieldName("function");
    } else if (here.type === "member_expression" || here.type === "subscript_expression") {
      names.unshift((here.childForFieldName("property") ?? here.childForFieldName("index"))?.text ?? "");
      here = here.childForFieldName("object");
    } else if (/^(?:parenthesized|non_null|as|await)_expression$/.test(here.type)) here = here.namedChild(0);
    else return null;
  }
  return null;
}

/** `skip`, `only` and `todo` of a node:test options object; `false` and `undefined` leave them off. */
function optionsOf(list: readonly (Node | null)[]): readonly string[] {
  return list
    .filter((one) => one?.type === "object")
    .flatMap((object) => object?.namedChildren ?? [])
    .flatMap((pair) => {
      const value = pair?.childForFieldName("value")?.text;
      if (pair?.type === "shorthand_property_identifier") return [pair.text];
      if (value === undefined || value === "false" || value === "undefined") return [];
      return [(pair?.childForFieldName("key")?.text ?? "").replace(/["']/g, "")];
    });
}

function isFunction(node: Node | null): boolean {
  return node !== null && /^(?:arrow_function|function_expression|generator_function)$/.test(node.type);
}

function open(node: Node): Opened | null {
  if (node.type !== "call_expression") return null;
  const callee = calleeOf(node);
  if (callee === null) return null;
  const { base, names } = callee;
  // `t.test("name", …)` inside a test is a subtest, `assert.test` is not a thing.
  const subtest = names[0] === "test" && names.length === 1;
  const group = GROUPS.has(base) || names.includes("describe");
  if (!group && !TESTS.has(base) && !subtest) return null;
  const list = node.childForFieldName("arguments")?.namedChildren ?? [];
  const name = list[0] ?? null;
  if (name === null) return null;
  const literal = name.type === "string" || name.type === "template_string";
  if (!literal && !list.some(isFunction)) return null;
  const marks = [...names, ...optionsOf(list)];
  return {
    name: name.type === "string" ? name.text.slice(1, -1) : name.text.slice(0, 120),
    group,
    skipped: base.startsWith("x") || marks.some((mark) => SKIPPING.has(mark)),
    focused: /^f(?:it|describe)$/.test(base) || marks.includes("only"),
  };
}

function strengthOf(names: readonly string[], list: readonly string[]): number {
  if (names.includes("fail")) return 3;
  if (list.length > 0 && list.every((text) => /^(?:true|1|"[^"]*"|'[^']*')$/.test(text))) return 0;
  const matcher = names.filter((name) => !/^(?:to|be|been|that|resolves|rejects|eventually|and)$/.test(name));
  const found = STRENGTHS.filter(([, pattern]) => matcher.some((name) => pattern.test(name)));
  const weakest = found[0]?.[0];
  return weakest ?? 3;
}

/** `toBeCloseTo(x, 5)`: digits, so that fewer is wider; `closeTo(x, 0.1)`: a distance. */
function toleranceOf(names: readonly string[], list: readonly string[]): number | null {
  const last = Number(list.at(-1));
  if (!names.some((name) => /^(?:toBeCloseTo|closeTo|approximately)$/.test(name))) return null;
  if (names.includes("toBeCloseTo")) return 10 ** -(list.length > 1 && Number.isFinite(last) ? last : 2);
  return Number.isFinite(last) ? last : null;
}

/** The outermost call of a chain that begins with an assertion library's name. */
function assertion(node: Node): ReturnType<Dialect["assertion"]> {
  if (node.type !== "call_expression") return null;
  const { parent } = node;
  if (parent?.type === "member_expression" && parent.parent?.type === "call_expression") return null;
  const callee = calleeOf(node);
  if (callee === null || !ASSERTING.has(callee.base)) return null;
  const { base, first } = callee;
  // `t.assert.equal`, `chai.expect(…)`; `t.test`, `t.plan` and `t.mock` assert nothing.
  if (
    base === "t" &&
    /^(?:test|plan|mock|after|before|skip|todo|diagnostic|teardown|end)/.test(callee.names[0] ?? "")
  )
    return null;
  const names = callee.names.length === 0 ? [base === "expect" ? "expect" : "ok"] : callee.names;
  const subject = first?.namedChild(0)?.text ?? "";
  const list = (node.childForFieldName("arguments")?.namedChildren ?? []).map((one) => one?.text ?? "");
  const seen = base === "expect" && callee.names.length > 0 ? [subject, ...list] : list.slice(0, 2);
  return { subject, strength: strengthOf(names, seen), tolerance: toleranceOf(names, list) };
}

function imports(node: Node): readonly string[] | null {
  if (node.type !== "import_statement") return null;
  const source = node.childForFieldName("source")?.text.slice(1, -1) ?? "";
  const names: string[] = [];
  const waiting = [...node.namedChildren];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next === null || next.type === "string") continue;
    if (/^(?:import_clause|named_imports)$/.test(next.type)) waiting.push(...next.namedChildren);
    else names.push(`${source}#${next.text.replace(/\s+/g, " ")}`);
  }
  return names.length === 0 ? [`${source}#`] : names.reverse();
}

function guard(node: Node): "try" | "if" | null {
  if (node.type === "try_statement" && node.childForFieldName("handler") !== null) return "try";
  if (node.type === "call_expression") {
    const name = node.childForFieldName("function")?.childForFieldName("property")?.text;
    return name === "catch" ? "try" : null;
  }
  if (node.type === "binary_expression")
    return /^(?:&&|\|\||\?\?)$/.test(node.childForFieldName("operator")?.text ?? "") ? "if" : null;
  return node.type === "if_statement" || node.type === "ternary_expression" ? "if" : null;
}

export const scriptDialect: Dialect = {
  open,
  assertion,
  imports,
  guard,
  functions: new Set([
    "arrow_function",
    "function_expression",
    "function_declaration",
    "generator_function",
    "method_definition",
  ]),
  noise: /^[;)}\],\s]*$|^(?:describe|suite|context)\b.*$|^\/\//,
};
