/** One request of a run: measured and announced before it is sent, booked when it is answered. */

import type { Message, ModelRequest, Reply } from "#src/model/model.ts";
import { type Answer, ask, type StreamedEvent } from "./ask.ts";
import type { Conversation } from "./conversation.ts";
import type { Purpose } from "./events.ts";
import { whileAsking } from "./keep.ts";
import { nextStreaks } from "./stop.ts";
import { addRequest, costOf, countUsage, estimateTokens } from "./tokens.ts";

interface Question {
  readonly purpose: Purpose;
  readonly messages: readonly Message[];
  readonly maxOutputTokens: number;
}

/** Asks for the next turn. */
export function askForTurn(talk: Conversation): Promise<Answer> {
  const { maxOutputTokens } = talk.request.limits;
  return askModel(talk, { purpose: "turn", messages: talk.messages, maxOutputTokens });
}

/** Asks for a hand-over note: `messages` end with the request for it. What is streamed is shown to nobody. */
export function askForNote(
  talk: Conversation,
  messages: readonly Message[],
  maxOutputTokens: number,
): Promise<Answer> {
  return askModel(talk, { purpose: "note", messages, maxOutputTokens });
}

async function askModel(talk: Conversation, question: Question): Promise<Answer> {
  const { model, clock, observe } = talk.request;
  const { purpose, messages } = question;
  const turn = purpose === "turn" ? talk.spent.turns + 1 : talk.spent.turns;
  const estimate = talk.meter.estimate(messages);
  const sent = { tools: talk.specs, messages };
  observe({
    type: "request",
    turn,
    purpose,
    messages: messages.length,
    estimatedInputTokens: estimate,
    prefixStability: talk.prefix.stability(sent),
  });
  // The turn after a note is measured against the turn before it, which the provider's cache holds as well.
  if (purpose === "turn") talk.prefix.note(sent);
  const askedAt = clock.now();
  const request: ModelRequest = { ...sent, maxOutputTokens: question.maxOutputTokens, signal: talk.signal };
  const passOn = (event: StreamedEvent) => {
    if (purpose === "turn" || event.type === "retry") observe({ ...event, turn });
  };
  const answer = await whileAsking(talk, () => ask(model, request, passOn));
  talk.retries += answer.retries;
  const ms = clock.now() - askedAt;
  if (answer.kind === "failed") observe({ type: "failed", turn, purpose, failure: answer.failure, ms });
  else recordCost(talk, { reply: answer.reply, question, turn, estimate, ms });
  return answer;
}

interface Got {
  readonly reply: Reply;
  readonly question: Question;
  readonly turn: number;
  readonly estimate: number;
  readonly ms: number;
}

/** Spending is booked before anything else is decided about a reply: it was paid for in any case. */
function recordCost(talk: Conversation, { reply, question, turn, estimate, ms }: Got): void {
  const { purpose, messages } = question;
  const counted = countUsage(reply.usage, estimate, () =>
    estimateTokens(JSON.stringify([reply.content, reply.calls])),
  );
  const costUsd = costOf(counted, talk.request.price);
  if (reply.usage.inputTokens !== null) talk.meter.learn(messages, reply.usage.inputTokens);
  talk.spent = addRequest(talk.spent, counted, costUsd);
  if (purpose === "turn") {
    talk.spent = { ...talk.spent, turns: turn };
    talk.streaks = nextStreaks(talk.streaks, reply);
  }
  talk.request.observe({
    type: "reply",
    turn,
    purpose,
    reply,
    costUsd,
    estimated: counted.estimated,
    ms,
  });
}
