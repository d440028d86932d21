/** Cuts a text for the model to a number of characters: head and tail stay, the cut is counted, no character is split. */

import { headOf, tailOf } from "#src/base/cut-text.ts";

/** Characters (UTF-16 units) of one tool result that enter the transcript. */
export const RESULT_CHARS = 8_000;
/** Characters of all results of one reply together. */
const REPLY_CHARS = 64_000;
const FEWEST_CHARS = 400;
/** Rough characters in a token, and the share of the window one reply's results may fill. */
const CHARS_PER_TOKEN = 2.8;
const WINDOW_SHARE = 0.25;
const HEAD_SHARE = 0.6;
const MARKER_ROOM = 60;

/** Text every provider and store takes: no lone surrogates, no NUL. */
export function presentable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "␀");
}

/** At most `limit` units of presentable text; a cut is marked with the number of characters left out. */
export function clip(text: string, limit: number = RESULT_CHARS): string {
  const whole = presentable(text);
  if (whole.length <= limit) return whole;
  const room = Math.max(0, limit - MARKER_ROOM);
  const head = headOf(whole, Math.ceil(room * HEAD_SHARE));
  const tail = tailOf(whole, room - Math.ceil(room * HEAD_SHARE));
  const dropped = whole.length - head.length - tail.length;
  return headOf(`${head}\n[… ${dropped.toLocaleString("en-US")} characters left out …]\n${tail}`, limit);
}

/** What each of `count` results of one reply may hold, so that together they stay a small share of the window. */
export function resultBudget(count: number, contextTokens: number): number {
  const together = Math.min(REPLY_CHARS, contextTokens * CHARS_PER_TOKEN * WINDOW_SHARE);
  const each = Math.floor(together / Math.max(1, count));
  return Math.max(FEWEST_CHARS, Math.min(RESULT_CHARS, each));
}
