/** Makes model, issue and test text harmless before it is posted in the app's name (FAULTS H12). */

import { stripVTControlCharacters } from "node:util";

/** Zero-width space: keeps text readable while breaking mentions, references, tags and entities apart. */
const BREAK = "\u200b";

/** Characters that change how the text around them is shown, or hide text: bidi controls, zero-width marks, tag characters. */
const INVISIBLE = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** True when the text holds bidi controls or invisible characters, which a plan warns of. */
export function hasInvisible(text: string): boolean {
  return text.search(INVISIBLE) >= 0;
}

/** Escape sequences and control characters removed; invisible ones shown as `<U+202E>`. Line feeds and tabs stay. */
export function visible(text: string): string {
  return stripVTControlCharacters(text.replaceAll("\r\n", "\n").replaceAll("\r", "\n"))
    .replace(/[\p{Cc}]/gu, (char) => (char === "\n" || char === "\t" ? char : ""))
    .replace(INVISIBLE, (char) => `<U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}>`);
}

/**
 * Text that may stand as Markdown of ours: no mention, issue reference, closing word, image, link target, raw HTML,
 * entity or fence in it works. The wording stays readable.
 */
export function neutralise(text: string): string {
  return visible(text)
    .replace(/@(?=[\w-])/g, `@${BREAK}`)
    .replace(/#(?=\d)/g, `#${BREAK}`)
    .replace(/\b(GH)-(?=\d)/gi, `$1-${BREAK}`)
    .replace(/\b(clos|fix|resolv)(?=(?:e[sd]?|es|ed)?\b[\s:]+\S*(?:[#/]|GH-))/gi, `$1${BREAK}`)
    .replace(/<(?=[A-Za-z/!?])/g, `<${BREAK}`)
    .replace(/&(?=[#\w])/g, `&${BREAK}`)
    .replace(/!(?=\[)/g, `!${BREAK}`)
    .replace(/\](?=[([])/g, `]${BREAK}`)
    .replace(/(```+|~~~+)/g, `${BREAK}$1`)
    .replace(/^(\s*)(#{1,6})(?=\s)/gm, `$1\\$2`)
    .replace(/^(\s*)([-=]{2,}\s*)$/gm, `$1\\$2`);
}

/** Neutralised text as a block quote, so that it can't pass for a section of ours. */
export function quoted(text: string): string {
  return neutralise(text)
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** One line for headings, sentences and titles (table cells take `cellCode`): neutralised, white space folded, cut at `max` characters. */
export function oneLine(text: string, max: number): string {
  const line = neutralise(text.replaceAll(/\s+/g, " ").trim());
  const characters = [...line];
  return characters.length > max ? `${characters.slice(0, max - 1).join("")}…` : line;
}

/** A fenced block whose fence is longer than any inside; the content is shown as it is, control characters removed. */
export function fenced(text: string, language: string): string {
  const content = visible(text).replace(/\n$/, "");
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map((match) => match[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${content}\n${fence}`;
}

/** Inline code that holds any text, also backticks. */
export function code(text: string): string {
  const content = visible(text).replaceAll("\n", " ");
  const longest = Math.max(0, ...[...content.matchAll(/`+/g)].map((match) => match[0].length));
  const ticks = "`".repeat(longest + 1);
  const pad = content.startsWith("`") || content.endsWith("`") ? " " : "";
  return content === "" ? "``" : `${ticks}${pad}${content}${pad}${ticks}`;
}

/** Code for a table cell: a pipe would end the cell even inside code. */
export function cellCode(text: string, max: number): string {
  const characters = [...text];
  const cut = characters.length > max ? `${characters.slice(0, max - 1).join("")}…` : text;
  return code(cut).replaceAll("|", "\\|");
}

/** The first `max` characters, never half a surrogate pair, with a line saying how much was cut. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = /[\ud800-\udbff]/.test(text[max - 1] ?? "") ? max - 1 : max;
  return `${text.slice(0, end)}\n… (${text.length - end} more characters)`;
}
