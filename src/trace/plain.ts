/** Makes text from models, tests and repositories safe and short enough for a terminal. */

import { stripVTControlCharacters } from "node:util";

/** C0 except tab and newline, DEL, C1, and the characters that turn the direction of writing. */
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Without control sequences; every kind of line end becomes `\n`. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replace(/\r\n?/g, "\n").replace(UNSAFE, "");
}

/** On one line, at most `max` characters; what was cut ends in `…`. */
export function oneLine(text: string, max: number): string {
  return cut(plainText(text).replace(/\s+/g, " ").trim(), max);
}

/** The first `max` lines that are not blank at either end, each at most `width` characters, and a line that counts the rest. */
export function firstLines(text: string, max: number, width: number): readonly string[] {
  const lines = plainText(text)
    .replace(/^\s*\n|\s+$/g, "")
    .split("\n");
  if (lines.length === 1 && lines[0]?.trim() === "") return [];
  const shown = lines.slice(0, max).map((line) => cut(line.replaceAll("\t", "  "), width));
  const rest = lines.length - shown.length;
  return rest > 0 ? [...shown, `… ${rest} more ${rest === 1 ? "line" : "lines"}`] : shown;
}

function cut(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** E.g. `340 ms`, `2.1 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
}

/** Whole numbers with commas between thousands, in every locale. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Small sums keep four decimals, since a turn often costs less than a cent. */
export function dollars(value: number): string {
  return `$${value.toFixed(value >= 10 ? 2 : 4)}`;
}
