/** What follows from a turn: an end, a notice to the model, or simply the next turn. */

import type { Reply } from "#src/model/model.ts";
import type { Stop } from "./agent.ts";
import { addNotice, type Conversation, capFacts, stopOfAbort } from "./conversation.ts";
import type { Answered } from "./dispatch.ts";
import { toldIn } from "./hand-over.ts";
import {
  cutOffNotice,
  emptyAnswerNotice,
  instructionNotice,
  noProgressNotice,
  noProgressStop,
  wrapUpNotice,
} from "./notices.ts";
import { advance, printTurn } from "./progress.ts";
import { nearCap, outcomeOf } from "./stop.ts";

/** A person's cancel comes before everything; a finished answer beats a cap crossed by that very reply. */
export function afterTurn(talk: Conversation, reply: Reply, answers: readonly Answered[]): Stop | null {
  const aborted = stopOfAbort(talk);
  if (aborted?.status === "cancelled") return aborted;
  const outcome = outcomeOf(reply, talk.streaks);
  const asked = !aborted && takeInstructions(talk);
  if (outcome.kind === "stop" && !(outcome.stop.status === "done" && asked)) return outcome.stop;
  if (aborted) return aborted;
  if (outcome.kind === "notice")
    addNotice(talk, outcome.notice, outcome.notice === "cut_off" ? cutOffNotice() : emptyAnswerNotice());
  return circleStop(talk, answers);
}

/** True when a maintainer asked for more, which also turns a final answer into one more turn. */
function takeInstructions(talk: Conversation): boolean {
  const texts = talk.request.instructions?.() ?? [];
  for (const text of texts) addNotice(talk, "instruction", instructionNotice(text));
  return texts.length > 0;
}

function circleStop(talk: Conversation, answers: readonly Answered[]): Stop | null {
  if (answers.length === 0) return null;
  const [progress, verdict] = advance(talk.progress, printTurn(answers));
  talk.progress = progress;
  if (verdict.kind === "stop") return { status: "no_progress", message: noProgressStop(verdict.circle) };
  if (verdict.kind === "tell") addNotice(talk, "no_progress", noProgressNotice(verdict.circle));
  return null;
}

/** Tells the model once in a run that 80 % of a cap is used; before a request, when there is something it can still do about it. */
export function wrapUp(talk: Conversation): void {
  const used = nearCap(capFacts(talk));
  if (used !== null && !toldIn(talk.messages).has("wrap_up")) addNotice(talk, "wrap_up", wrapUpNotice(used));
}
