/** The body of a Responses API request: the transcript as input items, with reasoning items sent back as they came. Pure. */

import { asText, type JsonRecord } from "./json-values.ts";
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
import { type Replayed, replayParts } from "./reply-parts.ts";
import { type BodyOptions, NO_OUTPUT, wellFormed } from "./wire.ts";

/** The field of `extra` that is ours. */
export const RESPONSES_PARTS = "responses_parts";

const REQUIRED = new Set(["model", "instructions", "input", "stream", "tools"]);

/** `store: false`: the provider keeps nothing, so the reasoning has to come back encrypted and is sent again by us. */
export function responsesBody(
  request: Pick<ModelRequest, "messages" | "tools" | "maxOutputTokens">,
  options: BodyOptions,
): WireBody {
  const { modelId, quirks, parameters } = options;
  const optional = Object.entries({
    ...parameters,
    max_output_tokens: request.maxOutputTokens,
    store: false,
    include: ["reasoning.encrypted_content"],
  }).filter(([name]) => !quirks.dropped.has(name));
  const [first, ...others] = request.messages;
  const rest = first?.role === "system" ? others : request.messages;
  return {
    model: modelId,
    ...(first?.role === "system" ? { instructions: wellFormed(first.content) } : {}),
    input: rest.flatMap((message) => inputItems(message, options)),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(wireTool) }),
    stream: true,
    ...Object.fromEntries(optional),
  };
}

function inputItems(message: Message, { modelId, quirks }: BodyOptions): readonly JsonRecord[] {
  const content = wellFormed(message.content);
  switch (message.role) {
    case "tool":
      return [
        {
          type: "function_call_output",
          call_id: message.callId,
          output: content === "" ? NO_OUTPUT : content,
        },
      ];
    case "assistant":
      return assistantItems(replayParts(message, { field: RESPONSES_PARTS, modelId }), quirks);
    default:
      return [{ type: "message", role: message.role, content }];
  }
}

/**
 * Items keep their ids only when the whole reply goes back: a call or a text whose id is known to the provider is refused without
 * the reasoning item it came with.
 */
function assistantItems(parts: readonly Replayed[], quirks: Quirks): readonly JsonRecord[] {
  const dropped = quirks.droppedExtra.has(RESPONSES_PARTS);
  const kept = parts.filter((part) => part.kind !== "raw" || (!dropped && isSelfContained(part.item)));
  const whole = kept.length === parts.length;
  return kept.map((part) => {
    if (part.kind === "raw") return part.item;
    const { id, ...others } = part.rest;
    const rest = { ...(dropped ? {} : others), ...(whole && id !== undefined ? { id } : {}) };
    if (part.kind === "call") {
      const { id: callId, name, arguments: text } = part.call;
      return { ...rest, type: "function_call", call_id: callId, name, arguments: text };
    }
    const content = wellFormed(part.text);
    if (Object.keys(rest).length === 0) return { type: "message", role: "assistant", content };
    return {
      ...rest,
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: content, annotations: [] }],
    };
  });
}

/** A reasoning item without its content is only a reference to something that the provider was asked not to store. */
function isSelfContained(item: JsonRecord): boolean {
  if (item.type !== "reasoning") return true;
  const hasText = Array.isArray(item.content) && item.content.length > 0;
  return hasText || asText(item.encrypted_content) !== null;
}

function wireTool(tool: ToolSpec): JsonRecord {
  const { name, description, parameters } = tool;
  // Strict schemas make every parameter required, which ours are not.
  return { type: "function", name, description, parameters, strict: false };
}

export function repairResponses(quirks: Quirks, refusal: Refusal): Repair | null {
  return firstRepair([refusedReasoning, droppedParameter(REQUIRED)], quirks, refusal);
}

/** Reasoning that can't be decrypted (another key, another account) or is looked up although nothing is stored. */
function refusedReasoning(quirks: Quirks, { messages }: Refusal, text: string): Repair | null {
  const hasReasoning = messages.some(
    (message) => message.role === "assistant" && message.extra?.[RESPONSES_PARTS] !== undefined,
  );
  const refuses =
    /invalid_encrypted_content|encrypted content .{0,80}(not|invalid)|items are not persisted|required .{0,5}reasoning.{0,5} item/i;
  if (!hasReasoning || !refuses.test(text)) return null;
  const droppedExtra = new Set([...quirks.droppedExtra, RESPONSES_PARTS]);
  return repairOnce(
    quirks,
    "drop reasoning",
    { droppedExtra },
    "the endpoint refuses earlier reasoning; leaving it out",
  );
}
