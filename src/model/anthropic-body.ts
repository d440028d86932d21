/** The body of a Messages API request: blocks in strict turns, thinking sent back as it came, the stable prefix marked. Pure. */

import type { JsonRecord } from "./json-values.ts";
import type { Message, ModelRequest, ToolSpec } from "./model.ts";
import type { WireBody } from "./provider.ts";
import {
  droppedParameter,
  firstRepair,
  type Quirks,
  type Refusal,
  type Repair,
  repairOnce,
} from "./quirks.ts";
import { replayParts } from "./reply-parts.ts";
import { type BodyOptions, NO_OUTPUT, wellFormed } from "./wire.ts";

/** The field of `extra` that is ours. */
export const ANTHROPIC_PARTS = "anthropic_parts";

const CACHE_MARK = "cache_control";
/** Four marks are allowed: tools, system and these. The older one is where the last request wrote, the newer where this one writes. */
const MARKED_TURNS = 2;
const REQUIRED = new Set(["model", "max_tokens", "system", "tools", "tool_choice", "messages", "stream"]);

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: readonly JsonRecord[];
}

/** Members are always in the same order and hold nothing that changes with time; only the marks move along. */
export function anthropicBody(
  request: Pick<ModelRequest, "messages" | "tools" | "maxOutputTokens">,
  options: BodyOptions,
): WireBody {
  const { modelId, quirks, parameters } = options;
  const [first, ...others] = request.messages;
  const rest = first?.role === "system" ? others : request.messages;
  const mark = quirks.dropped.has(CACHE_MARK) ? (blocks: readonly JsonRecord[]) => blocks : markLast;
  const optional = Object.entries(parameters).filter(([name]) => !quirks.dropped.has(name));
  return {
    model: modelId,
    max_tokens: Math.min(request.maxOutputTokens, quirks.outputLimit ?? request.maxOutputTokens),
    ...(first?.role === "system" && first.content !== "" ? { system: mark([textBlock(first.content)]) } : {}),
    ...toolMembers(request, mark),
    messages: markTurns(turnsOf(rest, options), mark),
    stream: true,
    ...Object.fromEntries(optional),
  };
}

type Mark = (blocks: readonly JsonRecord[]) => readonly JsonRecord[];

/** Thinking can't be marked; it is never last in a user's turn, nor is it a tool. */
function markLast(blocks: readonly JsonRecord[]): readonly JsonRecord[] {
  return blocks.map((block, at) =>
    at === blocks.length - 1 ? { ...block, [CACHE_MARK]: { type: "ephemeral" } } : block,
  );
}

function markTurns(turns: readonly Turn[], mark: Mark): readonly Turn[] {
  const places = turns.flatMap(({ role }, at) => (role === "user" ? [at] : [])).slice(-MARKED_TURNS);
  return turns.map((turn, at) => (places.includes(at) ? { ...turn, content: mark(turn.content) } : turn));
}

/** A transcript with calls needs tools: a request that offers none names those of the transcript, and forbids their use. */
function toolMembers({ tools, messages }: Pick<ModelRequest, "tools" | "messages">, mark: Mark): JsonRecord {
  if (tools.length > 0) return { tools: mark(tools.map(wireTool)) };
  const used = messages.flatMap((message) =>
    message.role === "assistant" ? message.calls.map((call) => call.name) : [],
  );
  if (used.length === 0) return {};
  const described = [...new Set(used)].map((name) => ({ name, input_schema: { type: "object" } }));
  return { tools: described, tool_choice: { type: "none" } };
}

function wireTool({ name, description, parameters }: ToolSpec): JsonRecord {
  return { name, description, input_schema: parameters };
}

/** All results of a reply, and user texts after them, are one user turn: the API wants turns to alternate. */
function turnsOf(messages: readonly Message[], options: BodyOptions): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = message.role === "assistant" ? assistantBlocks(message, options) : [userBlock(message)];
    const last = turns.at(-1);
    if (content.length === 0) continue;
    if (last?.role === role) turns[turns.length - 1] = { role, content: [...last.content, ...content] };
    else turns.push({ role, content });
  }
  return turns;
}

function userBlock(message: Exclude<Message, { role: "assistant" }>): JsonRecord {
  if (message.role !== "tool") return textBlock(message.content);
  const content = wellFormed(message.content);
  return {
    type: "tool_result",
    tool_use_id: message.callId,
    content: content.trim() === "" ? NO_OUTPUT : content,
  };
}

/** Blocks of white space alone are refused. */
function textBlock(text: string): JsonRecord {
  return { type: "text", text: text.trim() === "" ? "(empty)" : wellFormed(text) };
}

function assistantBlocks(
  message: Extract<Message, { role: "assistant" }>,
  { modelId, quirks }: BodyOptions,
): readonly JsonRecord[] {
  const dropped = quirks.droppedExtra.has(ANTHROPIC_PARTS);
  return replayParts(message, { field: ANTHROPIC_PARTS, modelId }).flatMap((part) => {
    if (part.kind === "raw") return dropped ? [] : [part.item];
    const rest = dropped ? {} : part.rest;
    if (part.kind === "text") {
      return part.text.trim() === "" ? [] : [{ ...rest, type: "text", text: wellFormed(part.text) }];
    }
    const { id, name, arguments: text } = part.call;
    return [{ ...rest, type: "tool_use", id, name, input: JSON.parse(text) as unknown }];
  });
}

export function repairAnthropic(quirks: Quirks, refusal: Refusal): Repair | null {
  return firstRepair(
    [refusedMarks, lowerOutputLimit, refusedThinking, droppedParameter(REQUIRED)],
    quirks,
    refusal,
  );
}

/** Servers that copy the API do not all know the marks. */
function refusedMarks(quirks: Quirks, { sent }: Refusal, text: string): Repair | null {
  if (!text.includes(CACHE_MARK) || !JSON.stringify(sent).includes(`"${CACHE_MARK}"`)) return null;
  const dropped = new Set([...quirks.dropped, CACHE_MARK]);
  return repairOnce(quirks, CACHE_MARK, { dropped }, `the endpoint refuses ${CACHE_MARK}; leaving it out`);
}

/** "max_tokens: 100000 > 64000, which is the maximum allowed …": it can't be left out, so its limit is learnt. */
function lowerOutputLimit(quirks: Quirks, { sent }: Refusal, text: string): Repair | null {
  const limit = Number(/max_tokens\D{0,20}\d+\s*>\s*(\d+)/.exec(text)?.[1]);
  if (!(limit > 0) || !(limit < Number(sent.max_tokens))) return null;
  return repairOnce(
    quirks,
    "outputLimit",
    { outputLimit: limit },
    `the model writes at most ${limit} tokens; asking for that`,
  );
}

/** Thinking that was signed for another model or account. */
function refusedThinking(quirks: Quirks, { messages }: Refusal, text: string): Repair | null {
  const hasThinking = messages.some(
    (message) => message.role === "assistant" && message.extra?.[ANTHROPIC_PARTS] !== undefined,
  );
  const refuses = /signature.{0,40}thinking|thinking.{0,60}(cannot be modified|signature|invalid)/i;
  if (!hasThinking || !refuses.test(text)) return null;
  const droppedExtra = new Set([...quirks.droppedExtra, ANTHROPIC_PARTS]);
  return repairOnce(
    quirks,
    "drop thinking",
    { droppedExtra },
    "the endpoint refuses earlier thinking; leaving it out",
  );
}
