/** The agent loop. Its invariant: the transcript is valid after every step, and nothing invalid is ever sent. */

import { messageOf } from "#src/base/result.ts";
import type { Reply } from "#src/model/model.ts";
import { afterTurn, wrapUp } from "./after-turn.ts";
import type { AgentEnd, AgentRequest, Stop } from "./agent.ts";
import type { Answer } from "./ask.ts";
import { askForTurn } from "./ask-model.ts";
import { resultBudget } from "./clip.ts";
import {
  type Conversation,
  capFacts,
  countCall,
  endConversation,
  openConversation,
  spentSoFar,
  stopOfAbort,
} from "./conversation.ts";
import { type Answered, dispatch } from "./dispatch.ts";
import { keep, storeKept } from "./keep.ts";
import { defectMessage } from "./notices.ts";
import { makeRoom, makeRoomAfterOverflow } from "./room.ts";
import { capReached, stopForFailure } from "./stop.ts";
import { parseCalls } from "./tool-calls.ts";
import { appendReply, appendResults, requestFaults } from "./transcript.ts";

/** How often a request that the provider found too large is made smaller and sent again. */
const SHRINKS = 2;

/**
 * Lets the model work with the tools until it gives a final answer or a limit ends it. Never rejects: failures of the
 * model, cancels and defects of the harness are statuses of the end, whose transcript is valid in any case.
 */
export async function runAgent(request: AgentRequest): Promise<AgentEnd> {
  const talk = openConversation(request);
  const stop = await untilStopped(talk);
  const end = endConversation(talk, stop);
  request.observe({ type: "stop", turn: talk.spent.turns, status: stop.status, message: stop.message });
  return end;
}

async function untilStopped(talk: Conversation): Promise<Stop> {
  try {
    let stop: Stop | null = null;
    while (stop === null) stop = await oneTurn(talk);
    await storeKept(talk);
    return stop;
  } catch (defect) {
    return { status: "internal", message: defectMessage(messageOf(defect)) };
  }
}

/** Check limits, ask (and store the turn before meanwhile), record, dispatch, stop? */
async function oneTurn(talk: Conversation): Promise<Stop | null> {
  await makeRoom(talk);
  const forbidden = beforeRequest(talk);
  if (forbidden) return forbidden;
  const answer = await askInRoom(talk);
  if (answer.kind === "failed") return stopOfAbort(talk) ?? stopForFailure(answer.failure);
  const answers = await recordAndRun(talk, answer.reply);
  const stop = afterTurn(talk, answer.reply, answers);
  keep(talk);
  return stop;
}

function beforeRequest(talk: Conversation): Stop | null {
  const stop = stopOfAbort(talk) ?? capReached(capFacts(talk));
  if (stop) return stop;
  wrapUp(talk);
  const fault = requestFaults(talk.messages)[0];
  return fault ? { status: "internal", message: defectMessage(fault.detail) } : null;
}

/** Asks; a request too large for the provider is made smaller and sent again, never as it was (FAULTS B01). */
async function askInRoom(talk: Conversation): Promise<Answer> {
  for (let shrinks = 0; ; shrinks++) {
    const answer = await askForTurn(talk);
    const overflowed = answer.kind === "failed" && answer.failure.code === "context_overflow";
    if (!overflowed || shrinks === SHRINKS || !(await makeRoomAfterOverflow(talk))) return answer;
  }
}

/** Appends the reply, runs its calls, appends their results. */
async function recordAndRun(talk: Conversation, reply: Reply): Promise<readonly Answered[]> {
  const { tools, ids, clock, limits, observe } = talk.request;
  const turn = talk.spent.turns;
  const toolNames = tools.map((tool) => tool.name);
  const appended = appendReply(talk.messages, reply, { ids, toolNames });
  talk.messages = appended.messages;
  const answers = await dispatch(parseCalls(reply.finish, appended.calls, tools), {
    signal: talk.signal,
    clock,
    resultChars: resultBudget(appended.calls.length, limits.contextTokens),
    placeOf: ({ id }) => ({ callId: id, turn, spent: () => spentSoFar(talk) }),
    onCall: ({ id, name, malformed, arguments: text }) =>
      observe({ type: "call", turn, id, name, arguments: malformed ?? text }),
    onResult: (answered) => {
      const { call, result, ms } = answered;
      const { status, text, wrote = [] } = result;
      countCall(talk, answered);
      observe({ type: "result", turn, id: call.id, name: call.name, status, text, wrote, ms });
    },
  });
  talk.messages = appendResults(
    talk.messages,
    answers.map(({ call, result: { text, status } }) => ({
      callId: call.id,
      text,
      failed: status === "error",
    })),
  );
  return answers;
}
