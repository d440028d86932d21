/** Plans a compaction: which turns go, what is kept, and how large the note in their place may be. Pure. */

import type { Message } from "#src/model/model.ts";
import { clip } from "./clip.ts";
import type { ContextPolicy } from "./context-policy.ts";
import { stubResults } from "./stub.ts";
import { newestTurns, pinnedCount, turnStarts } from "./turns.ts";

/** What a clipped result keeps at least, in characters. */
const FEWEST_CHARS = 400;

export interface CompactionPlan {
  /** Messages [from, to) go, and a note takes their place; equal: nothing goes, only what is kept becomes smaller. */
  readonly from: number;
  readonly to: number;
  /** The messages from `to` on as they will stand, some results cleared or clipped. */
  readonly kept: readonly Message[];
  readonly keptTurns: number;
  /** Tokens the note may have. */
  readonly noteTokens: number;
}

export type SizeOf = (message: Message) => number;

/** Null when the transcript is within the budget, or nothing in it can be made smaller. Calls and results are never separated: cuts are only before a reply. */
export function planCompaction(
  messages: readonly Message[],
  policy: Omit<ContextPolicy, "stub" | "trigger">,
  sizeOf: SizeOf,
): CompactionPlan | null {
  const from = pinnedCount(messages);
  const total = (list: readonly Message[]) =>
    list.reduce((sum, message) => sum + (message.role === "system" ? 0 : sizeOf(message)), 0);
  if (total(messages) <= policy.budget) return null;
  const room = policy.budget - total(messages.slice(0, from));
  const least = policy.noteShare * policy.budget;
  const turns = Math.min(policy.keepTurns, turnStarts(messages).length);
  for (let keptTurns = turns; keptTurns > 0; keptTurns--) {
    const to = cutBefore(messages, from, keptTurns);
    const whole = messages.slice(to);
    for (const kept of [whole, withoutOldResults(whole)]) {
      const noteTokens = room - total(kept);
      const plan = { from, to, kept, keptTurns, noteTokens: Math.floor(noteTokens) };
      if (noteTokens >= (to > from ? least : 0) && shrinks(messages, plan)) return plan;
    }
  }
  return lastResort(messages, { from, room, least }, sizeOf);
}

/** The transcript after `plan`; the note is left out when nothing went. */
export function compacted(
  messages: readonly Message[],
  plan: CompactionPlan,
  note: string | null,
): readonly Message[] {
  const said: readonly Message[] = note === null ? [] : [{ role: "user", content: note }];
  return [...messages.slice(0, plan.from), ...said, ...plan.kept];
}

/** Where the newest turns begin; where the pinned part ends if only an earlier note stands between, which is not worth another one. */
function cutBefore(messages: readonly Message[], from: number, turns: number): number {
  const to = newestTurns(messages, turns);
  return messages.slice(from, to).some((message) => message.role === "assistant") ? to : from;
}

/** Clears the results of all turns but the newest, whose results the model has not seen yet. */
function withoutOldResults(kept: readonly Message[]): readonly Message[] {
  return stubResults(kept, newestTurns(kept, 1));
}

function shrinks(messages: readonly Message[], plan: CompactionPlan): boolean {
  return plan.to > plan.from || plan.kept.some((message, at) => message !== messages[plan.to + at]);
}

interface Rest {
  readonly from: number;
  readonly room: number;
  readonly least: number;
}

/** Not even the newest turn fits: its fresh results are clipped (FAULTS I06). */
function lastResort(
  messages: readonly Message[],
  { from, room, least }: Rest,
  sizeOf: SizeOf,
): CompactionPlan | null {
  const to = cutBefore(messages, from, 1);
  const whole = withoutOldResults(messages.slice(to));
  const results = whole.filter((message) => message.role === "tool");
  const others = whole.filter((message) => message.role !== "tool");
  const note = to > from ? least : 0;
  const otherTokens = others.reduce((sum, message) => sum + sizeOf(message), 0);
  const each = Math.max(0, room - note - otherTokens) / Math.max(1, results.length);
  const kept = whole.map((message) => (message.role === "tool" ? clippedTo(message, each, sizeOf) : message));
  const plan = { from, to, kept, keptTurns: 1, noteTokens: Math.floor(note) };
  return shrinks(messages, plan) ? plan : null;
}

/** The result with its text cut to about `tokens`. */
function clippedTo(message: Message, tokens: number, sizeOf: SizeOf): Message {
  const size = sizeOf(message);
  if (size <= tokens) return message;
  const chars = Math.max(FEWEST_CHARS, Math.floor((message.content.length * tokens) / size));
  return chars < message.content.length ? { ...message, content: clip(message.content, chars) } : message;
}
