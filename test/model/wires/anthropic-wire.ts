/** Anthropic's Messages API in bytes. */

import { createAnthropicMessages } from "#src/model/anthropic-messages.ts";
import { createAnthropicAssembler } from "#src/model/anthropic-stream.ts";
import { providerOptions } from "../chat-adapter.ts";
import {
  type ErrorKind,
  pieces,
  type SentTurn,
  sse,
  type Wire,
  type WireTurn,
  WORDS,
  woven,
} from "./wire.ts";

const ERRORS: Readonly<Record<ErrorKind, readonly [number, string]>> = {
  overloaded: [529, "overloaded_error"],
  rate_limited: [429, "rate_limit_error"],
  quota: [402, "billing_error"],
  overflow: [413, "request_too_large"],
  overflow_in_words: [400, "invalid_request_error"],
  bad_request: [400, "invalid_request_error"],
  unauthorized: [401, "authentication_error"],
};

interface Block {
  readonly type: string;
  readonly text: string;
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly tool_use_id: string;
  readonly content: string;
  readonly caller?: unknown;
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: readonly Block[];
}

export const ANTHROPIC_WIRE: Wire = {
  name: "anthropic",
  path: "/v1/messages",
  adapter: (url, options) => createAnthropicMessages(providerOptions(url.replace(/\/v1$/, ""), options)),
  assemble: (options) => createAnthropicAssembler({ ...options, modelId: "test-model" }),
  events: (turn) => {
    const lists = blocksOf(turn).map((block, index) => blockEvents(block, index));
    const calls = turn.calls?.length ?? 0;
    return {
      content: [
        event({ type: "message_start", message: { ...message(turn), content: [], stop_reason: null } }),
        ...lists.slice(0, lists.length - calls).flat(),
        ...woven(lists.slice(lists.length - calls), turn.interleaved ?? false),
      ],
      ending: [
        event({ type: "message_delta", delta: { stop_reason: stopOf(turn) }, ...outputUsage(turn) }),
        event({ type: "message_stop" }),
      ],
    };
  },
  document: (turn) => ({
    ...message(turn),
    content: blocksOf(turn).map(({ args, ...block }) =>
      args === undefined ? block : { ...block, input: args === "" ? {} : JSON.parse(args) },
    ),
  }),
  noise: [": keep-alive\n\n", ":\n\n", event({ type: "ping" }), event({ type: "something_new", index: 0 })],
  error: (kind) => {
    const [status, type] = ERRORS[kind];
    return { status, body: { type: "error", error: { type, message: WORDS[kind] }, request_id: "req_1" } };
  },
  errorEvent: (kind) =>
    event({ type: "error", error: { type: ERRORS[kind][1], message: WORDS[kind] }, request_id: "req_1" }),
  sent: (body) => ({
    system: ((body.system ?? []) as readonly Block[]).map((block) => block.text).join(""),
    turns: (body.messages as readonly Turn[]).flatMap(sentTurns),
    tools: ((body.tools ?? []) as readonly Block[]).map((tool) => tool.name),
    outputCap: body.max_tokens,
  }),
  carried: (body) => {
    const blocks = (body.messages as readonly Turn[])
      .filter((turn) => turn.role === "assistant")
      .flatMap((turn) => turn.content);
    return {
      reasoning: blocks.filter((block) => block.type.endsWith("thinking")),
      calls: blocks.filter((block) => block.type === "tool_use").map((block) => block.caller),
    };
  },
  reasoningAsSent: (thinking) => ({ type: "thinking", thinking, signature: "c2lnbmF0dXJl", unheard_of: 1 }),
};

function event(data: Readonly<Record<string, unknown>> & { readonly type: string }): string {
  return sse(data, data.type);
}

type Planned = Readonly<Record<string, unknown>> & { readonly type: string; readonly args?: string };

function blocksOf({ text = "", reasoning, calls = [] }: WireTurn): readonly Planned[] {
  return [
    ...(reasoning === undefined
      ? []
      : [{ type: "thinking", thinking: reasoning, signature: "c2lnbmF0dXJl", unheard_of: 1 }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, name, args, extra }) => ({
      type: "tool_use",
      id,
      name,
      args,
      ...(extra === undefined ? {} : { caller: extra }),
    })),
  ];
}

function blockEvents({ args, ...block }: Planned, index: number): readonly string[] {
  const delta = (fields: object) => event({ type: "content_block_delta", index, delta: fields });
  const start = (fields: object) =>
    event({ type: "content_block_start", index, content_block: { ...block, ...fields } });
  const stop = event({ type: "content_block_stop", index });
  if (block.type === "text") {
    const said = pieces(String(block.text)).map((text) => delta({ type: "text_delta", text }));
    return [start({ text: "" }), ...said, stop];
  }
  if (block.type === "thinking") {
    return [
      start({ thinking: "", signature: "" }),
      ...pieces(String(block.thinking)).map((thinking) => delta({ type: "thinking_delta", thinking })),
      delta({ type: "signature_delta", signature: block.signature }),
      stop,
    ];
  }
  const input = ["", ...pieces(args ?? "")].map((partial_json) =>
    delta({ type: "input_json_delta", partial_json }),
  );
  return [start({ input: {} }), ...input, stop];
}

function stopOf({ calls = [], finish = "complete", stopsLikeText = false }: WireTurn): string {
  if (finish === "truncated") return "max_tokens";
  if (finish === "refused") return "refusal";
  return calls.length > 0 && !stopsLikeText ? "tool_use" : "end_turn";
}

/** Input is reported in three parts that add up. */
function message(turn: WireTurn): Readonly<Record<string, unknown>> {
  const { usage } = turn;
  const written = 1;
  return {
    type: "message",
    id: "msg_1",
    role: "assistant",
    model: "test-model",
    stop_reason: stopOf(turn),
    ...(usage === undefined
      ? {}
      : {
          usage: {
            input_tokens: usage.input - usage.cached - written,
            cache_read_input_tokens: usage.cached,
            cache_creation_input_tokens: written,
            output_tokens: usage.output,
          },
        }),
  };
}

function outputUsage({ usage }: WireTurn): object {
  return usage === undefined ? {} : { usage: { output_tokens: usage.output } };
}

/** A user turn holds results and texts; each is a turn of its own in the terms of no API. */
function sentTurns({ role, content }: Turn): readonly SentTurn[] {
  if (role === "user")
    return content.map((block) =>
      block.type === "tool_result"
        ? { role: "tool", text: block.content, callId: block.tool_use_id }
        : { role: "user", text: block.text },
    );
  const calls = content.filter((block) => block.type === "tool_use");
  return [
    {
      role,
      text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
      ...(calls.length === 0
        ? {}
        : { calls: calls.map(({ id, name, input }) => [id, name, input] as const) }),
    },
  ];
}
