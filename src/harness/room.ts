/** Keeps the transcript within the window: clears old results, then lets a hand-over note stand for old turns. */

import { headOf } from "#src/base/cut-text.ts";
import type { Message } from "#src/model/model.ts";
import { askForNote } from "./ask-model.ts";
import { presentable } from "./clip.ts";
import { type CompactionPlan, compacted, planCompaction } from "./compact.ts";
import { tightened } from "./context-policy.ts";
import { type Conversation, capFacts } from "./conversation.ts";
import type { HarnessEvent } from "./events.ts";
import { callsNote, carriedOver, handOverText, noteRequest } from "./hand-over.ts";
import { keep } from "./keep.ts";
import { capReached, inputAllowed } from "./stop.ts";
import { planStub } from "./stub.ts";
import { appendUser, requestFaults } from "./transcript.ts";

type Reason = Extract<HarnessEvent, { type: "compacted" }>["reason"];

/** A note longer than this says too much. */
const MOST_NOTE_TOKENS = 4_000;
/** A reply may hold hidden reasoning besides the note. */
const LEAST_OUTPUT_TOKENS = 4_000;
/** Share of the trigger that a compaction must free unless the window forces it. */
const LEAST_GAIN = 0.1;
/** What is carried over word by word has half of the note; a token has more characters than this. */
const CARRIED_CHARS_PER_TOKEN = 1;

/** Before each request: measures it as exactly as its limits ask for, and makes the transcript smaller where the policy or the window wants it. */
export async function makeRoom(talk: Conversation): Promise<void> {
  const facts = capFacts(talk);
  // A run that ends here in any case needs no room.
  if (talk.signal.aborted || capReached({ ...facts, nextInputTokens: 0 }) !== null) return;
  const { stub, trigger } = talk.context;
  const least = talk.meter.overhead(talk.messages) + Math.min(trigger, stub?.trigger ?? trigger);
  await talk.meter.measure(talk.messages, Math.min(inputAllowed(facts), least));
  clearResults(talk);
  const reason = whyCompact(talk);
  if (reason === "window") talk.context = tightened(talk.context, talk.meter.body(talk.messages));
  talk.full = reason !== null && !(await compact(talk, reason));
}

/** After the provider said that its window is full: false when nothing can be made smaller, so that the same bytes are never sent again (FAULTS B01). */
export async function makeRoomAfterOverflow(talk: Conversation): Promise<boolean> {
  talk.context = tightened(talk.context, talk.meter.body(talk.messages));
  return compact(talk, "overflow");
}

function whyCompact(talk: Conversation): Reason | null {
  const { contextTokens, maxOutputTokens } = talk.request.limits;
  if (talk.meter.body(talk.messages) >= talk.context.trigger) return "trigger";
  return talk.meter.estimate(talk.messages) > contextTokens - maxOutputTokens ? "window" : null;
}

function clearResults(talk: Conversation): void {
  const { stub } = talk.context;
  const before = talk.meter.body(talk.messages);
  if (stub === null || before < stub.trigger) return;
  const cleared = planStub(talk.messages, stub, talk.meter.sizeOf);
  if (cleared === null) return;
  talk.messages = cleared.messages;
  const tokens = { before, after: talk.meter.body(talk.messages) };
  talk.request.observe({ type: "stubbed", turn: talk.spent.turns, results: cleared.results, tokens });
}

async function compact(talk: Conversation, reason: Reason): Promise<boolean> {
  const before = talk.messages;
  const plan = planCompaction(before, talk.context, talk.meter.sizeOf);
  if (plan === null || (reason === "trigger" && !isWorthIt(talk, plan))) return false;
  const note = plan.to > plan.from ? await writeNote(talk, plan, reason) : null;
  const after = compacted(before, plan, note?.text ?? null);
  const tokens = { before: talk.meter.body(before), after: talk.meter.body(after) };
  // A note in place of very little can be longer than what it stands for.
  if (tokens.after >= tokens.before) return false;
  talk.messages = after;
  talk.request.observe({
    type: "compacted",
    turn: talk.spent.turns,
    reason,
    messages: { before: before.length, after: after.length },
    tokens,
    keptTurns: plan.keptTurns,
    noteBy: note?.by ?? null,
    note: note?.text ?? "",
  });
  keep(talk);
  return true;
}

/** Where little is gained, as with a task that fills the window alone, every turn would be compacted again. */
function isWorthIt(talk: Conversation, plan: CompactionPlan): boolean {
  const { meter, messages, context } = talk;
  const left = meter.body([...messages.slice(0, plan.from), ...plan.kept]) + plan.noteTokens;
  return meter.body(messages) - left >= LEAST_GAIN * context.trigger;
}

interface Note {
  readonly by: "model" | "code";
  readonly text: string;
}

/** The message for the turns that go: the model's note, or one by code when it gives none, so that the run goes on in any case. */
async function writeNote(talk: Conversation, plan: CompactionPlan, reason: Reason): Promise<Note> {
  const gone = talk.messages.slice(plan.from, plan.to);
  const carried = carriedOver(gone, plan.kept, plan.noteTokens * CARRIED_CHARS_PER_TOKEN);
  const frame = sizeOfText(talk, handOverText({ ...carried, note: "" }));
  const tokens = Math.min(MOST_NOTE_TOKENS, plan.noteTokens - frame);
  const asked = talk.messages.slice(0, plan.to);
  // What was refused a moment ago would be refused again.
  const tooLarge = reason === "overflow" && talk.meter.body(asked) > talk.context.trigger;
  const written = tooLarge ? null : await noteOfModel(talk, asked, tokens);
  const note = fitted(talk, written ?? callsNote(gone), tokens);
  return { by: written === null ? "code" : "model", text: handOverText({ ...carried, note }) };
}

/** Null when the request would cross a limit, failed, or brought no text. */
async function noteOfModel(
  talk: Conversation,
  gone: readonly Message[],
  tokens: number,
): Promise<string | null> {
  const messages = appendUser(gone, noteRequest(tokens));
  const nextInputTokens = talk.meter.estimate(messages);
  if (tokens <= 0 || requestFaults(messages).length > 0) return null;
  if (capReached({ ...capFacts(talk), nextInputTokens }) !== null) return null;
  const maxOutputTokens = Math.min(
    talk.request.limits.maxOutputTokens,
    Math.max(LEAST_OUTPUT_TOKENS, 2 * tokens),
  );
  const answer = await askForNote(talk, messages, maxOutputTokens);
  if (answer.kind === "failed" || answer.reply.finish === "refused") return null;
  const text = presentable(answer.reply.content).trim();
  return text === "" ? null : text;
}

function sizeOfText(talk: Conversation, content: string): number {
  return talk.meter.sizeOf({ role: "user", content });
}

/** The start of the text that has at most `tokens`. */
function fitted(talk: Conversation, text: string, tokens: number): string {
  let kept = text;
  for (let size = sizeOfText(talk, kept); size > tokens && kept !== ""; size = sizeOfText(talk, kept)) {
    const share = Math.min(0.95, Math.max(0, tokens) / size);
    kept = headOf(kept, Math.floor(kept.length * share));
  }
  return kept;
}
