/** The tests of one file as data, from a syntax tree for JavaScript and TypeScript and from indentation for Python. */

import { parseSync } from "oxc-parser";

export interface TestItem {
  /** Names from the outermost group to the test, joined by ` > `. */
  readonly path: string;
  readonly group: boolean;
  readonly skipped: boolean;
  readonly focused: boolean;
  /** Trimmed non-blank lines of the test's own code; empty for a group. */
  readonly body: readonly string[];
}

export interface TestFile {
  readonly items: readonly TestItem[];
  /** Trimmed non-blank lines that belong to no test: helpers, set-up; imports are listed apart. */
  readonly outside: readonly string[];
  /** One entry per imported name, `module#name`. */
  readonly imports: readonly string[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const GROUPS = new Set(["describe", "suite", "context", "xdescribe", "fdescribe"]);
const TESTS = new Set(["test", "it", "specify", "xit", "xtest", "fit"]);
const SKIPPING = new Set(["skip", "todo", "skipIf", "fails", "failing"]);

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

export function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** `test.skip.each([...])` as its base name and the names behind it; null for any other callee. */
function calleeOf(node: unknown): { readonly base: string; readonly modifiers: readonly string[] } | null {
  const modifiers: string[] = [];
  let here = node;
  while (isNode(here)) {
    if (here.type === "Identifier") return { base: String(here.name), modifiers };
    if (here.type === "CallExpression") here = here.callee;
    else if (here.type === "TaggedTemplateExpression") here = here.tag;
    else if (here.type === "MemberExpression") {
      const property = here.property;
      if (isNode(property)) modifiers.push(String(property.name ?? property.value));
      here = here.object;
    } else return null;
  }
  return null;
}

/** `skip`, `only` and `todo` of a node:test options object; `false` and `undefined` leave them off. */
function optionsOf(argumentList: readonly unknown[]): ReadonlySet<string> {
  const on = new Set<string>();
  for (const one of argumentList) {
    if (!isNode(one) || one.type !== "ObjectExpression") continue;
    for (const property of (one.properties ?? []) as readonly unknown[]) {
      if (!isNode(property) || !isNode(property.key) || !isNode(property.value)) continue;
      const value = property.value;
      if (value.value === false || value.name === "undefined") continue;
      on.add(String(property.key.name ?? property.key.value));
    }
  }
  return on;
}

interface Call {
  readonly node: Node;
  readonly name: string;
  readonly group: boolean;
  readonly skipped: boolean;
  readonly focused: boolean;
}

function testCall(node: Node, text: string): Call | null {
  if (node.type !== "CallExpression") return null;
  const callee = calleeOf(node.callee);
  if (callee === null) return null;
  // `t.test("name", …)` inside a test is a subtest, `assert.test` is not a thing.
  const subtest = callee.modifiers[0] === "test" && callee.modifiers.length === 1;
  const group = GROUPS.has(callee.base) || callee.modifiers.includes("describe");
  if (!group && !TESTS.has(callee.base) && !subtest) return null;
  const list = (node.arguments ?? []) as readonly unknown[];
  const first = list[0];
  if (!isNode(first)) return null;
  const literal = first.type === "Literal" || first.type === "TemplateLiteral";
  if (!literal && !list.some((one) => isNode(one) && /Function/.test(one.type))) return null;
  const options = optionsOf(list);
  const marks = [...callee.modifiers, ...options];
  return {
    node,
    name:
      first.type === "Literal"
        ? String(first.value)
        : text.slice(first.start, Math.min(first.end, first.start + 120)),
    group,
    skipped: callee.base.startsWith("x") || marks.some((mark) => SKIPPING.has(mark)),
    focused: /^f(?:it|describe)$/.test(callee.base) || marks.includes("only"),
  };
}

function childrenOf(node: Node): readonly Node[] {
  return Object.entries(node).flatMap(([key, value]) => {
    if (key === "type" || key === "start" || key === "end") return [];
    return (Array.isArray(value) ? value : [value]).filter(isNode);
  });
}

interface Collected {
  readonly items: TestItem[];
  /** Ranges of the file that are tests or imports. */
  readonly taken: [number, number][];
  readonly imports: string[];
}

function collectImport(node: Node, into: Collected): void {
  const source = isNode(node.source) ? String(node.source.value) : "";
  const names = ((node.specifiers ?? []) as readonly unknown[]).filter(isNode).map((one) => {
    const imported = isNode(one.imported) ? String(one.imported.name) : one.type;
    const local = isNode(one.local) ? String(one.local.name) : "";
    return `${source}#${imported} as ${local}`;
  });
  into.imports.push(...(names.length === 0 ? [`${source}#`] : names));
  into.taken.push([node.start, node.end]);
}

/** Iterative, since the nesting depth is the file's choice. */
function collect(program: Node, text: string): Collected {
  const into: Collected = { items: [], taken: [], imports: [] };
  const waiting: { readonly node: Node; readonly parents: readonly string[] }[] = [
    { node: program, parents: [] },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, parents } = next;
    if (node.type === "ImportDeclaration") {
      collectImport(node, into);
      continue;
    }
    const call = testCall(node, text);
    let inside = parents;
    if (call !== null) {
      inside = [...parents, call.name];
      const { group, skipped, focused } = call;
      const body = group ? [] : linesOf(text.slice(node.start, node.end));
      into.items.push({ path: inside.join(" > "), group, skipped, focused, body });
      if (!group) into.taken.push([node.start, node.end]);
    }
    for (const child of [...childrenOf(node)].reverse()) waiting.push({ node: child, parents: inside });
  }
  return into;
}

/** Null when the text does not parse; the caller then compares lines. */
export function javascriptTests(path: string, text: string): TestFile | null {
  const parsed = parseSync(path, text);
  if (parsed.errors.some((error) => error.severity === "Error")) return null;
  const { items, taken, imports } = collect(parsed.program as unknown as Node, text);
  let outside = "";
  let at = 0;
  for (const [start, end] of taken.sort((a, b) => a[0] - b[0])) {
    if (start > at) outside += `${text.slice(at, start)}\n`;
    at = Math.max(at, end);
  }
  outside += text.slice(at);
  const noise = /^[;)}\],\s]*$|^(?:describe|suite|context)\b.*$/;
  return { items, imports, outside: linesOf(outside).filter((line) => !noise.test(line)) };
}

const PYTHON_SKIP = /^@(?:[\w.]*\.)?(?:skip|skipIf|skipUnless|skipif|xfail|expectedFailure)\b/;

interface Open {
  readonly indent: number;
  readonly name: string;
}

function importsOf(lines: readonly string[]): readonly string[] {
  const joined = lines.join("\n").replace(/\(([^)]*)\)/g, (_, names: string) => names.replaceAll("\n", " "));
  return [...joined.matchAll(/^(?:from\s+(\S+)\s+)?import\s+(.+)$/gm)].flatMap((match) =>
    (match[2] ?? "")
      .split(",")
      .map((name) => `${match[1] ?? ""}#${name.trim()}`)
      .filter((name) => !name.endsWith("#")),
  );
}

/** Classes and `test…` functions by indentation; decorators belong to what follows them. */
export function pythonTests(text: string): TestFile {
  const items: (TestItem & { readonly body: string[] })[] = [];
  const outside: string[] = [];
  let open: readonly Open[] = [];
  let decorators: string[] = [];
  let current: { readonly indent: number; readonly body: string[] } | null = null;
  for (const line of text.split("\n")) {
    const trimmed = line.trim();
    if (trimmed === "") continue;
    const indent = line.length - line.trimStart().length;
    if (current !== null && indent > current.indent) {
      current.body.push(trimmed);
      continue;
    }
    current = null;
    open = open.filter((one) => one.indent < indent);
    if (trimmed.startsWith("@")) {
      decorators.push(trimmed);
      continue;
    }
    const found = /^(?:async\s+)?(def|class)\s+(\w+)/.exec(trimmed);
    const [, keyword = "", name = ""] = found ?? [];
    const isTest = keyword === "def" && /^test/i.test(name);
    if (keyword === "class" || isTest) {
      const item = {
        path: [...open.map((one) => one.name), name].join(" > "),
        group: !isTest,
        skipped: decorators.some((one) => PYTHON_SKIP.test(one)),
        focused: false,
        body: isTest ? [...decorators, trimmed] : [],
      };
      items.push(item);
      if (isTest) current = { indent, body: item.body };
      else open = [...open, { indent, name }];
    } else outside.push(...decorators, trimmed);
    decorators = [];
  }
  const imports = importsOf(outside);
  return { items, imports, outside: outside.filter((line) => !/^(?:from\s+\S+\s+)?import\b/.test(line)) };
}
