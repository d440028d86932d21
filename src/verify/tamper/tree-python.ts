/** What tests, assertions and imports look like in a Python syntax tree, for pytest and unittest alike. */

import type { Node } from "web-tree-sitter";
import type { Dialect, Opened } from "./tree.ts";

const SKIP = /^@(?:[\w.]*\.)?(?:skip|skipIf|skipUnless|skipif|xfail|expectedFailure)\b/;

/** Assertions of unittest by what they look at; a name of none of them counts as the value. */
const WEAK: readonly (readonly [strength: number, names: RegExp])[] = [
  [
    1,
    /^assert(?:True|False|IsNone|IsNotNone|NotEqual|IsInstance|NotIsInstance|Greater\w*|Less\w*|IsNot|NotIn|NotAlmostEqual)$/,
  ],
  [
    2,
    /^(?:assert(?:In|Regex|AlmostEqual|Raises|RaisesRegex|Warns\w*|Logs|CountEqual|_allclose|_almost_equal)|raises|warns)$/,
  ],
];

function definitionOf(node: Node): Node {
  return node.type === "decorated_definition" ? (node.childForFieldName("definition") ?? node) : node;
}

/** A decorated definition is opened by its decorators' node, so that they belong to the test. */
function open(node: Node): Opened | null {
  if (node.parent?.type === "decorated_definition") return null;
  const definition = definitionOf(node);
  const name = definition.childForFieldName("name")?.text ?? "";
  const isClass = definition.type === "class_definition";
  if (!isClass && !(definition.type === "function_definition" && /^test/i.test(name))) return null;
  const decorators = node === definition ? [] : node.namedChildren.filter((one) => one?.type === "decorator");
  return {
    name,
    group: isClass,
    skipped: decorators.some((one) => SKIP.test(one?.text ?? "")),
    focused: false,
  };
}

const CONSTANT = /^(?:True|1|"[^"]*"|'[^']*')$/;

function comparison(node: Node): ReturnType<Dialect["assertion"]> {
  let value = node.namedChild(0);
  while (value?.type === "parenthesized_expression") value = value.namedChild(0);
  if (value === null || CONSTANT.test(value.text)) return { subject: "", strength: 0, tolerance: null };
  const text = value.text;
  if (value.type === "boolean_operator" && / or /.test(text))
    return { subject: value.namedChild(0)?.namedChild(0)?.text ?? "", strength: 1, tolerance: null };
  const subject = value.type === "comparison_operator" ? (value.namedChild(0)?.text ?? "") : text;
  return { subject, strength: strengthOfComparison(value), tolerance: toleranceOf(text) };
}

function strengthOfComparison(value: Node): number {
  if (value.type !== "comparison_operator") return 1;
  const sides = value.namedChildren.map((one) => one?.text ?? "");
  if (sides.length === 2 && sides[0] === sides[1]) return 0;
  const operators = value.children
    .filter((one) => one !== null && !one.isNamed)
    .map((one) => one?.text ?? "");
  if (operators.includes("==")) return /approx\s*\(/.test(value.text) ? 2 : 3;
  if (operators.join(" ") === "is") return /\bNone$/.test(value.text) ? 1 : 4;
  return operators.includes("in") && !operators.includes("not") ? 2 : 1;
}

/** Of `approx(x, rel=…, abs=…)`, `delta=`, `places=`, `atol=`; null where none is named. */
function toleranceOf(text: string): number | null {
  const places = /\b(?:places|decimal)\s*=\s*(\d+)/.exec(text)?.[1];
  if (places !== undefined) return 10 ** -Number(places);
  const named = [
    ...text.matchAll(/\b(?:rel|abs|delta|rtol|atol|rel_tol|abs_tol)\s*=\s*([\d.]+(?:e[-+]?\d+)?)/gi),
  ];
  if (named.length > 0) return Math.max(...named.map((one) => Number(one[1])));
  if (/\bapprox\s*\(/.test(text)) return 1e-6;
  return /AlmostEqual/.test(text) ? 1e-7 : null;
}

function assertion(node: Node): ReturnType<Dialect["assertion"]> {
  if (node.type === "assert_statement") return comparison(node);
  if (node.type !== "call") return null;
  const callee = node.childForFieldName("function");
  const name = callee?.childForFieldName("attribute")?.text ?? callee?.text ?? "";
  const object = callee?.childForFieldName("object")?.text ?? "";
  const isOne =
    /^assert[A-Z_]\w*$/.test(name) || ((name === "raises" || name === "warns") && object === "pytest");
  if (!isOne) return null;
  const list = node.childForFieldName("arguments")?.namedChildren.map((one) => one?.text ?? "") ?? [];
  const always =
    (list[0] === list[1] && list.length > 1) || (CONSTANT.test(list[0] ?? "") && /True$/.test(name));
  const weak = WEAK.find(([, pattern]) => pattern.test(name))?.[0] ?? 3;
  const broad = /aises/.test(name) && /^(?:Base)?Exception$/.test(list[0] ?? "");
  return {
    // A type of error is what such an assertion expects, not what it looks at.
    subject: /aises|warns|Warns/.test(name) ? "raises" : (list[0] ?? ""),
    strength: always ? 0 : broad ? 1 : weak,
    tolerance: toleranceOf(node.text),
  };
}

function imports(node: Node): readonly string[] | null {
  if (node.type !== "import_statement" && node.type !== "import_from_statement") return null;
  const source = node.childForFieldName("module_name")?.text ?? "";
  return node
    .childrenForFieldName("name")
    .flatMap((one) => (one === null ? [] : [`${source}#${one.text.replace(/\s+/g, " ")}`]));
}

function guard(node: Node): "try" | "if" | null {
  if (node.type === "try_statement")
    return node.namedChildren.some((one) => one?.type === "except_clause") ? "try" : null;
  if (node.type === "with_statement" && /^with\s+(?:contextlib\.)?suppress\b/.test(node.text.slice(0, 60)))
    return "try";
  return node.type === "if_statement" || node.type === "conditional_expression" ? "if" : null;
}

export const pythonDialect: Dialect = {
  open,
  assertion,
  imports,
  guard,
  functions: new Set(["function_definition", "lambda"]),
  noise: /^#/,
};
