/** What is looked for (a symbol as a model writes it: `Class#method`, `pkg.Fn(x)`, `a::b`) and what is found. Pure. */

import type { Rank } from "./find-definition-grammars.ts";

export interface Wanted {
  /** The last part: what is looked for. */
  readonly name: string;
  /** What it should be part of, outermost first. */
  readonly qualifiers: readonly string[];
}

/** Rows count from 0, as in the tree. */
export interface Definition {
  readonly kind: string;
  readonly rank: Rank;
  /** What it is part of, outermost first. */
  readonly inside: readonly string[];
  /** Further qualifiers it may be asked by, e.g. the trait that a method implements. */
  readonly also: readonly string[];
  /** Row of the name. */
  readonly row: number;
  /** First row to show: a decorator or `export` before it. */
  readonly from: number;
  /** Row in which the signature ends. */
  readonly signatureEnd: number;
  /** Last row; null: not known, since it was found by the look of a line. */
  readonly end: number | null;
  /** Column of `from`, for lines that are cut. */
  readonly column: number;
}

const KEYWORD =
  /^(?:export|default|async|abstract|public|private|protected|static|function|class|interface|type|enum|struct|trait|def|fn|func|fun|const|let|var|val|new|impl|module|mod|macro)\s+/;
/** Words for "here", which name nothing. */
const HERE = new Set(["this", "self", "crate", "super", "Self", "exports", "module", "prototype"]);
/** Files that stand for their directory. */
const DIRECTORY_FILES = new Set(["index", "mod", "main", "lib", "__init__"]);

/** Null when nothing in it could be a name. */
export function parseSymbol(raw: string): Wanted | null {
  let text = raw.trim().replace(/^[`'"@&*]+|[`'";]+$/g, "");
  while (KEYWORD.test(text)) text = text.replace(KEYWORD, "");
  text = text.replace(/[(<{\s][\s\S]*$/, "");
  const parts = text
    .split(/::|->|[./\\#:]/)
    .map((part) => part.replace(/^[&*]+/, ""))
    .filter((part) => part !== "");
  const name = parts.pop() ?? "";
  if (!/^[\p{L}\p{N}_$][\p{L}\p{N}_$-]*[?!]?$/u.test(name)) return null;
  return { name, qualifiers: parts.filter((part) => !HERE.has(part)) };
}

/** How well what is at `path` inside `inside` answers to the qualifiers: 2 as asked, 1 in the right place somewhere, 0 not. */
export function likeQualifiers(
  qualifiers: readonly string[],
  place: { readonly path: string; readonly inside: readonly string[]; readonly also: readonly string[] },
): 0 | 1 | 2 {
  const innermost = qualifiers.at(-1);
  if (innermost === undefined) return 2;
  const names = place.path.split("/");
  const stem = (names.pop() ?? "").replace(/\.[^.]*$/, "");
  const modules = DIRECTORY_FILES.has(stem) ? names : [...names, stem];
  const all = [...modules, ...place.also, ...place.inside];
  let at = 0;
  for (const part of all) if (part === qualifiers[at]) at++;
  if (at < qualifiers.length) return 0;
  // In Go and Java the package is the directory, whatever the file is called.
  const nearest =
    place.inside.length > 0 ? [place.inside.at(-1), ...place.also] : [stem, modules.at(-1), names.at(-1)];
  return nearest.includes(innermost) ? 2 : 1;
}
