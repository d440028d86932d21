/** The repairs of a chat-completions request: what compatible servers refuse, and what they take instead (FAULTS A23, A24). */

import { mentionsRoleOrder } from "./failures.ts";
import type { Message } from "./model.ts";
import {
  droppedParameter,
  firstRepair,
  isInvalidRequest,
  isNamed,
  type Quirks,
  type Refusal,
  type Repair,
  repairOnce,
} from "./quirks.ts";

const REQUIRED = new Set(["model", "messages", "stream", "tools"]);

export function repairChat(quirks: Quirks, refusal: Refusal): Repair | null {
  return firstRepair(
    [renamedOutputCap, droppedParameter(REQUIRED), droppedMessageField, foldedUsers, otherEmptyContent],
    quirks,
    refusal,
  );
}

function renamedOutputCap(quirks: Quirks, { status, sent, body }: Refusal, text: string): Repair | null {
  const name = quirks.outputCap;
  if (!isInvalidRequest(status) || !(name in sent) || !isNamed(name, body, text)) return null;
  // Too large a number is refused under either name: then the endpoint's own limit has to do.
  if (/too large|at most|less than|must be|maximum/i.test(text)) return null;
  const other = name === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  return repairOnce(
    quirks,
    "outputCap",
    { outputCap: other },
    `the endpoint refuses ${name}; sending ${other}`,
  );
}

function droppedMessageField(
  quirks: Quirks,
  { status, messages, body }: Refusal,
  text: string,
): Repair | null {
  const fields = new Set(
    messages.flatMap((message) => Object.keys(("extra" in message && message.extra) || {})),
  );
  // A provider that wants such a field back names it too (A20): only a refusal counts.
  const refuses =
    /unsupported|not (supported|permitted|allowed|expected)|extra|unexpected|unknown|unrecogni|additional/i;
  if (!isInvalidRequest(status) || !refuses.test(text)) return null;
  const name = [...fields].find((field) => !quirks.droppedExtra.has(field) && isNamed(field, body, text));
  if (name === undefined) return null;
  const droppedExtra = new Set([...quirks.droppedExtra, name]);
  return repairOnce(
    quirks,
    `drop message ${name}`,
    { droppedExtra },
    `the endpoint refuses ${name} in messages; leaving it out`,
  );
}

/** Strict chat templates take user and assistant only in turn; llama.cpp reports that as its own error (500). */
function foldedUsers(quirks: Quirks, { messages }: Refusal, text: string): Repair | null {
  if (!messages.some(isFoldable) || !mentionsRoleOrder(text)) return null;
  return repairOnce(
    quirks,
    "foldUsers",
    { foldUsers: true },
    "the endpoint wants roles to alternate; folding user messages into the message before them",
  );
}

/** A user message that is not the first of its turn. */
export function isFoldable(message: Message, at: number, all: readonly Message[]): boolean {
  const before = all[at - 1]?.role;
  return message.role === "user" && (before === "user" || before === "tool");
}

function otherEmptyContent(quirks: Quirks, { status, messages }: Refusal, text: string): Repair | null {
  const hasToolOnlyTurn = messages.some(
    (message) => message.role === "assistant" && message.content === "" && message.calls.length > 0,
  );
  if (!isInvalidRequest(status) || !hasToolOnlyTurn || !/content/i.test(text)) return null;
  if (!/nil|null|none|empty|blank|string|required|missing|at least|too short|non-empty|text/i.test(text))
    return null;
  const emptyContent = quirks.emptyContent === null ? "" : null;
  const form = emptyContent === null ? "null" : "an empty string";
  return repairOnce(
    quirks,
    "emptyContent",
    { emptyContent },
    `the endpoint refuses the content of a turn with only tool calls; sending ${form}`,
  );
}
