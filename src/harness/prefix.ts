/** Measures how much of a request repeats the previous one, which is what providers' caches live on. */

import type { Message, ToolSpec } from "#src/model/model.ts";

/** Tools and messages as one text in the order they are sent; appending a message only appends to it. */
export function serialise(tools: readonly ToolSpec[], messages: readonly Message[]): string {
  return [JSON.stringify(tools), ...messages.map((message) => JSON.stringify(message))].join("\n");
}

/** Common prefix ÷ length of the previous text, 0 to 1; null without a previous one. */
export function prefixStability(previous: string | null, current: string): number | null {
  if (previous === null) return null;
  if (previous.length === 0 || current.startsWith(previous)) return 1;
  let same = 0;
  while (same < previous.length && previous.charCodeAt(same) === current.charCodeAt(same)) same++;
  return same / previous.length;
}
