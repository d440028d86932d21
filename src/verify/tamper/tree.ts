/** Walks the syntax tree of a test file and collects tests, assertions and imports; what is a test is the language's to say. */

import type { Node } from "web-tree-sitter";
import { parserFor } from "#src/base/syntax.ts";
import type { Assertion, TestFile, TestItem } from "./items.ts";
import { linesOf } from "./items.ts";
import { pythonDialect } from "./tree-python.ts";
import { scriptDialect } from "./tree-script.ts";

/** Files above are compared by their lines. */
const MOST_CHARACTERS = 1_000_000;

/** A test or a group of tests that a node opens. */
export interface Opened {
  readonly name: string;
  readonly group: boolean;
  readonly skipped: boolean;
  readonly focused: boolean;
}

export interface Dialect {
  /** The test or group that begins with this node; null: none does. */
  open(node: Node): Opened | null;
  /** The assertion that this node is; null: it is none. */
  assertion(node: Node): Omit<Assertion, "text" | "shown" | "guard"> | null;
  /** Imported names as `module#name`; null: the node is no import. */
  imports(node: Node): readonly string[] | null;
  /** `try` where failures inside are caught, `if` where what is inside may not run; null: neither. */
  guard(node: Node): "try" | "if" | null;
  /** Node types that begin another function, in which `return` is its own. */
  readonly functions: ReadonlySet<string>;
  /** Lines outside the tests that say nothing. */
  readonly noise: RegExp;
}

interface OpenItem extends Opened {
  readonly path: string;
  readonly conditional: boolean;
  readonly node: Node;
  readonly assertions: Assertion[];
  returnsBefore: number;
  returns: number;
}

interface Here {
  readonly parents: readonly string[];
  readonly item: OpenItem | null;
  readonly guards: ReadonlySet<string>;
  /** Functions between the test and here. */
  readonly depth: number;
}

const NO_TOKENS = new Set(["comment", ",", ";", "\n"]);

/** The leaves joined by blanks, so that layout, comments and trailing separators make no difference. */
export function tokensOf(node: Node): string {
  const parts: string[] = [];
  const waiting: Node[] = [node];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (NO_TOKENS.has(next.type)) continue;
    if (next.childCount === 0 || /string|regex/.test(next.type)) {
      const text = next.text.trim();
      if (text !== "") parts.push(text);
      continue;
    }
    for (let at = next.childCount - 1; at >= 0; at--) {
      const child = next.child(at);
      if (child !== null) waiting.push(child);
    }
  }
  return parts.join(" ");
}

class Collector {
  readonly items: OpenItem[] = [];
  readonly shared: Assertion[] = [];
  readonly imports: string[] = [];
  readonly taken: [number, number][] = [];
  readonly dialect: Dialect;

  constructor(dialect: Dialect) {
    this.dialect = dialect;
  }

  private assertion(node: Node, here: Here): boolean {
    const found = this.dialect.assertion(node);
    if (found === null) return false;
    const guard = [...here.guards].sort().join(" ");
    const text = `${guard === "" ? "" : `[${guard}] `}${tokensOf(node)}`;
    (here.item?.assertions ?? this.shared).push({
      ...found,
      guard,
      text,
      shown: node.text.replace(/\s+/g, " "),
    });
    if (here.item !== null) here.item.returns = here.item.returnsBefore;
    return true;
  }

  private opened(node: Node, here: Here): Here | null {
    const opened = this.dialect.open(node);
    if (opened === null) return null;
    const parents = [...here.parents, opened.name];
    const item: OpenItem = {
      ...opened,
      path: parents.join(" > "),
      conditional: here.guards.has("if"),
      node,
      assertions: [],
      returnsBefore: 0,
      returns: 0,
    };
    this.items.push(item);
    if (opened.group) return { parents, item: null, guards: here.guards, depth: 0 };
    this.taken.push([node.startIndex, node.endIndex]);
    return { parents, item, guards: new Set(), depth: -1 };
  }

  /** What holds for the children of `node`; null: nothing inside is of interest. */
  enter(node: Node, here: Here): Here | null {
    const names = this.dialect.imports(node);
    if (names !== null) {
      this.imports.push(...names);
      this.taken.push([node.startIndex, node.endIndex]);
      return null;
    }
    const inside = this.opened(node, here);
    if (inside !== null) return inside;
    if (this.assertion(node, here)) return here;
    if (node.type === "return_statement" && here.item !== null && here.depth <= 0)
      here.item.returnsBefore += 1;
    const guard = this.dialect.guard(node);
    const deeper = this.dialect.functions.has(node.type) ? here.depth + 1 : here.depth;
    if (guard === null && deeper === here.depth) return here;
    return {
      ...here,
      depth: deeper,
      guards: guard === null ? here.guards : new Set([...here.guards, guard]),
    };
  }
}

function itemOf(item: OpenItem): TestItem {
  const { path, group, skipped, focused, conditional, assertions, returns, node } = item;
  return {
    path,
    group,
    skipped,
    focused,
    conditional,
    assertions,
    returns,
    tokens: group ? "" : tokensOf(node),
    body: group ? [] : linesOf(node.text),
  };
}

function outsideOf(text: string, taken: readonly [number, number][]): string {
  let outside = "";
  let at = 0;
  for (const [start, end] of [...taken].sort((a, b) => a[0] - b[0])) {
    if (start > at) outside += `${text.slice(at, start)}\n`;
    at = Math.max(at, end);
  }
  return outside + text.slice(at);
}

/** Iterative, since the nesting depth is the file's choice. */
function walk(root: Node, collector: Collector): void {
  const waiting: { readonly node: Node; readonly here: Here }[] = [
    { node: root, here: { parents: [], item: null, guards: new Set(), depth: 0 } },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const inside = collector.enter(next.node, next.here);
    if (inside === null) continue;
    for (let at = next.node.namedChildCount - 1; at >= 0; at--) {
      const node = next.node.namedChild(at);
      if (node !== null) waiting.push({ node, here: inside });
    }
  }
}

function grammarOf(path: string): string | null {
  if (/\.pyi?$/.test(path)) return "python";
  if (/\.[mc]?ts$/.test(path)) return "typescript";
  if (/\.[jt]sx$/.test(path)) return "tsx";
  return /\.[mc]?js$/.test(path) ? "tsx" : null;
}

/** Null when the language is another, or the text does not parse: the caller then compares lines. */
export async function readTests(path: string, text: string): Promise<TestFile | null> {
  const grammar = grammarOf(path);
  if (grammar === null || text.length > MOST_CHARACTERS) return null;
  const tree = (await parserFor(grammar)).parse(text);
  if (tree === null) return null;
  try {
    if (tree.rootNode.hasError) return null;
    const collector = new Collector(grammar === "python" ? pythonDialect : scriptDialect);
    walk(tree.rootNode, collector);
    return {
      items: collector.items.map(itemOf),
      imports: collector.imports,
      assertions: collector.shared,
      outside: linesOf(outsideOf(text, collector.taken)).filter(
        (line) => !collector.dialect.noise.test(line),
      ),
    };
  } finally {
    tree.delete();
  }
}
