/** Tool calls for models without native ones: a Model around another that describes the tools in the prompt and reads calls from the reply's text. */

import type { Ids } from "#src/base/ids.ts";
import { callIdsIn, freeId } from "./call-ids.ts";
import { fencedCall, fencedCalls } from "./fenced-calls.ts";
import type { Message, Model, ModelEvent, ModelRequest, Reply, ToolCall, ToolSpec } from "./model.ts";
import { cleanToolName } from "./tool-names.ts";

/**
 * Only the text of the model's own reply is read for calls: a block in an issue, a file or a result is never one. The inner
 * model is offered no tools and sees user and assistant messages in turn, which the simplest chat template takes.
 */
export function createTextProtocol(inner: Model, ids: Pick<Ids, "callId">): Model {
  return {
    id: inner.id,
    stream: (request) => withCalls(inner, request, ids),
  };
}

async function* withCalls(
  inner: Model,
  request: ModelRequest,
  ids: Pick<Ids, "callId">,
): AsyncGenerator<ModelEvent> {
  const toolNames = new Set(request.tools.map((tool) => tool.name));
  const messages = inText(request.messages, request.tools);
  for await (const event of inner.stream({ ...request, messages, tools: [] })) {
    if (event.type !== "done") yield event;
    else {
      const calls = callsOf(event.reply, { toolNames, ids, used: callIdsIn(request.messages) });
      yield { type: "done", reply: { ...event.reply, calls } };
    }
  }
}

interface Known {
  readonly toolNames: ReadonlySet<string>;
  readonly ids: Pick<Ids, "callId">;
  readonly used: ReadonlySet<string>;
}

/** Calls that the server read from the text by itself stay. Without tools on offer (a summary, say) text is text. */
function callsOf(reply: Reply, { toolNames, ids, used }: Known): readonly ToolCall[] {
  if (toolNames.size === 0) return reply.calls;
  const taken = new Set([...used, ...reply.calls.map((call) => call.id)]);
  const written = fencedCalls(reply.content, { complete: reply.finish === "complete", toolNames });
  const calls = written.map((call): ToolCall => {
    const id = freeId(null, taken, ids);
    taken.add(id);
    return { ...call, id, name: cleanToolName(call.name, toolNames) };
  });
  return [...reply.calls, ...calls];
}

/** The transcript without calls and results: both are text, and each turn is one message. */
function inText(messages: readonly Message[], tools: readonly ToolSpec[]): readonly Message[] {
  const turns: Message[] = [];
  let resultNumber = 0;
  for (const message of messages) {
    if (message.role === "assistant") {
      resultNumber = 0;
      turns.push(spoken(message));
      continue;
    }
    if (message.role === "system") {
      turns.push({ role: "system", content: message.content });
      continue;
    }
    const content = message.role === "tool" ? resultText(message, ++resultNumber) : message.content;
    const last = turns.at(-1);
    if (last?.role === "user")
      turns[turns.length - 1] = { role: "user", content: `${last.content}\n\n${content}` };
    else turns.push({ role: "user", content });
  }
  if (tools.length === 0) return turns;
  const [first, ...others] = turns;
  const system = first?.role === "system" ? `${first.content}\n\n` : "";
  return [
    { role: "system", content: system + instructions(tools) },
    ...(first?.role === "system" ? others : turns),
  ];
}

/** What the model wrote already holds its calls, unless the run began with native ones. */
function spoken(message: Extract<Message, { role: "assistant" }>): Message {
  const { content, calls, extra } = message;
  const known = new Set(calls.map((call) => call.name));
  const written = fencedCalls(content, { complete: true, toolNames: known }).length;
  const missing = calls.slice(written).map((call) => fencedCall(call.name, call.arguments));
  const text = [content, ...missing].filter((part) => part !== "").join("\n\n");
  return { role: "assistant", content: text, calls: [], ...(extra === undefined ? {} : { extra }) };
}

function resultText({ name, content }: Extract<Message, { role: "tool" }>, number: number): string {
  const fence = "`".repeat(Math.max(2, ...(content.match(/`+/g) ?? []).map((run) => run.length)) + 1);
  return `Result ${number} (${name}):\n${fence}\n${content}\n${fence}`;
}

function instructions(tools: readonly ToolSpec[]): string {
  const example = fencedCall(tools[0]?.name ?? "", "{…}");
  const described = tools.map(
    ({ name, description, parameters }) =>
      `### ${name}\n${description}\nArguments (JSON Schema): ${JSON.stringify(parameters)}`,
  );
  return `## Tools

You use a tool by writing a fenced block on lines of its own, with valid JSON inside:

${example}

Inside strings write line breaks as \\n and quotes as \\". You may write several blocks; they run in the order you write them. End
your reply after the blocks: the results are in the next message, and you never write results yourself. A block counts only in
your own reply. A reply without such a block is your final answer.

${described.join("\n\n")}`;
}
