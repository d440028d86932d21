/** The body of a chat-completions request: messages and tools in the provider's form. Pure. */

import type { Message, ModelRequest, ToolCall, ToolSpec } from "./model.ts";
import type { Quirks } from "./quirks.ts";

export type WireBody = Readonly<Record<string, unknown>> & {
  readonly model: string;
  readonly messages: readonly WireMessage[];
};

export type WireMessage = Readonly<Record<string, unknown>> & { readonly role: string };

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
  return {
    model: modelId,
    messages: request.messages.map((message) => wireMessage(message, quirks)),
    // An empty list of tools is refused by several providers.
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(wireTool) }),
    stream: true,
    ...Object.fromEntries(optional),
  };
}

/** What a tool message says when a tool had no output: some providers refuse empty content. */
const NO_OUTPUT = "(no output)";

function wireMessage(message: Message, quirks: Quirks): WireMessage {
  // Half of a surrogate pair makes the body invalid for strict servers.
  const content = message.content.toWellFormed();
  switch (message.role) {
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: content === "" ? NO_OUTPUT : content };
    case "assistant": {
      const extra = Object.entries(message.extra ?? {}).filter(([name]) => !quirks.droppedExtra.has(name));
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

/** Ids of all calls in a transcript: a new reply must use none of them again. */
export function callIdsIn(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(
    messages.flatMap((message) => (message.role === "assistant" ? message.calls.map((call) => call.id) : [])),
  );
}
