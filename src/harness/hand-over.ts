/** The note that stands in a transcript for turns that were cleared; it carries over all that must not be lost with them. Pure. */

import { headOf } from "#src/base/cut-text.ts";
import type { Message } from "#src/model/model.ts";
import type { NoticeKind } from "./events.ts";
import { noticeKindOf } from "./notices.ts";
import { subjectOf, TODO_TOOL } from "./stub.ts";

export interface HandOver {
  /** Notices given in the cleared turns: they are given once in a run. */
  readonly told: readonly NoticeKind[];
  /** The to-do list, one item a line; null when no list stands in the cleared turns. */
  readonly todos: string | null;
  /** What maintainers and checks said in the cleared turns, in order. */
  readonly asked: readonly string[];
  /** What was done, found out and left: by the model, or by code where it gave nothing. */
  readonly note: string;
}

const OPENING = "[harness] Hand-over note: earlier turns were cleared to save room.";
const TOLD = "Notices given: ";
const TODOS = "To-do list:";
const ASKED = "Said to you meanwhile:";
const NOTE = "What was done so far:";

/** Foreign texts in the note are cut to this; the newest are kept. */
const ASKED_CHARS = 2_000;
const MOST_ASKED = 6;
/** Notices whose moment has passed once their turn is cleared. */
const PASSED: ReadonlySet<NoticeKind> = new Set(["cut_off", "empty_answer"]);

const quoted = (text: string) => text.split("\n").map((line) => `> ${line}`);

export function handOverText({ told, todos, asked, note }: HandOver): string {
  return [
    OPENING,
    ...(told.length === 0 ? [] : [TOLD + told.join(", ")]),
    ...(todos === null ? [] : [TODOS, ...quoted(todos)]),
    ...asked.flatMap((text) => [ASKED, ...quoted(text)]),
    NOTE,
    note,
  ].join("\n");
}

/** Reads a note back; null for any other text. Quoted lines and the note's own place at the end keep its parts apart. */
export function readHandOver(text: string): HandOver | null {
  const lines = text.split("\n");
  if (lines[0] !== OPENING) return null;
  const noteAt = lines.indexOf(NOTE);
  if (noteAt < 0) return null;
  const told: NoticeKind[] = [];
  const quotes: { readonly title: string; readonly lines: string[] }[] = [];
  for (const line of lines.slice(1, noteAt)) {
    if (line.startsWith("> ")) quotes.at(-1)?.lines.push(line.slice(2));
    else if (line.startsWith(TOLD)) told.push(...(line.slice(TOLD.length).split(", ") as NoticeKind[]));
    else quotes.push({ title: line, lines: [] });
  }
  const textsOf = (title: string) =>
    quotes.filter((quote) => quote.title === title).map((quote) => quote.lines.join("\n"));
  return {
    told,
    todos: textsOf(TODOS)[0] ?? null,
    asked: textsOf(ASKED),
    note: lines.slice(noteAt + 1).join("\n"),
  };
}

function usersOf(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => (message.role === "user" ? [message.content] : []));
}

/** The notices that a user message gives, or, as a note, reports of cleared turns. */
export function toldBy(text: string): readonly NoticeKind[] {
  const kind = noticeKindOf(text);
  return kind === null ? (readHandOver(text)?.told ?? []) : [kind];
}

/** The notices given so far, also those whose turns were cleared since. */
export function toldIn(messages: readonly Message[]): ReadonlySet<NoticeKind> {
  return new Set(usersOf(messages).flatMap(toldBy));
}

/** The to-do list as it stands, from its tool's last result or from a note; null: there is none. */
export function todosIn(messages: readonly Message[]): string | null {
  const last = messages.findLast((message) => message.role === "tool" && message.name === TODO_TOOL);
  if (last !== undefined) return last.content;
  return usersOf(messages).reduce<string | null>((todos, text) => readHandOver(text)?.todos ?? todos, null);
}

/** Everything of the note but its own words, in at most about `chars`, from the turns that go; `kept` are the turns that stay. */
export function carriedOver(
  gone: readonly Message[],
  kept: readonly Message[],
  chars: number,
): Omit<HandOver, "note"> {
  const asked = usersOf(gone).flatMap((text): readonly string[] => {
    const earlier = readHandOver(text);
    if (earlier !== null) return earlier.asked;
    const kind = noticeKindOf(text);
    return kind === null || kind === "instruction" ? [text] : [];
  });
  const newest = asked.slice(-MOST_ASKED);
  const each = Math.min(ASKED_CHARS, Math.floor(chars / 2 / Math.max(1, newest.length)));
  const todos = todosIn(kept) === null ? todosIn(gone) : null;
  return {
    told: [...toldIn(gone)].filter((kind) => !PASSED.has(kind)),
    todos: todos === null ? null : headOf(todos, Math.floor(chars / 2)),
    asked: newest.map((text) => headOf(text, each)),
  };
}

const NOTE_WORDS_PER_TOKEN = 0.6;

/** Asks for the note; appended to the turns that go. */
export function noteRequest(tokens: number): string {
  const words = Math.max(50, Math.floor((tokens * NOTE_WORDS_PER_TOKEN) / 10) * 10);
  return `[harness] Your earlier turns are about to be cleared to save room. Write a hand-over note to yourself: you will see only the task, this note and your newest turns. At most ${words} words. Name the files and lines that matter, what you found out and decided and why, what you changed, which commands and tests ran with which result, what is unfinished, and the next step. Only what is above, nothing invented. Answer with the note alone; call no tool.`;
}

const MOST_SUBJECTS = 30;
const LAST_WORDS_CHARS = 600;

/** The note written by code when the model gave none: the calls made, what they were about, and the model's last words. */
export function callsNote(gone: readonly Message[]): string {
  const failed = new Set(
    gone.flatMap((message) => (message.role === "tool" && message.failed ? [message.callId] : [])),
  );
  const calls = new Map<string, { ok: Set<string>; errors: number }>();
  for (const call of gone.flatMap((message) => (message.role === "assistant" ? message.calls : []))) {
    const made = calls.get(call.name) ?? { ok: new Set<string>(), errors: 0 };
    if (failed.has(call.id)) made.errors++;
    else made.ok.add(subjectOf(call) || "done");
    calls.set(call.name, made);
  }
  const lines = [...calls].map(([name, { ok, errors }]) => {
    const subjects = [...ok].slice(-MOST_SUBJECTS).join("; ") || "none succeeded";
    return `- ${name}: ${subjects}${errors === 0 ? "" : ` (${errors} failed)`}`;
  });
  const words = gone.findLast((message) => message.role === "assistant" && message.content.trim() !== "");
  const earlier = usersOf(gone).map((text) => readHandOver(text)?.note ?? "");
  return [
    "(Listed by the harness, since no note was written.) Calls made:",
    ...lines,
    ...(words === undefined ? [] : [`Your last words: ${headOf(words.content, LAST_WORDS_CHARS)}`]),
    ...earlier.filter((note) => note !== "").map((note) => `Before that: ${note}`),
  ].join("\n");
}
