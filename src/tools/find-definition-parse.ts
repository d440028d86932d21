/** Finds the definitions of a name in one file's syntax tree; runs in a worker thread, since the file may be hostile. */

import type { Node, Tree } from "web-tree-sitter";
import { parserFor } from "#src/base/syntax.ts";
import {
  type Form,
  GRAMMARS,
  type Grammar,
  type Language as LanguageName,
  type Rank,
} from "./find-definition-grammars.ts";
import { guessIn } from "./find-definition-guess.ts";
import type { Definition } from "./find-definition-symbol.ts";

/** Occurrences looked at, and definitions taken, in one file. */
const MOST_OCCURRENCES = 5_000;
const MOST_FOUND = 50;
/** Nodes looked at above a definition: each step up costs the tree's whole depth. */
const MOST_LEVELS = 300;
/** Decorators and modifiers further above than this are left out. */
const MOST_ROWS_BEFORE = 8;

const FUNCTION_VALUES = new Set(["arrow_function", "function_expression", "generator_function", "lambda"]);
const CLASS_VALUES = new Set(["class", "class_expression"]);
const CLASS_HOLDERS = /class|interface|impl|trait|struct|object|protocol|record|enum/;
const LOCALS = new Set(["variable", "assignment", "constant"]);
const WORD = /[\p{L}\p{N}_]/u;

/** Definitions of exactly `name` (without qualifiers) in `text`, in its order. */
export async function findInFile(
  language: LanguageName,
  name: string,
  text: string,
): Promise<readonly Definition[]> {
  const grammar: Grammar = GRAMMARS[language];
  const tree = (await parserFor(grammar.wasm)).parse(text);
  if (tree === null) return [];
  try {
    const found = definitionsIn(tree, grammar, name, text);
    // An error can swallow what follows it.
    return found.length === 0 && tree.rootNode.hasError ? guessIn(name, text) : found;
  } finally {
    tree.delete();
  }
}

function definitionsIn(tree: Tree, grammar: Grammar, name: string, text: string): readonly Definition[] {
  const found = new Map<number, Definition>();
  let looked = 0;
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) {
    if (!isWord(text, at, name.length)) continue;
    if (++looked > MOST_OCCURRENCES || found.size >= MOST_FOUND) break;
    const leaf = tree.rootNode.namedDescendantForIndex(at, at + name.length);
    if (leaf === null || leaf.endIndex - leaf.startIndex > name.length + 2) continue;
    const definition = definitionAt(leaf, grammar);
    if (definition !== null) found.set(at, definition);
  }
  return [...found.values()];
}

function isWord(text: string, at: number, length: number): boolean {
  return !WORD.test(text[at - 1] ?? "") && !WORD.test(text[at + length] ?? "");
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function holds(parent: Node, field: string, child: Node): boolean {
  if (field === "any") return true;
  if (field === "first") return parent.namedChild(0)?.id === child.id;
  return parent.childrenForFieldName(field).some((one) => one?.id === child.id);
}

interface Named {
  readonly node: Node;
  readonly form: Form;
  /** Nodes between the name and the definition, innermost first. */
  readonly via: readonly Node[];
}

/** The definition that `leaf` is the name of; null when it is only used there. */
function namedBy(leaf: Node, grammar: Grammar): Named | null {
  const via: Node[] = [];
  for (let node = leaf; ; ) {
    const parent = node.parent;
    if (parent === null) return null;
    const form = own(grammar.forms, parent.type);
    if (form !== undefined && holds(parent, form.field, node) && fits(parent, form))
      return { node: form.childOnly === true ? node : parent, form, via };
    const field = own(grammar.wrappers, parent.type);
    if (field === undefined || !holds(parent, field, node)) return null;
    via.push(parent);
    node = parent;
  }
}

function fits(node: Node, form: Form): boolean {
  if (form.needs !== undefined && node.childForFieldName(form.needs) === null) return false;
  if (form.where === undefined) return true;
  return form.where.texts.includes(node.childForFieldName(form.where.field)?.text ?? "");
}

function definitionAt(leaf: Node, grammar: Grammar): Definition | null {
  const named = namedBy(leaf, grammar);
  if (named === null) return null;
  const { node } = named;
  const around = surroundings(node, grammar);
  const value = valueNode(node);
  const body = node.childForFieldName("body") ?? value?.childForFieldName("body") ?? null;
  const row = leaf.startPosition.row;
  const shown = frameOf(node, grammar);
  const near = row - shown.startPosition.row <= MOST_ROWS_BEFORE;
  return {
    ...classify(named, around, value),
    inside: [...around.inside, ...ownQualifiers(named)],
    also: around.also,
    row,
    from: near ? shown.startPosition.row : row,
    column: near ? shown.startPosition.column : 0,
    signatureEnd: Math.max(row, body?.startPosition.row ?? row),
    end: node.endPosition.row,
  };
}

interface Around {
  readonly inside: readonly string[];
  readonly also: readonly string[];
  /** The nearest holder is a class or its like, without a function between. */
  readonly inClass: boolean;
  readonly inFunction: boolean;
}

function surroundings(node: Node, grammar: Grammar): Around {
  const inside: string[] = [];
  const also: string[] = [];
  let inClass = false;
  let inFunction = false;
  let levels = 0;
  for (let outer = node.parent; outer !== null && ++levels < MOST_LEVELS; outer = outer.parent) {
    const isFunction = grammar.functions.includes(outer.type);
    const field = own(grammar.holders, outer.type);
    if (field !== undefined && isHolder(outer)) {
      const holder = outer.childForFieldName(field)?.text;
      if (inside.length === 0 && !inFunction && !isFunction)
        inClass = CLASS_HOLDERS.test(`${outer.type} ${valueNode(outer)?.type ?? ""}`);
      if (holder !== undefined) inside.unshift(bareName(holder));
      const trait = outer.childForFieldName("trait")?.text;
      if (trait !== undefined) also.push(bareName(trait));
    }
    inFunction ||= isFunction;
  }
  return { inside, also, inClass, inFunction };
}

/** A variable or a pair gives its name only to what stands in its own object, class or function. */
function isHolder(node: Node): boolean {
  if (node.type !== "variable_declarator" && node.type !== "pair") return true;
  const type = valueNode(node)?.type ?? "";
  return type === "object" || FUNCTION_VALUES.has(type) || CLASS_VALUES.has(type);
}

/** `Stack<T>` → Stack, `&'a Stack` → Stack, `"mod"` → mod; a long one is cut. */
function bareName(text: string): string {
  const name = text
    .slice(0, 200)
    .replace(/^[&*\s"']+/, "")
    .replace(/^mut\s+/, "");
  return name.replace(/[<([{"'\s][\s\S]*$/, "");
}

/** Qualifiers that stand at the name itself: Go's receiver, C++'s `A::b`, `A.prototype.b = …`. */
function ownQualifiers({ node, via }: Named): readonly string[] {
  const receiver = node.childForFieldName("receiver")?.text;
  if (receiver !== undefined) {
    const type = /([\p{L}\p{N}_]+)\s*(?:\[[\s\S]*)?\)\s*$/u.exec(receiver.slice(0, 500))?.[1];
    return type === undefined ? [] : [type];
  }
  const scopes = via.flatMap((one) => one.childForFieldName("scope")?.text ?? []).reverse();
  const objects = via.flatMap((one) => one.childForFieldName("object")?.text ?? []);
  return [...scopes.map(bareName), ...objects.flatMap((text) => text.slice(0, 200).split("."))].filter(
    (part) => !["prototype", "this", "self", "exports", "module", ""].includes(part),
  );
}

function valueNode(node: Node): Node | null {
  return node.childForFieldName("value") ?? node.childForFieldName("right");
}

function classify(
  { node, form, via }: Named,
  around: Around,
  value: Node | null,
): { readonly kind: string; readonly rank: Rank } {
  const types = via.map((one) => one.type);
  if (value !== null && FUNCTION_VALUES.has(value.type))
    return { kind: around.inClass ? "method" : "function", rank: 0 };
  if (value !== null && CLASS_VALUES.has(value.type)) return { kind: "class", rank: 0 };
  if (
    types.includes("function_declarator") &&
    !types.includes("parenthesized_declarator") &&
    form.kind !== "function"
  )
    return { kind: form.kind === "type" ? "type" : "declaration", rank: form.kind === "type" ? 0 : 1 };
  if (form.kind === "function") return { kind: around.inClass ? "method" : "function", rank: form.rank };
  if (types.includes("attribute") || types.includes("member_expression"))
    return { kind: "attribute", rank: 2 };
  if (form.kind === "type") return { kind: typeKind(node), rank: form.rank };
  if (!LOCALS.has(form.kind)) return { kind: form.kind, rank: form.rank };
  if (around.inClass) return { kind: form.kind === "constant" ? "constant" : "attribute", rank: 1 };
  if (around.inFunction) return { kind: "local variable", rank: 2 };
  const isExtern = node.type === "declaration" && node.namedChild(0)?.text === "extern";
  return isExtern ? { kind: "declaration", rank: 1 } : { kind: form.kind, rank: form.rank };
}

/** Go names structs and interfaces by a type. */
function typeKind(node: Node): string {
  const type = node.childForFieldName("type")?.type ?? "";
  return { struct_type: "struct", interface_type: "interface" }[type] ?? "type";
}

/** The outermost node that begins with this definition: `export`, decorators, `const`. */
function frameOf(node: Node, grammar: Grammar): Node {
  let shown = node;
  while (shown.parent !== null && grammar.frames.includes(shown.parent.type) && !hasTwinBefore(shown))
    shown = shown.parent;
  return shown;
}

function hasTwinBefore(node: Node): boolean {
  for (let before = node.previousNamedSibling; before !== null; before = before.previousNamedSibling) {
    if (before.type === node.type) return true;
  }
  return false;
}
