/** Reactions and answers that the log says are due; each is sent until GitHub has taken it or never will. */

import { renderAnswer } from "#src/gate/status-comment.ts";
import { type CommandReply, isEnded, placeOf } from "#src/run/run.ts";
import { isPassing } from "./conversation.ts";
import type { RunContext } from "./run-context.ts";

const WELCOME = "welcome";

/** Decisions on commands whose reply is not known to have arrived, oldest first. */
export function openReplies(context: RunContext): readonly CommandReply[] {
  return context
    .events()
    .flatMap(({ event }) => (event.type === "fact_handled" && event.reply !== undefined ? [event.reply] : []))
    .filter(({ commentId }) => context.journal.done(effectOf(commentId)) === null);
}

/** Sends what is due: the reaction to the label, then the replies. True when nothing is left to be sent later. */
export async function sendReplies(context: RunContext): Promise<boolean> {
  let allSent = await welcome(context);
  for (const reply of openReplies(context)) allSent = (await send(context, reply)) && allSent;
  return allSent;
}

async function welcome(context: RunContext): Promise<boolean> {
  const { journal, conversation, request } = context;
  const due = request.trigger === "label" && !isEnded(context.run()) && journal.done(WELCOME) === null;
  if (!due) return true;
  const reacted = await conversation.welcome();
  if (!reacted.ok) {
    context.trace.emit("warning", { text: `reaction to the label: ${reacted.error.message}` });
    if (isPassing(reacted.error)) return false;
  }
  await journal.complete(WELCOME, { id: reacted.ok ? "eyes" : "refused", url: null });
  return true;
}

async function send(context: RunContext, reply: CommandReply): Promise<boolean> {
  const { journal, conversation, runId } = context;
  const { commentId, reaction, text } = reply;
  const body = text === null ? null : renderAnswer({ runId, commentId, text });
  const on = reply.on ?? placeOf(context.request);
  const answered = await conversation.answer(journal, { commentId, reaction, body, on });
  if (!answered.ok) {
    context.trace.emit("warning", { text: `answer to ${commentId}: ${answered.error.message}` });
    if (isPassing(answered.error)) return false;
  }
  await journal.complete(effectOf(commentId), {
    id: answered.ok ? (reaction ?? "none") : "refused",
    url: null,
  });
  return true;
}

function effectOf(commentId: number): string {
  return `reply-${commentId}`;
}
