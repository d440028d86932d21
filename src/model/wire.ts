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
    messages: wireMessages(messages, quirks),
    // An empty list of tools is refused by several providers.
    ...(request.tools.length === 0 ? {} : { tools: wireTools(request.tools) }),
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

/** Messages never change, so that the form of each is made once for what is known of the endpoint, and with it its text. */
const FORMS = new WeakMap<Quirks, WeakMap<Message, WireBody>>();
const TOOL_FORMS = new WeakMap<readonly ToolSpec[], readonly WireBody[]>();

function wireMessages(messages: readonly Message[], quirks: Quirks): readonly WireBody[] {
  const forms = FORMS.get(quirks) ?? new WeakMap<Message, WireBody>();
  FORMS.set(quirks, forms);
  return messages.map((message) => {
    const form = forms.get(message) ?? wireMessage(message, quirks);
    forms.set(message, form);
    return form;
  });
}

function wireTools(tools: readonly ToolSpec[]): readonly WireBody[] {
  const forms = TOOL_FORMS.get(tools) ?? tools.map(wireTool);
  TOOL_FORMS.set(tools, forms);
  return forms;
}

function wireMessage(message: Message, quirks: Quirks): WireBody {
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

function wireCall(call: ToolCall): WireBody {
  const { function: functionExtra, ...extra } = call.extra ?? {};
  return {
    ...extra,
    id: call.id,
    type: "function",
    function: { ...(functionExtra as object | undefined), name: call.name, arguments: call.arguments },
  };
}

function wireTool(tool: ToolSpec): WireBody {
  return {
    type: "function",
    function: { name: tool.name, description: tool.description, parameters: tool.parameters },
  };
}
