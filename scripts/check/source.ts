/** Reads a TypeScript file into what the rules look at: its imports, its syntax tree, its comments and its lines. */

import { readdirSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { parseSync, visitorKeys } from "oxc-parser";

/** A syntax node as far as the rules need it; oxc's trees are ESTree with TypeScript nodes. */
export interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface Import {
  /** As written. */
  readonly specifier: string;
  /** From the root, when it names a file of this repository; null for packages and Node's own modules. */
  readonly target: string | null;
  readonly typesOnly: boolean;
  readonly line: number;
}

export interface Source {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly program: AstNode;
  readonly imports: readonly Import[];
  /** Where each comment starts and ends, in order. */
  readonly comments: readonly { readonly start: number; readonly end: number; readonly value: string }[];
  readonly syntaxErrors: readonly string[];
  lineOf(offset: number): number;
}

/** All `.ts` files below `root/folder`, from the root, sorted; empty when the folder does not exist. */
export function listSources(root: string, folder: string): readonly string[] {
  let names: string[];
  try {
    names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  } catch {
    return [];
  }
  return names
    .map((name) => posix.join(folder, name.split(sep).join("/")))
    .filter((path) => path.endsWith(".ts"))
    .sort();
}

export function readSource(root: string, path: string): Source {
  const text = readFileSync(join(root, path), "utf8");
  const parsed = parseSync(path, text);
  const program = parsed.program as unknown as AstNode;
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map((match) => match.index + 1)];
  const lineOf = (offset: number) => lineStarts.findLastIndex((start) => start <= offset) + 1;
  return {
    path,
    text,
    program,
    imports: importsOf(path, program, lineOf),
    comments: parsed.comments,
    syntaxErrors: parsed.errors.map((error) => error.message),
    lineOf,
  };
}

/** Calls `visit` for each node below (and with) `node`, parents before children. */
export function walk(node: AstNode, visit: (node: AstNode, parent: AstNode | null) => void): void {
  const step = (current: AstNode, parent: AstNode | null) => {
    visit(current, parent);
    for (const key of visitorKeys[current.type] ?? []) {
      const child = current[key];
      for (const each of Array.isArray(child) ? child : [child]) if (isNode(each)) step(each, current);
    }
  };
  step(node, null);
}

export function isNode(value: unknown): value is AstNode {
  return typeof value === "object" && value !== null && typeof (value as AstNode).type === "string";
}

function importsOf(path: string, program: AstNode, lineOf: (offset: number) => number): readonly Import[] {
  const found: Import[] = [];
  walk(program, (node) => {
    const source = node.source;
    if (!isNode(source) || typeof source.value !== "string") return;
    const specifier = source.value;
    found.push({
      specifier,
      target: resolveTarget(path, specifier),
      typesOnly: isTypesOnly(node),
      line: lineOf(node.start),
    });
  });
  return found;
}

/** Static imports, re-exports, `import("…")` and the type `import("…").X`. */
function isTypesOnly(node: AstNode): boolean {
  if (node.type === "TSImportType") return true;
  if (node.importKind === "type" || node.exportKind === "type") return true;
  const specifiers = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : [];
  return (
    specifiers.length > 0 && specifiers.every((one) => one.importKind === "type" || one.exportKind === "type")
  );
}

function resolveTarget(from: string, specifier: string): string | null {
  if (specifier.startsWith("#")) return posix.normalize(specifier.slice(1));
  if (specifier.startsWith(".")) return posix.join(posix.dirname(from), specifier);
  return null;
}
