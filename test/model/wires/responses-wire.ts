/** OpenAI's Responses API in bytes. */

import { createOpenAiResponses } from "#src/model/openai-responses.ts";
import { createResponsesAssembler } from "#src/model/responses-stream.ts";
import { providerOptions } from "../chat-adapter.ts";
import {
  type ErrorKind,
  pieces,
  sse,
  type Wire,
  type WireCall,
  type WireTurn,
  WORDS,
  woven,
} from "./wire.ts";

const ERRORS: Readonly<Record<ErrorKind, readonly [number, object]>> = {
  overloaded: [503, { type: "server_error", code: "server_error" }],
  rate_limited: [429, { type: "requests", code: "rate_limit_exceeded" }],
  quota: [429, { type: "insufficient_quota", code: "insufficient_quota" }],
  overflow: [400, { type: "invalid_request_error", code: "context_length_exceeded" }],
  overflow_in_words: [400, { type: "invalid_request_error", code: null }],
  bad_request: [400, { type: "invalid_request_error", code: "invalid_prompt" }],
  unauthorized: [401, { type: "invalid_request_error", code: "invalid_api_key" }],
};

interface InputItem {
  readonly type: string;
  readonly role: string;
  readonly content: string | readonly { readonly text: string }[];
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly output: string;
  readonly namespace?: unknown;
}

export const RESPONSES_WIRE: Wire = {
  name: "responses",
  path: "/v1/responses",
  adapter: (url, options) => createOpenAiResponses(providerOptions(url, options)),
  assemble: (options) => createResponsesAssembler({ ...options, modelId: "test-model" }),
  events: (turn) => {
    const items = itemsOf(turn);
    const [first, ...others] = [
      event({ type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } }),
      event({ type: "response.in_progress", response: { id: "resp_1", status: "in_progress" } }),
    ];
    const calls = items.flatMap((item, at) => (item.type === "function_call" ? [callEvents(item, at)] : []));
    const status = turn.finish === undefined || turn.finish === "complete" ? "completed" : "incomplete";
    return {
      content: [
        first,
        ...others,
        ...items.flatMap((item, at) => (item.type === "function_call" ? [] : itemEvents(item, at))),
        ...woven(calls, turn.interleaved ?? false),
      ],
      ending: [event({ type: `response.${status}`, response: response(turn, items) })],
    };
  },
  document: (turn) => ({ object: "response", ...response(turn, itemsOf(turn)) }),
  noise: [
    ": keep-alive\n\n",
    ":\n\n",
    event({ type: "keepalive", sequence_number: 3 }),
    event({ type: "response.in_progress", response: { status: "in_progress" } }),
    event({ type: "response.queued", response: { status: "queued" } }),
    event({ type: "something.new", delta: "not text" }),
  ],
  error: (kind) => {
    const [status, fields] = ERRORS[kind];
    return { status, body: { error: { message: WORDS[kind], param: null, ...fields } } };
  },
  errorEvent: (kind) => {
    const { code } = ERRORS[kind][1] as { readonly code: string | null };
    const error = { code: code ?? "invalid_prompt", message: WORDS[kind] };
    return event({ type: "response.failed", response: { status: "failed", error, output: [] } });
  },
  sent: (body) => ({
    system: String(body.instructions ?? ""),
    turns: sentTurns(body.input as readonly InputItem[]),
    tools: ((body.tools ?? []) as readonly { readonly name: string }[]).map((tool) => tool.name),
    outputCap: body.max_output_tokens,
  }),
  carried: (body) => {
    const input = body.input as readonly InputItem[];
    return {
      reasoning: input.filter((item) => item.type === "reasoning"),
      calls: input.filter((item) => item.type === "function_call").map((item) => item.namespace),
    };
  },
  reasoningAsSent: reasoningItem,
};

function event(data: Readonly<Record<string, unknown>> & { readonly type: string }): string {
  return sse(data, data.type);
}

type Item = Readonly<Record<string, unknown>> & { readonly type: string };

function reasoningItem(reasoning: string): Item {
  return {
    id: "rs_1",
    type: "reasoning",
    summary: [{ type: "summary_text", text: reasoning }],
    encrypted_content: "gAAAA==",
    unheard_of: { kept: true },
  };
}

function itemsOf({ text = "", reasoning, calls = [], finish }: WireTurn): readonly Item[] {
  const part =
    finish === "refused"
      ? { type: "refusal", refusal: text }
      : { type: "output_text", text, annotations: [] };
  return [
    ...(reasoning === undefined ? [] : [reasoningItem(reasoning)]),
    ...(text === ""
      ? []
      : [{ id: "msg_1", type: "message", role: "assistant", status: "completed", content: [part] }]),
    ...calls.map((call, at) => callItem(call, at)),
  ];
}

function callItem({ id, name, args, extra }: WireCall, at: number): Item {
  const item = {
    id: `fc_${at}`,
    type: "function_call",
    call_id: id,
    name,
    arguments: args,
    status: "completed",
  };
  return extra === undefined ? item : { ...item, namespace: extra };
}

function itemEvents(item: Item, at: number): readonly string[] {
  const place = { output_index: at, item_id: item.id };
  const done = event({ type: "response.output_item.done", output_index: at, item });
  if (item.type === "reasoning") {
    const [summary] = item.summary as readonly { readonly text: string }[];
    const blank = { ...item, summary: [], encrypted_content: "" };
    return [
      event({ type: "response.output_item.added", output_index: at, item: blank }),
      ...pieces(summary?.text ?? "").map((delta) =>
        event({ type: "response.reasoning_summary_text.delta", ...place, summary_index: 0, delta }),
      ),
      done,
    ];
  }
  const [part] = item.content as readonly { readonly text?: string; readonly refusal?: string }[];
  const type = part?.refusal === undefined ? "response.output_text.delta" : "response.refusal.delta";
  const said = part?.text ?? part?.refusal ?? "";
  return [
    event({ type: "response.output_item.added", output_index: at, item: { ...item, content: [] } }),
    event({ type: "response.content_part.added", ...place, content_index: 0, part: { ...part, text: "" } }),
    ...pieces(said).map((delta) => event({ type, ...place, content_index: 0, delta })),
    event({ type: "response.output_text.done", ...place, content_index: 0, text: said }),
    done,
  ];
}

function callEvents(item: Item, at: number): readonly string[] {
  const place = { output_index: at, item_id: item.id };
  return [
    event({
      type: "response.output_item.added",
      output_index: at,
      item: { ...item, arguments: "", status: "in_progress" },
    }),
    ...pieces(String(item.arguments)).map((delta) =>
      event({ type: "response.function_call_arguments.delta", ...place, delta }),
    ),
    event({ type: "response.function_call_arguments.done", ...place, arguments: item.arguments }),
    event({ type: "response.output_item.done", output_index: at, item }),
  ];
}

function response({ finish = "complete", usage }: WireTurn, output: readonly Item[]): object {
  const reason = finish === "truncated" ? "max_output_tokens" : "content_filter";
  return {
    id: "resp_1",
    status: finish === "complete" ? "completed" : "incomplete",
    error: null,
    incomplete_details: finish === "complete" ? null : { reason },
    output,
    usage:
      usage === undefined
        ? null
        : {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: usage.cached },
            output_tokens: usage.output,
          },
  };
}

/** Text and calls of one reply are items side by side; they are one turn. */
function sentTurns(input: readonly InputItem[]): ReturnType<Wire["sent"]>["turns"] {
  const turns: { role: "user" | "assistant" | "tool"; text: string; calls?: [string, string, unknown][] }[] =
    [];
  for (const item of input) {
    if (item.type === "function_call_output") {
      turns.push({ role: "tool", text: item.output, ...{ callId: item.call_id } });
      continue;
    }
    if (item.type === "message" && item.role === "user") {
      turns.push({ role: "user", text: textOf(item) });
      continue;
    }
    const last = turns.at(-1);
    const reply = last?.role === "assistant" ? last : { role: "assistant" as const, text: "" };
    if (reply !== last) turns.push(reply);
    if (item.type === "message") reply.text += textOf(item);
    if (item.type === "function_call") {
      const calls: [string, string, unknown][] =
        "calls" in reply && reply.calls !== undefined ? reply.calls : [];
      calls.push([item.call_id, item.name, JSON.parse(item.arguments)]);
      Object.assign(reply, { calls });
    }
  }
  return turns;
}

function textOf({ content }: InputItem): string {
  return typeof content === "string" ? content : content.map((part) => part.text).join("");
}
