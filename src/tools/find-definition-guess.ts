/** Definitions by the look of a line, for languages without a grammar here and for files that were not parsed. Pure. */

import type { Definition } from "./find-definition-symbol.ts";

const MOST_LINE_CHARS = 1_000;
const MOST_FOUND = 50;

/** Words that come before the name of what they define, in some forty languages; the value is what it is called. */
const WORDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    "def defp defun defn func fun function fn sub proc procedure rule task let rec"
      .split(" ")
      .map((word) => [word, "function"]),
  ),
  ...Object.fromEntries(
    "class struct interface trait enum type typedef union record module namespace package object protocol extension actor macro table view message service component resource"
      .split(" ")
      .map((word) => [word, word]),
  ),
  defmodule: "module",
  defmacro: "macro",
  define: "macro",
  const: "constant",
  val: "constant",
  var: "variable",
  local: "variable",
  declare: "variable",
  export: "variable",
};

/** For ripgrep and for `grep -E`: lines that may define `name`; used only to read the likeliest files first. */
export function likelyPattern(name: string): string {
  const literal = name.replace(/[^\p{L}\p{N}_]/gu, (char) => `\\${char}`);
  const words = Object.keys(WORDS).join("|");
  return `(${words})[[:space:]][^;=]*${literal}|^[[:space:]]*[A-Za-z_0-9*&<>,.:[:space:]]*${literal}[[:space:]]*(\\(|:?=|:)`;
}

interface Shape {
  readonly kind: string;
  /** What stands before the name on its line, and after it. */
  readonly before: RegExp;
  readonly after: RegExp;
}

const SHAPES: readonly Shape[] = [
  // Shell: `name() {`, also with the brace in the next line.
  { kind: "function", before: /^\s*$/, after: /^\s*\(\s*\)\s*(?:\{|$)/ },
  // `M.name = function(`, `name <- function(`, `name: (a) =>`.
  {
    kind: "function",
    before: /^[\w\s.:@]*$/,
    after: /^\s*(?:=|:=|<-|:)\s*(?:async\s+)?(?:function|fn|func|lambda|proc|\\|\([^()]*\)\s*=>)/,
  },
  // `static int name(int a) {`.
  {
    kind: "function",
    before: /^(?!\s*(?:return|else|new|throw|await|yield|case)\b)\s*[\w:<>,*&[\]]+\s[\w\s:<>,*&[\]]*$/,
    after: /^\s*\([^;]*\{/,
  },
  // Haskell: `name :: Int -> Int`.
  { kind: "function", before: /^\s*$/, after: /^\s+::\s/ },
  // `name = 1`, `name := 1`, and a key or a target of make.
  { kind: "variable", before: /^\s*(?:[-\w]+\s+)*$/, after: /^\s*(?::?=(?!=)|:$)/ },
];

/** The name on its line begins at column `at`; null: nothing says that it is defined there. */
function kindOf(line: string, name: string, at: number): string | null {
  const before = line.slice(0, at);
  const after = line.slice(at + name.length);
  // The word may be followed by a receiver (`func (s *T) name`) or by qualifiers (`function M.name`).
  const word = /([A-Za-z]+)\s+(?:\([^()]*\)\s*|[\w.:]*[.:])?$/.exec(before)?.[1]?.toLowerCase() ?? "";
  if (Object.hasOwn(WORDS, word)) return WORDS[word] ?? null;
  return SHAPES.find((shape) => shape.before.test(before) && shape.after.test(after))?.kind ?? null;
}

/** What `name` seems to be where `line` defines it; null: it is only used there. */
function definedIn(line: string, name: string): string | null {
  for (let at = line.indexOf(name); at !== -1; at = line.indexOf(name, at + name.length)) {
    if (/[\w$]/.test(line[at - 1] ?? "") || /[\w$]/.test(line[at + name.length] ?? "")) continue;
    const kind = kindOf(line, name, at);
    if (kind !== null) return kind;
  }
  return null;
}

/** Lines of `text` that look like a definition of `name`. */
export function guessIn(name: string, text: string): readonly Definition[] {
  const found: Definition[] = [];
  for (const [row, line] of text.split("\n").entries()) {
    if (line.length > MOST_LINE_CHARS || !line.includes(name)) continue;
    const kind = definedIn(line, name);
    if (kind === null) continue;
    const rank = kind === "variable" ? 2 : 0;
    const place = { row, from: row, signatureEnd: row, end: null, column: 0 };
    found.push({ kind, rank, inside: [], also: [], ...place });
    if (found.length >= MOST_FOUND) break;
  }
  return found;
}
