/** Chat completions from the server's side: what requests look like, how replies are cut into chunks, what real providers refuse. */

export interface WireCall {
  readonly id: string;
  readonly type?: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A message as it came over the wire, after the checks below. */
export interface WireMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | null;
  readonly tool_calls?: readonly WireCall[];
  readonly tool_call_id?: string;
}

export interface WireTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description?: string; readonly parameters?: unknown };
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly WireMessage[];
  readonly tools?: readonly WireTool[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}

/** What a server answers; `calls` have their ids by now. */
export interface ServedReply {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly calls: readonly WireCall[];
  readonly finish: string;
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
}

/** The first thing a strict provider would refuse in this body, in its words; null when all is well. */
export function refuseRequest(body: unknown): string | null {
  if (typeof body !== "object" || body === null) return "the body must be a JSON object";
  const { model, messages, tools } = body as Record<string, unknown>;
  if (typeof model !== "string" || model === "") return "you must provide a model parameter";
  if (!Array.isArray(messages) || messages.length === 0) return "messages: expected a non-empty array";
  if (tools !== undefined) {
    if (!Array.isArray(tools) || tools.length === 0) return "tools: expected a non-empty array";
    const named = tools as readonly (Partial<WireTool> | null)[];
    const bad = named.find((tool) => !/^[a-zA-Z0-9_-]{1,64}$/.test(String(tool?.function?.name ?? "")));
    if (bad !== undefined) return `tools: invalid function name ${JSON.stringify(bad?.function?.name)}`;
  }
  return refuseTranscript(messages);
}

/** Every call has exactly one answer directly behind it, ids are unique, and nothing answers nothing. */
function refuseTranscript(messages: readonly unknown[]): string | null {
  const seen = new Set<string>();
  let open = new Set<string>();
  for (const [at, raw] of messages.entries()) {
    const message = (raw ?? {}) as Record<string, unknown>;
    if (message.role !== "tool" && open.size > 0) return missing(open);
    switch (message.role) {
      case "system":
        if (at !== 0) return `messages[${at}]: the system message must be the first`;
        if (typeof message.content !== "string") return `messages[${at}].content: expected a string`;
        break;
      case "user":
        if (typeof message.content !== "string") return `messages[${at}].content: expected a string`;
        break;
      case "assistant": {
        const refusal = refuseAssistant(message, `messages[${at}]`, seen);
        if (refusal !== null) return refusal;
        open = new Set(((message.tool_calls ?? []) as WireCall[]).map((call) => call.id));
        break;
      }
      case "tool":
        if (typeof message.content !== "string") return `messages[${at}].content: expected a string`;
        if (!open.delete(String(message.tool_call_id))) {
          return `messages[${at}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'`;
        }
        break;
      default:
        return `messages[${at}].role: unknown role ${JSON.stringify(message.role)}`;
    }
  }
  return open.size > 0 ? missing(open) : null;
}

function missing(open: ReadonlySet<string>): string {
  return `an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; missing: ${[...open].join(", ")}`;
}

function refuseAssistant(message: Record<string, unknown>, where: string, seen: Set<string>): string | null {
  const { content, tool_calls: calls } = message;
  if (calls === undefined) return typeof content === "string" ? null : `${where}.content: expected a string`;
  if (content !== null && typeof content !== "string") return `${where}.content: expected a string or null`;
  if (!Array.isArray(calls) || calls.length === 0) return `${where}.tool_calls: expected a non-empty array`;
  for (const call of calls as readonly (Partial<WireCall> | null)[]) {
    const id = call?.id;
    if (typeof id !== "string" || id === "") return `${where}.tool_calls: a call has no id`;
    if (seen.has(id)) return `${where}.tool_calls: duplicate id ${id}`;
    seen.add(id);
    if (call?.type !== "function") return `${where}.tool_calls: type must be "function"`;
    const name = call.function?.name;
    if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
      return `${where}.tool_calls: invalid name`;
    if (!isJsonObject(call.function?.arguments))
      return `${where}.tool_calls: arguments of ${id} are not a JSON object`;
  }
  return null;
}

function isJsonObject(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Length of a piece of text or arguments: about a token or two, as real servers send them. */
const PIECE = 12;

/** The chunks of a streamed reply, in the order and the cut that OpenAI's servers use; usage comes last and only when asked for. */
export function chunksOf(reply: ServedReply, includeUsage: boolean): readonly object[] {
  const base = { id: reply.id, object: "chat.completion.chunk", created: 0, model: reply.model };
  const chunk = (delta: object, finish: string | null = null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(includeUsage ? { usage: null } : {}),
  });
  const calls = reply.calls.flatMap((call, index) => [
    chunk({
      tool_calls: [
        { index, id: call.id, type: "function", function: { name: call.function.name, arguments: "" } },
      ],
    }),
    ...inPieces(call.function.arguments).map((piece) =>
      chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
    ),
  ]);
  return [
    chunk({ role: "assistant", content: reply.text === "" ? null : "" }),
    ...inPieces(reply.text).map((piece) => chunk({ content: piece })),
    ...calls,
    chunk({}, reply.finish),
    ...(includeUsage ? [{ ...base, choices: [], usage: reply.usage }] : []),
  ];
}

/** The same reply in one document, for requests without `stream`. */
export function documentOf(reply: ServedReply): object {
  return {
    id: reply.id,
    object: "chat.completion",
    created: 0,
    model: reply.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: reply.text === "" ? null : reply.text,
          ...(reply.calls.length === 0 ? {} : { tool_calls: reply.calls }),
        },
        finish_reason: reply.finish,
      },
    ],
    usage: reply.usage,
  };
}

/** By code points, so that no piece ends in half a character. */
function inPieces(text: string): readonly string[] {
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / PIECE) }, (_, at) =>
    characters.slice(at * PIECE, (at + 1) * PIECE).join(""),
  );
}
