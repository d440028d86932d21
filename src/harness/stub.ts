/** Clears old tool results in place: each is replaced by one line that says what it was, under the same id. Pure. */

import { headOf } from "#src/base/cut-text.ts";
import type { Message, ToolCall } from "#src/model/model.ts";
import { parseArguments } from "./arguments.ts";
import type { StubPolicy } from "./context-policy.ts";
import { newestTurns } from "./turns.ts";

/** The to-do list is short and says what is left to do: its results stay. */
export const TODO_TOOL = "update_todos";

const SUBJECT_CHARS = 80;
const OPENING = "[cleared: ";
/** The argument that says what a call was about, by the names tools use. */
const SUBJECTS = ["path", "pattern", "symbol", "command", "filter", "task"];

/** What a call was about, e.g. `src/a.ts`; empty when its arguments do not say. */
export function subjectOf(call: ToolCall): string {
  const parsed = parseArguments(call.arguments);
  if (!parsed.ok) return "";
  const named = SUBJECTS.map((name) => parsed.value[name]).find((value) => typeof value === "string");
  return typeof named === "string" ? headOf(named.replace(/\s+/g, " ").trim(), SUBJECT_CHARS) : "";
}

/** True for a result that was cleared: it says nothing any more of what the tool answered. */
export function isStub(text: string): boolean {
  return text.startsWith(OPENING);
}

/** `[cleared: read_file src/a.ts, 190 lines]`. */
export function stubText(call: ToolCall, result: string): string {
  const lines = result.split("\n").length;
  const what = [call.name, subjectOf(call)].filter((part) => part !== "").join(" ");
  return `${OPENING}${what}, ${lines} ${lines === 1 ? "line" : "lines"}]`;
}

/** The messages with every result before index `end` cleared that is longer than what says so; unchanged messages are the same objects. */
export function stubResults(messages: readonly Message[], end: number): readonly Message[] {
  const calls = new Map<string, ToolCall>();
  return messages.map((message, at) => {
    if (message.role === "assistant") for (const call of message.calls) calls.set(call.id, call);
    if (message.role !== "tool" || at >= end || message.name === TODO_TOOL || isStub(message.content))
      return message;
    const call = calls.get(message.callId);
    const content = call === undefined ? message.content : stubText(call, message.content);
    return content.length < message.content.length ? { ...message, content } : message;
  });
}

export interface Stubbed {
  readonly messages: readonly Message[];
  /** Results cleared. */
  readonly results: number;
}

/** One large step of clearing; null while it would free too little. Whether the trigger is reached is the caller's to check. */
export function planStub(
  messages: readonly Message[],
  policy: StubPolicy,
  sizeOf: (message: Message) => number,
): Stubbed | null {
  const stubbed = stubResults(messages, newestTurns(messages, policy.keepTurns));
  const changed = messages.filter((message, at) => message !== stubbed[at]);
  const total = (list: readonly Message[]) => list.reduce((sum, message) => sum + sizeOf(message), 0);
  const freed = total(messages) - total(stubbed);
  return changed.length > 0 && freed >= policy.leastFreed
    ? { messages: stubbed, results: changed.length }
    : null;
}
