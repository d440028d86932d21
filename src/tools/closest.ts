/** For an edit that matched nothing: the lines of the file most like the text that was looked for, as a diff. Pure and bounded. */

import { diffLines } from "diff";

const MOST_FILE_LINES = 20_000;
const MOST_WANTED_LINES = 60;
const MOST_COMPARISONS = 200_000;
const LEAST_LIKENESS = 0.4;
const LINE_CHARS = 300;

/** Pairs of neighbouring characters, white space left out. */
function pairs(line: string): Set<string> {
  const dense = line.replace(/\s+/g, "").slice(0, LINE_CHARS);
  const found = new Set<string>(dense.length === 1 ? [dense] : []);
  for (let at = 0; at + 1 < dense.length; at++) found.add(dense.slice(at, at + 2));
  return found;
}

/** 0 to 1: shared pairs ÷ all pairs (Dice); two blank lines are alike. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size + b.size === 0) return 1;
  let shared = 0;
  for (const pair of a) if (b.has(pair)) shared++;
  return (2 * shared) / (a.size + b.size);
}

export interface Closest {
  /** Line in the file, from 1, at which the likest stretch begins. */
  readonly line: number;
  /** `-` lines are what was looked for, `+` lines what the file has. */
  readonly diff: string;
  /** True when the two differ in white space only. */
  readonly whiteSpaceOnly: boolean;
}

function visible(line: string): string {
  return line
    .slice(0, LINE_CHARS)
    .replaceAll("\t", "→")
    .replace(/ +$/, (spaces) => "·".repeat(spaces.length));
}

function diffOf(wanted: string, actual: string): string {
  return diffLines(`${wanted}\n`, `${actual}\n`)
    .flatMap((part) => {
      const sign = part.removed ? "-" : part.added ? "+" : " ";
      return part.value
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => sign + visible(line));
    })
    .join("\n");
}

/** The likest stretch of as many lines as were looked for; null when nothing is similar or the file is too long to compare. */
export function findClosest(text: string, old: string): Closest | null {
  const lines = text.split("\n");
  const wanted = old.replace(/^\n+|\n+$/g, "").split("\n");
  if (lines.length > MOST_FILE_LINES || wanted.length > MOST_WANTED_LINES) return null;
  if (lines.length * wanted.length > MOST_COMPARISONS) return null;
  const fileSets = lines.map(pairs);
  const wantedSets = wanted.map(pairs);
  let best = { at: -1, score: 0 };
  for (let at = 0; at + wanted.length <= Math.max(lines.length, wanted.length); at++) {
    const scores = wantedSets.map((set, offset) => likeness(set, fileSets[at + offset] ?? new Set()));
    const score = scores.reduce((sum, one) => sum + one, 0) / wanted.length;
    if (score > best.score) best = { at, score };
  }
  if (best.at === -1 || best.score < LEAST_LIKENESS) return null;
  const actual = lines.slice(best.at, best.at + wanted.length).join("\n");
  const dense = (part: string) => part.replace(/\s+/g, "");
  return {
    line: best.at + 1,
    diff: diffOf(wanted.join("\n"), actual),
    whiteSpaceOnly: dense(wanted.join("\n")) === dense(actual),
  };
}

const LEAST_NAME_LIKENESS = 0.5;

/** Pairs and single characters: two letters changed round in a short name leave no pair alike. */
function pieces(name: string): Set<string> {
  const lower = name.toLowerCase();
  return new Set([...pairs(lower), ...lower]);
}

/** The few names most like a missing one, best first. */
export function nearestNames(wanted: string, names: readonly string[]): readonly string[] {
  const target = pieces(wanted);
  return names
    .slice(0, 5_000)
    .map((name) => ({ name, score: likeness(target, pieces(name)) }))
    .filter(({ score }) => score > LEAST_NAME_LIKENESS)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .slice(0, 5)
    .map(({ name }) => name);
}
