/** Definitions as the model reads them: path, lines, kind, and the first numbered lines with the whole signature. Pure. */

import { headOf } from "#src/base/cut-text.ts";
import { type Definition, likeQualifiers, type Wanted } from "./find-definition-symbol.ts";

const MOST_SHOWN = 10;
const FIRST_LINES = 6;
const MOST_LINES = 14;
const LINE_CHARS = 240;
const MOST_CHARS = 7_200;
const TEST_PATH =
  /(?:^|[/_.-])(?:tests?|specs?|__tests__|fixtures?|examples?|vendor|third_party|mocks?)(?:[/_.-]|$)/i;

export interface Found {
  readonly path: string;
  readonly text: string;
  readonly definition: Definition;
}

export interface Chosen {
  readonly found: readonly Found[];
  /** False when the qualifiers fit none and those of the bare name are given. */
  readonly asAsked: boolean;
}

/** The best ones first: as qualified, real definitions before members and locals, sources before tests. */
export function choose(symbol: Wanted, all: readonly Found[]): Chosen {
  const scored = all.map((one) => ({
    one,
    fit: likeQualifiers(symbol.qualifiers, { path: one.path, ...one.definition }),
  }));
  const best = Math.max(0, ...scored.map(({ fit }) => fit));
  const fitting = scored.filter(({ fit }) => fit === best).map(({ one }) => one);
  const strong = fitting.filter(({ definition }) => definition.rank < 2);
  const order = (one: Found) => one.definition.rank + (TEST_PATH.test(one.path) ? 10 : 0);
  const found = (strong.length > 0 ? strong : fitting).toSorted(
    (a, b) =>
      order(a) - order(b) ||
      (a.path < b.path ? -1 : a.path > b.path ? 1 : a.definition.row - b.definition.row),
  );
  return { found, asAsked: best > 0 };
}

function excerpt({ text, definition }: Found): string {
  const { from, row, signatureEnd, end, column } = definition;
  const wanted = Math.max(from + FIRST_LINES - 1, signatureEnd + 1, row + 2);
  const last = Math.min(end ?? wanted, wanted, from + MOST_LINES - 1);
  const lines = text.split("\n");
  // Of a line that holds the whole program, the part that begins with the definition.
  const cut = (line: string, at: number) => {
    const part = line.length > LINE_CHARS && at > LINE_CHARS / 2 ? `[…]${line.slice(at)}` : line;
    return part.length > LINE_CHARS ? `${headOf(part, LINE_CHARS)}[…]` : part;
  };
  return lines
    .slice(from, last + 1)
    .map((line, n) => `${from + n + 1}\t${cut(line.replace(/\r$/, ""), n === 0 ? column : 0)}`)
    .join("\n");
}

function title(name: string, { path, definition }: Found): string {
  const { row, end, kind, inside } = definition;
  const lines = end !== null && end > row ? `${row + 1}-${end + 1}` : `${row + 1}`;
  return `${path}:${lines} ${kind} ${[...inside, name].join(".")}`;
}

/** `notes` stand on top; what does not fit is named by its place alone. */
export function describe(symbol: Wanted, chosen: Chosen, notes: readonly string[]): string {
  const parts = [...notes];
  if (!chosen.asAsked)
    parts.push(`[None is part of ${symbol.qualifiers.join(".")}; these have the name ${symbol.name}.]`);
  let used = parts.join("\n").length;
  let shown = 0;
  for (const one of chosen.found.slice(0, MOST_SHOWN)) {
    const part = `${title(symbol.name, one)}\n${excerpt(one)}`;
    if (shown > 0 && used + part.length > MOST_CHARS) break;
    used += part.length + 2;
    shown++;
    parts.push(part);
  }
  const rest = chosen.found.slice(shown);
  if (rest.length > 0) {
    const places = rest.slice(0, MOST_SHOWN).map(({ path, definition }) => `${path}:${definition.row + 1}`);
    parts.push(
      `[${rest.length} more: ${headOf(places.join(", "), 500)}${rest.length > MOST_SHOWN ? ", …" : ""}; qualify the name]`,
    );
  }
  return parts.join("\n\n");
}
