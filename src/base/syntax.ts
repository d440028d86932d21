/** Loads tree-sitter grammars by name; parsing takes as long as a text wants it to, so call it from a worker thread (`offload.ts`). */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Language, Parser } from "web-tree-sitter";

const loaded = new Map<string, Promise<Parser>>();

async function load(grammar: string): Promise<Parser> {
  await Parser.init();
  const address = import.meta.resolve(`@repomix/tree-sitter-wasms/out/tree-sitter-${grammar}.wasm`);
  const parser = new Parser();
  parser.setLanguage(await Language.load(await readFile(fileURLToPath(address))));
  return parser;
}

/**
 * The parser of a grammar of `@repomix/tree-sitter-wasms` (`python`, `typescript` …), loaded once. Trees it makes must be deleted.
 * Unlike a parser that recurses natively, it cannot overrun the process's stack on a deeply nested text.
 */
export function parserFor(grammar: string): Promise<Parser> {
  const parser = loaded.get(grammar) ?? load(grammar);
  loaded.set(grammar, parser);
  return parser;
}
