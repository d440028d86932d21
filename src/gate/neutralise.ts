/** Makes model, issue and test text harmless before it is posted in the app's name (FAULTS H12). */

import { stripVTControlCharacters } from "node:util";
import { headOf } from "#src/base/cut-text.ts";

/** Zero-width space: keeps text readable while breaking mentions, references, tags and entities apart. */
export const BREAK = "\u200b";

/**
 * Characters that change how the text around them is shown, or hide text: bidi controls, zero-width marks, fillers, tag characters,
 * blanks that are none. A selector after a visible character picks its emoji or text form; any other is data nobody sees.
 */
const INVISIBLE =
  /(?![\ufe0e\ufe0f])(?:\p{Default_Ignorable_Code_Point}|[\u2028\u2029\u2800\ufff9-\ufffb])|(?<=^|\s|[\ufe00-\ufe0f])[\ufe0e\ufe0f]/gu;

/** A character by its number, `<U+001B>`. */
export function named(char: string): string {
  return `<U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** True when the text holds control characters, bidi controls or invisible characters, which a plan warns of. */
export function hasInvisible(text: string): boolean {
  return exact(text) !== text.replaceAll("\r\n", "\n").toWellFormed();
}

/** What people approve: nothing is taken out, and each character that does not show is named, `<U+001B>`. Line feeds and tabs stay, and a line's end is one kind. */
function exact(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .toWellFormed()
    .replace(/\p{Cc}/gu, (char) => (char === "\n" || char === "\t" ? char : named(char)))
    .replace(INVISIBLE, named);
}

/** Escape sequences, control characters and halves of characters removed; invisible ones shown as `<U+202E>`. Line feeds and tabs stay. */
export function visible(text: string): string {
  return stripVTControlCharacters(text.replaceAll("\r\n", "\n").replaceAll("\r", "\n"))
    .toWellFormed()
    .replace(/[\p{Cc}]/gu, (char) => (char === "\n" || char === "\t" ? char : ""))
    .replace(INVISIBLE, named);
}

/** Words by which a commit or a pull request keeps the checks from running that reviewers rely on. */
const SKIPS_CHECKS = /\[(?=(?:skip[ -](?:ci|actions)|(?:ci|actions)[ -]skip|no[ -]ci)\])|\*\*\*(?=NO_CI)/gi;

const CLOSES = /\b(clos|fix|resolv)(?=(?:e[sd]?|es|ed)?\b[\s:]+\S{0,200}?(?:[#/]|GH-))/gi;

/** Words that still work where Markdown does not hold, code spans too: a pull request's text may become the message of a commit. */
export function powerless(text: string): string {
  return text.replace(SKIPS_CHECKS, `$&${BREAK}`).replace(CLOSES, `$1${BREAK}`);
}

/** What reaches people, issues or machines, or is HTML: mentions, issue references, closing words, words that skip checks, tags, comments, entities. */
function disarm(text: string): string {
  return powerless(
    text
      .replace(/@(?=[\w-])/g, `@${BREAK}`)
      .replace(/#(?=\d)/g, `#${BREAK}`)
      .replace(/\b(GH)-(?=\d)/gi, `$1-${BREAK}`),
  )
    .replace(/<(?=[A-Za-z/!?])/g, `<${BREAK}`)
    .replace(/&(?=#|\w{1,40};)/g, `&${BREAK}`);
}

/** What Markdown makes a link, an image, a footnote or an alert box of; GitHub links bare addresses too. */
function unlink(text: string): string {
  return text
    .replace(/!(?=\[)/g, `!${BREAK}`)
    .replace(/\[(?=!)/g, `[${BREAK}`)
    .replace(/\](?=[([:])/g, `]${BREAK}`)
    .replace(/:(?=\/\/)/g, `:${BREAK}`)
    .replace(/(www)(?=\.)/gi, `$1${BREAK}`);
}

/** What ends or opens a section: fences, headings of both kinds (in lists and quotes too) and rules. */
function flatten(text: string): string {
  return unfence(text)
    .replace(/(^|[\s>*+.)-])(#{1,6})(?=\s|$)/gm, "$1\\$2")
    .replace(/^([ \t>]*)([-=]+[ \t]*)$/gm, "$1\\$2")
    .replace(/^([ \t>]*)(?=((?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$)/gm, "$1\\");
}

function unfence(text: string): string {
  return text.replace(/(```+|~~~+)/g, `${BREAK}$1`);
}

/**
 * Text that may stand as Markdown of ours: no mention, issue reference, closing word, image, link, raw HTML,
 * entity, fence, heading or alert box in it works. The wording stays readable. At most three times as long as `visible(text)`.
 */
export function neutralise(text: string): string {
  return flatten(unlink(disarm(visible(text))));
}

/** Text of the repository's own people (a template): its headings, lists and links work, but it can neither reach anybody nor end our sections. */
export function contained(text: string): string {
  const shown = visible(text).replace(/<!--[\s\S]*?(?:-->|$)/g, "");
  return unfence(disarm(shown)).replace(/\[(?=[!^])/g, `[${BREAK}`);
}

/** At most `max` characters of the text, neutralised as a block quote, so that it can't pass for a section of ours. */
export function quoted(text: string, max: number): string {
  return neutralise(cut(visible(text), max))
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** One line for headings, sentences and titles (table cells take `cellCode`): neutralised, white space folded, cut at `max` characters. */
export function oneLine(text: string, max: number): string {
  // Far more than can be shown, so that a huge text is not worked on as a whole.
  const head = headOf(text, max * 20);
  const line = neutralise(pairTicks(visible(head).replaceAll(/\s+/g, " ").trim()));
  const characters = [...line];
  return characters.length > max || head.length < text.length
    ? `${pairTicks(characters.slice(0, max - 1).join(""))}…`
    : line;
}

/** Backticks as they are when each run has its partner; else as apostrophes, since an open one would swallow what follows it. */
function pairTicks(line: string): string {
  const runs = [...line.matchAll(/\\?`+/g)].map((match) => match[0]);
  for (let at = 0; at < runs.length; at++) {
    const partner = runs.indexOf(runs[at] ?? "", at + 1);
    if (partner < 0 || runs[at]?.startsWith("\\")) return line.replaceAll("`", "'");
    at = partner;
  }
  return line;
}

export interface Fenced {
  readonly block: string;
  /** True when nothing was left out. */
  readonly whole: boolean;
}

/**
 * A fenced block of at most `max` characters whose fence is longer than any inside, cut with a line that says so. A diff is shown
 * exactly, with what does not show named; of other content control characters and escape sequences are removed.
 */
export function fenced(text: string, language: "diff" | "text" | "yaml", max: number): Fenced {
  const content = (language === "diff" ? exact(text) : visible(text)).replace(/\n$/, "");
  const whole = fence(content, language);
  if (whole.length <= max) return { block: whole, whole: true };
  const room = Math.max(0, max - 200);
  const part = fence(cut(content, room), language);
  if (part.length <= max) return { block: part, whole: false };
  // A run of backticks counts three times: itself and both fences.
  return { block: fence(cut(content, Math.floor(room / 3)), language), whole: false };
}

function fence(content: string, language: string): string {
  const ticks = "`".repeat(Math.max(2, longestTicks(content)) + 1);
  return `${ticks}${language}\n${content}\n${ticks}`;
}

/** Inline code that holds any text, also backticks, cut at `max` characters. */
export function code(text: string, max = 300): string {
  const characters = [...visible(headOf(text, max * 20)).replaceAll("\n", " ")];
  const content = characters.length > max ? `${characters.slice(0, max - 1).join("")}…` : characters.join("");
  if (content.trim() === "") return "`(blank)`";
  const ticks = "`".repeat(longestTicks(content) + 1);
  const pad = content.startsWith("`") || content.endsWith("`") ? " " : "";
  return `${ticks}${pad}${content}${pad}${ticks}`;
}

function longestTicks(text: string): number {
  return [...text.matchAll(/`+/g)].reduce((longest, { 0: ticks }) => Math.max(longest, ticks.length), 0);
}

/** Code for a table cell: a pipe would end the cell even inside code, and a backslash before it would take the escape away. */
export function cellCode(text: string, max: number): string {
  return code(text, max).replaceAll("\\|", `\\${BREAK}|`).replaceAll("|", "\\|");
}

/** The first `max` characters, never half a surrogate pair, with a line saying how much was cut. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = headOf(text, max);
  return `${head}\n… (${text.length - head.length} more characters)`;
}
