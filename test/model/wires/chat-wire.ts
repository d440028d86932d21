/** Chat completions in bytes. */

import { createAssembler } from "#src/model/assemble.ts";
import { callDelta, delta } from "#test/support/wire-server.ts";
import { chatAdapter } from "../chat-adapter.ts";
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

const FINISH = { complete: "stop", truncated: "length", refused: "content_filter" } as const;

const ERRORS: Readonly<Record<ErrorKind, readonly [number, object]>> = {
  overloaded: [503, { type: "server_error", code: null }],
  rate_limited: [429, { type: "requests", code: "rate_limit_exceeded" }],
  quota: [429, { type: "insufficient_quota", code: "insufficient_quota" }],
  overflow: [400, { type: "invalid_request_error", code: "context_length_exceeded" }],
  overflow_in_words: [400, { type: "invalid_request_error", code: null }],
  bad_request: [400, { type: "invalid_request_error", code: null }],
  unauthorized: [401, { type: "invalid_request_error", code: "invalid_api_key" }],
};

interface Message {
  readonly role: string;
  readonly content: string | null;
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
    readonly extra_content?: unknown;
  }[];
}

export const CHAT_WIRE: Wire = {
  name: "chat",
  path: "/v1/chat/completions",
  adapter: chatAdapter,
  assemble: createAssembler,
  events: (turn) => {
    const { text = "", reasoning = "", calls = [], interleaved = false, usage } = turn;
    return {
      content: [
        ...pieces(reasoning).map((piece) => sse(delta({ reasoning_content: piece }))),
        ...pieces(text).map((content) => sse(delta({ content }))),
        ...woven(calls.map(callEvents), interleaved),
      ],
      ending: [
        sse(delta({}, finishOf(turn))),
        ...(usage === undefined ? [] : [sse({ choices: [], usage: wireUsage(usage) })]),
        "data: [DONE]\n\n",
      ],
    };
  },
  document: (turn) => ({
    choices: [{ index: 0, message: message(turn), finish_reason: finishOf(turn) }],
    ...(turn.usage === undefined ? {} : { usage: wireUsage(turn.usage) }),
  }),
  noise: [
    ": OPENROUTER PROCESSING\n\n",
    ":\n\n",
    "data: : ping\n\n",
    sse({ choices: [], prompt_filter_results: [{}] }),
    sse({ choices: null }),
  ],
  error: (kind) => {
    const [status, fields] = ERRORS[kind];
    return { status, body: { error: { message: WORDS[kind], ...fields } } };
  },
  errorEvent: (kind) => {
    const [code, fields] = ERRORS[kind];
    return sse({ choices: [], error: { message: WORDS[kind], status: code, ...fields } });
  },
  sent: (body) => {
    const messages = body.messages as readonly Message[];
    const system = messages[0]?.role === "system" ? messages[0].content : null;
    return {
      system: system ?? "",
      turns: messages.slice(system === null ? 0 : 1).map(({ role, content, tool_calls, tool_call_id }) => ({
        role: role as "user" | "assistant" | "tool",
        text: content ?? "",
        ...(tool_call_id === undefined ? {} : { callId: tool_call_id }),
        ...(tool_calls === undefined
          ? {}
          : {
              calls: tool_calls.map(
                ({ id, function: { name, arguments: args } }) => [id, name, JSON.parse(args)] as const,
              ),
            }),
      })),
      tools: ((body.tools ?? []) as readonly { readonly function: { readonly name: string } }[]).map(
        (tool) => tool.function.name,
      ),
      outputCap: body.max_tokens,
    };
  },
  carried: (body) => {
    const replies = (body.messages as readonly Message[]).filter((one) => one.role === "assistant");
    return {
      reasoning: replies.flatMap((one) => one.reasoning_content ?? []),
      calls: replies.flatMap((one) => one.tool_calls ?? []).map((call) => call.extra_content),
    };
  },
  reasoningAsSent: (reasoning) => reasoning,
};

function finishOf({ calls = [], finish = "complete", stopsLikeText = false }: WireTurn): string {
  return calls.length > 0 && finish === "complete" && !stopsLikeText ? "tool_calls" : FINISH[finish];
}

function wireUsage({ input, cached, output }: NonNullable<WireTurn["usage"]>): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

function callEvents({ id, name, args, extra }: WireCall, index: number): readonly string[] {
  const head = { index, id, type: "function", function: { name, arguments: "" } };
  return [
    sse(callDelta({ ...head, ...(extra === undefined ? {} : { extra_content: extra }) })),
    ...pieces(args).map((piece) => sse(callDelta({ index, function: { arguments: piece } }))),
  ];
}

function message({ text = "", reasoning, calls = [] }: WireTurn): object {
  return {
    role: "assistant",
    content: text,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, args }) => ({
            id,
            type: "function",
            function: { name, arguments: args },
          })),
        }),
  };
}
