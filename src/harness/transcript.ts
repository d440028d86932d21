/** The transcript's rules and the only operations that grow it: each tool call has one result, directly after its reply. */

import type { Ids } from "#src/base/ids.ts";
import type { Message, Reply, ToolCall } from "#src/model/model.ts";
import { normaliseCall } from "./arguments.ts";
import { presentable } from "./clip.ts";

export type FaultCode =
  | "system_not_first"
  | "starts_without_user"
  | "empty_message"
  | "bad_id"
  | "duplicate_id"
  | "bad_name"
  | "bad_arguments"
  | "unanswered_call"
  | "result_without_call"
  | "result_out_of_order"
  | "result_name_differs"
  | "nothing_to_answer";

export interface TranscriptFault {
  readonly code: FaultCode;
  /** Index of the message it was found at. */
  readonly at: number;
  readonly detail: string;
}

const LEGAL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

type Assistant = Extract<Message, { role: "assistant" }>;
type Result = Extract<Message, { role: "tool" }>;
type Report = (code: FaultCode, detail: string) => void;

/** Calls whose name and arguments were found sound once: they never change, and the whole transcript is checked before every request. */
const SOUND = new WeakSet<ToolCall>();

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

function checkReply(message: Assistant, seen: Set<string>, report: Report): void {
  if (message.content === "" && message.calls.length === 0)
    report("empty_message", "an assistant message has neither text nor calls");
  for (const call of message.calls) {
    if (call.id === "") report("bad_id", `a call of ${call.name} has an empty id`);
    if (seen.has(call.id)) report("duplicate_id", `the id ${call.id} occurs twice`);
    seen.add(call.id);
    if (SOUND.has(call)) continue;
    const legal = LEGAL_NAME.test(call.name);
    if (!legal) report("bad_name", `the tool name ${JSON.stringify(call.name)}`);
    const readable = isJsonObject(call.arguments);
    if (!readable) report("bad_arguments", `the arguments of ${call.id} are no JSON object`);
    if (legal && readable) SOUND.add(call);
  }
}

/** The calls still open after `result`. */
function checkResult(result: Result, open: readonly ToolCall[], report: Report): ToolCall[] {
  const place = open.findIndex((call) => call.id === result.callId);
  const call = open[place];
  if (call === undefined) {
    report("result_without_call", `a result for ${result.callId}, which is not open`);
    return [...open];
  }
  if (place > 0) report("result_out_of_order", `the result for ${result.callId} came early`);
  if (call.name !== result.name) report("result_name_differs", `${call.name} was answered as ${result.name}`);
  return open.filter((other) => other !== call);
}

/** Every broken rule of a transcript at rest; empty: valid. A call without its result is a fault, also at the end. */
export function checkTranscript(messages: readonly Message[]): TranscriptFault[] {
  const faults: TranscriptFault[] = [];
  const seen = new Set<string>();
  let open: ToolCall[] = [];
  const closeOpen = (at: number) => {
    for (const call of open)
      faults.push({ code: "unanswered_call", at, detail: `${call.name} ${call.id} has no result` });
    open = [];
  };
  for (const [at, message] of messages.entries()) {
    const report: Report = (code, detail) => void faults.push({ code, at, detail });
    if (message.role === "tool") {
      open = checkResult(message, open, report);
      continue;
    }
    closeOpen(at);
    if (message.role === "system") {
      if (at > 0) report("system_not_first", "a system message stands inside the transcript");
      continue;
    }
    if (message.role === "user") {
      if (message.content === "") report("empty_message", "a user message is empty");
      continue;
    }
    if (messages[at - 1] === undefined || messages[at - 1]?.role === "system")
      report("starts_without_user", "a reply comes before any user message");
    checkReply(message, seen, report);
    open = [...message.calls];
  }
  closeOpen(messages.length);
  return faults;
}

/** The faults that forbid sending this transcript as a request: it must also end with something to answer. */
export function requestFaults(messages: readonly Message[]): TranscriptFault[] {
  const faults = checkTranscript(messages);
  const last = messages.at(-1)?.role;
  if (last === "user" || last === "tool") return faults;
  const at = Math.max(0, messages.length - 1);
  return [...faults, { code: "nothing_to_answer", at, detail: `the last message is ${last ?? "missing"}` }];
}

/** The calls of the last reply that have no result yet. */
export function openCalls(messages: readonly Message[]): readonly ToolCall[] {
  const at = messages.findLastIndex((message) => message.role !== "tool");
  const reply = messages[at];
  if (reply?.role !== "assistant") return [];
  const answered = new Set(
    messages.slice(at + 1).map((message) => (message.role === "tool" ? message.callId : "")),
  );
  return reply.calls.filter((call) => !answered.has(call.id));
}

function usedIds(messages: readonly Message[]): Set<string> {
  const ids = new Set<string>();
  for (const message of messages)
    if (message.role === "assistant") for (const { id } of message.calls) ids.add(id);
  return ids;
}

/**
 * Appends a reply with its calls put in order: ids unique over the transcript (kept as given unless empty or used),
 * names legal, arguments JSON objects. A reply with neither text nor calls appends nothing.
 */
export function appendReply(
  messages: readonly Message[],
  reply: Reply,
  context: { readonly ids: Ids; readonly toolNames: readonly string[] },
): { readonly messages: readonly Message[]; readonly calls: readonly ToolCall[] } {
  const used = usedIds(messages);
  const freshId = (): string => {
    let id = context.ids.callId();
    // A source of ids that repeats itself (as a fixed one in a test may) still yields a new id.
    for (let n = 0; used.has(id); n++)
      id = n < 3 ? context.ids.callId() : `call${String(n).padStart(5, "0")}`;
    return id;
  };
  const calls = reply.calls.map((call) => {
    const id = call.id === "" || used.has(call.id) ? freshId() : call.id;
    used.add(id);
    return normaliseCall({ ...call, id }, context.toolNames);
  });
  const content = presentable(reply.content);
  if (content.trim() === "" && calls.length === 0) return { messages, calls };
  const message: Message = {
    role: "assistant",
    content,
    calls,
    ...(reply.extra === undefined ? {} : { extra: reply.extra }),
  };
  return { messages: [...messages, message], calls };
}

/** Appends results, in the order the calls were asked. Throws when one answers no open call: a defect, never a model's doing. */
export function appendResults(
  messages: readonly Message[],
  results: readonly { readonly callId: string; readonly text: string; readonly failed?: boolean }[],
): readonly Message[] {
  const open = openCalls(messages);
  const stray = results.find((result) => !open.some((call) => call.id === result.callId));
  if (stray !== undefined) throw new Error(`no open call ${stray.callId}`);
  const answers = open.flatMap((call): Message[] => {
    const result = results.find((candidate) => candidate.callId === call.id);
    if (result === undefined) return [];
    const failed = result.failed === true ? ({ failed: true } as const) : {};
    return [{ role: "tool", callId: call.id, name: call.name, content: result.text, ...failed }];
  });
  return [...messages, ...answers];
}

/** Appends a user message; the transcript must have no open call. */
export function appendUser(messages: readonly Message[], text: string): readonly Message[] {
  if (text === "") return messages;
  return [...messages, { role: "user", content: presentable(text) }];
}

/** Fills every open call with a result that names the reason, e.g. `cancelled by octocat`. */
export function seal(messages: readonly Message[], reason: string): readonly Message[] {
  return appendResults(
    messages,
    openCalls(messages).map((call) => ({
      callId: call.id,
      failed: true,
      text: `${reason}: this call has no result; it may or may not have had effects.`,
    })),
  );
}
