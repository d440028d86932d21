/** Where a transcript may be cut: before a reply, so that no call is ever separated from its result. */

import type { Message } from "#src/model/model.ts";

/** Index of each reply; a turn is a reply and everything up to the next one. */
export function turnStarts(messages: readonly Message[]): readonly number[] {
  return messages.flatMap((message, at) => (message.role === "assistant" ? [at] : []));
}

/** How many messages at the start stay for ever: the system prompt and the task. */
export function pinnedCount(messages: readonly Message[]): number {
  const task = messages[0]?.role === "system" ? 1 : 0;
  return messages[task]?.role === "user" ? task + 1 : task;
}

/** The index from which the newest `count` turns stand; the transcript's end when there are none. */
export function newestTurns(messages: readonly Message[], count: number): number {
  const starts = turnStarts(messages);
  return starts[Math.max(0, starts.length - count)] ?? messages.length;
}
