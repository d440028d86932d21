/** The agent loop. Its invariant: the transcript is valid after every step, and nothing invalid is ever sent. */

import { messageOf } from "#src/base/result.ts";
import type { Reply } from "#src/model/model.ts";
import type { AgentEnd, AgentRequest, Stop } from "./agent.ts";
import { type Answer, ask } from "./ask.ts";
import { resultBudget } from "./clip.ts";
import {
  addNotice,
  type Conversation,
  capFacts,
  countCall,
  endConversation,
  openConversation,
  spentSoFar,
  stopOfAbort,
} from "./conversation.ts";
import { type Answered, dispatch } from "./dispatch.ts";
import {
  cutOffNotice,
  defectMessage,
  emptyAnswerNotice,
  instructionNotice,
  noProgressNotice,
  noProgressStop,
  wasTold,
  wrapUpNotice,
} from "./notices.ts";
import { prefixStability, serialise } from "./prefix.ts";
import { advance, printTurn } from "./progress.ts";
import { capReached, nearCap, nextStreaks, outcomeOf, stopForFailure } from "./stop.ts";
import { addReply, costOf, countUsage, estimateTokens } from "./tokens.ts";
import { parseCalls } from "./tool-calls.ts";
import { appendReply, appendResults, requestFaults } from "./transcript.ts";

/**
 * Lets the model work with the tools until it gives a final answer or a limit ends it. Never rejects: failures of the
 * model, cancels and defects of the harness are statuses of the end, whose transcript is valid in any case.
 */
export async function runAgent(request: AgentRequest): Promise<AgentEnd> {
  const talk = openConversation(request);
  const stop = await untilStopped(talk);
  const end = endConversation(talk, stop);
  tellOfStop(talk, stop);
  return end;
}

async function untilStopped(talk: Conversation): Promise<Stop> {
  try {
    for (;;) {
      const stop = await oneTurn(talk);
      if (stop) return stop;
    }
  } catch (defect) {
    return { status: "internal", message: defectMessage(messageOf(defect)) };
  }
}

/** Check limits, ask, record, dispatch, stop? */
async function oneTurn(talk: Conversation): Promise<Stop | null> {
  const forbidden = beforeRequest(talk);
  if (forbidden) return forbidden;
  const answer = await askModel(talk);
  if (answer.kind === "failed") return stopOfAbort(talk) ?? stopForFailure(answer.failure);
  const answers = await recordAndRun(talk, answer.reply);
  const stop = afterTurn(talk, answer.reply, answers);
  await talk.request.checkpoint({ messages: talk.messages, spent: spentSoFar(talk) });
  return stop;
}

function beforeRequest(talk: Conversation): Stop | null {
  const stop = stopOfAbort(talk) ?? capReached(capFacts(talk));
  if (stop) return stop;
  const fault = requestFaults(talk.messages)[0];
  return fault ? { status: "internal", message: defectMessage(fault.detail) } : null;
}

async function askModel(talk: Conversation): Promise<Answer> {
  const { model, limits, clock, observe } = talk.request;
  const turn = talk.spent.turns + 1;
  const sent = serialise(talk.specs, talk.messages);
  const estimate = talk.meter.estimate(talk.messages);
  observe({
    type: "request",
    turn,
    messages: talk.messages.length,
    estimatedInputTokens: estimate,
    prefixStability: prefixStability(talk.lastSent, sent),
  });
  talk.lastSent = sent;
  const askedAt = clock.now();
  const answer = await ask(
    model,
    {
      messages: talk.messages,
      tools: talk.specs,
      maxOutputTokens: limits.maxOutputTokens,
      signal: talk.signal,
    },
    (event) => observe({ ...event, turn }),
  );
  talk.retries += answer.retries;
  const ms = clock.now() - askedAt;
  if (answer.kind === "failed") observe({ type: "failed", turn, failure: answer.failure, ms });
  else recordCost(talk, { reply: answer.reply, estimate, ms });
  return answer;
}

/** Spending is booked before anything else is decided about a reply: it was paid for in any case. */
function recordCost(talk: Conversation, got: { reply: Reply; estimate: number; ms: number }): void {
  const { reply, estimate, ms } = got;
  const counted = countUsage(
    reply.usage,
    estimate,
    estimateTokens(JSON.stringify([reply.content, reply.calls])),
  );
  const costUsd = costOf(counted, talk.request.price);
  if (reply.usage.inputTokens !== null) talk.meter.learn(talk.messages, reply.usage.inputTokens);
  talk.spent = addReply(talk.spent, counted, costUsd);
  talk.streaks = nextStreaks(talk.streaks, reply);
  talk.request.observe({
    type: "reply",
    turn: talk.spent.turns,
    reply,
    costUsd,
    estimated: counted.estimated,
    ms,
  });
}

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
    onCall: ({ id, name, malformed, arguments: text }) =>
      observe({ type: "call", turn, id, name, arguments: malformed ?? text }),
    onResult: ({ call, result, ms }) => {
      const { status, text, wrote = [] } = result;
      observe({ type: "result", turn, id: call.id, name: call.name, status, text, wrote, ms });
    },
  });
  talk.messages = appendResults(
    talk.messages,
    answers.map(({ call, result }) => ({ callId: call.id, text: result.text })),
  );
  for (const answered of answers) countCall(talk, answered);
  return answers;
}

/** A person's cancel comes before everything; a finished answer beats a cap crossed by that very reply. */
function afterTurn(talk: Conversation, reply: Reply, answers: readonly Answered[]): Stop | null {
  const aborted = stopOfAbort(talk);
  if (aborted?.status === "cancelled") return aborted;
  const outcome = outcomeOf(reply, talk.streaks);
  const asked = !aborted && takeInstructions(talk);
  if (outcome.kind === "stop" && !(outcome.stop.status === "done" && asked)) return outcome.stop;
  if (aborted) return aborted;
  if (outcome.kind === "notice")
    addNotice(talk, outcome.notice, outcome.notice === "cut_off" ? cutOffNotice() : emptyAnswerNotice());
  return circleStop(talk, answers) ?? wrapUp(talk);
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

function wrapUp(talk: Conversation): null {
  const used = nearCap(capFacts(talk));
  if (used !== null && !wasTold(talk.messages, "wrap_up")) addNotice(talk, "wrap_up", wrapUpNotice(used));
  return null;
}

function tellOfStop(talk: Conversation, stop: Stop): void {
  talk.request.observe({ type: "stop", turn: talk.spent.turns, status: stop.status, message: stop.message });
}
