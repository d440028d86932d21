/** The body of a chat-completions request: messages and tools in the provider's form. Pure. */

import { isFoldable } from "./chat-quirks.ts";
import type { Message, ModelRequest, ToolCall, ToolSpec } from "./model.ts";
import type { WireBody } from "./provider.ts";
import type { Quirks } from "./quirks.ts";
import { PART_FIELDS } from "./reply-parts.ts";

export interface BodyOptions {
  readonly modelId: string;
  readonly quirks: Quirks;
  /** Further members for every request (e.g. `temperature`); an endpoint that refuses one goes without it. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Members are always in the same order and hold nothing that changes with time, so that the provider's prefix cache matches. */
export function requestBody(
  request: Pick<ModelRequest, "messages" | "tools" | "maxOutputTokens">,
  options: BodyOptions,
): WireBody {
  const { modelId, quirks, parameters } = options;
  const optional = Object.entries({
    ...parameters,
    [quirks.outputCap]: request.maxOutputTokens,
    stream_options: { include_usage: true },
  }).filter(([name]) => !quirks.dropped.has(name));
  const messages = quirks.foldUsers ? folded(request.messages) : request.messages;
  return {
    model: modelId,
    messages: messages.map((message) => wireMessage(message, quirks)),
    // An empty list of tools is refused by several providers.
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(wireTool) }),
    stream: true,
    ...Object.fromEntries(optional),
  };
}

/** What a tool message says when a tool had no output: some providers refuse empty content. */
export const NO_OUTPUT = "(no output)";

/** Text as every server takes it: half of a surrogate pair makes the body invalid for strict ones. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** Each user message that is not the first of its turn becomes a paragraph of the message before it. */
function folded(messages: readonly Message[]): readonly Message[] {
  const turns: Message[] = [];
  for (const [at, message] of messages.entries()) {
    const before = turns.at(-1);
    if (before === undefined || !isFoldable(message, at, messages)) turns.push(message);
    else turns[turns.length - 1] = { ...before, content: `${before.content}\n\n${message.content}` };
  }
  return turns;
}

function wireMessage(message: Message, quirks: Quirks): Readonly<Record<string, unknown>> {
  const content = wellFormed(message.content);
  switch (message.role) {
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: content === "" ? NO_OUTPUT : content };
    case "assistant": {
      const extra = Object.entries(message.extra ?? {}).filter(
        ([name]) => !quirks.droppedExtra.has(name) && !PART_FIELDS.has(name),
      );
      const onlyCalls = content === "" && message.calls.length > 0;
      return {
        ...Object.fromEntries(extra),
        role: "assistant",
        content: onlyCalls ? quirks.emptyContent : content,
        ...(message.calls.length === 0 ? {} : { tool_calls: message.calls.map(wireCall) }),
      };
    }
    default:
      return { role: message.role, content };
  }
}

function wireCall(call: ToolCall): Readonly<Record<string, unknown>> {
  const { function: functionExtra, ...extra } = call.extra ?? {};
  return {
    ...extra,
    id: call.id,
    type: "function",
    function: { ...(functionExtra as object | undefined), name: call.name, arguments: call.arguments },
  };
}

function wireTool(tool: ToolSpec): Readonly<Record<string, unknown>> {
  return {
    type: "function",
    function: { name: tool.name, description: tool.description, parameters: tool.parameters },
  };
}
