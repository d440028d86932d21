/** Runs the conformance suite on every adapter of the Model port. */

import { type ModelServer, startModelServer } from "#src/demo/model-server.ts";
import { settleArguments } from "#src/model/call-arguments.ts";
import { fencedCall } from "#src/model/fenced-calls.ts";
import { createReplay } from "#src/model/replay.ts";
import { createScripted, type ScriptedCall, type ScriptedTurn } from "#src/model/scripted.ts";
import { createTextProtocol } from "#src/model/text-protocol.ts";
import { startWireServer, type WireHandler } from "#test/support/wire-server.ts";
import { chatAdapter, countingIds } from "./chat-adapter.ts";
import { modelConformance } from "./conformance.ts";
import { ANTHROPIC_WIRE } from "./wires/anthropic-wire.ts";
import { CHAT_WIRE } from "./wires/chat-wire.ts";
import { RESPONSES_WIRE } from "./wires/responses-wire.ts";
import type { Wire, WireCall } from "./wires/wire.ts";

const ONE_TRY = { tries: 1, firstDelayMs: 1, maxDelayMs: 1 };
const FINISH = { complete: undefined, truncated: "length", refused: "content_filter" } as const;

modelConformance({
  name: "scripted",
  play: async (turns) => ({ model: createScripted(turns), close: async () => undefined }),
});

modelConformance({
  name: "replay",
  play: async (turns) => ({ model: createReplay(turns.map(recorded)), close: async () => undefined }),
  exempt: {
    "ids of the transcript are not used again":
      "a recording keeps its ids: they answer to its own transcript",
    "a failure is an event with its code": "only replies are recorded for playing",
  },
});

modelConformance({
  name: "openai-chat over the demo's model server",
  play: async (turns) => {
    let turn = 0;
    const server: ModelServer = await startModelServer({ script: () => served(turns[turn++] ?? {}) });
    return { model: chatAdapter(server.url, { retry: ONE_TRY }), close: () => server.close() };
  },
});

for (const wire of [CHAT_WIRE, RESPONSES_WIRE, ANTHROPIC_WIRE]) {
  modelConformance({
    name: `${wire.name} over bytes`,
    play: async (turns) => {
      const server = await startWireServer(...turns.map((turn) => writing(wire, turn)));
      const close = async () => server[Symbol.asyncDispose]();
      return { model: wire.adapter(server.url, { retry: ONE_TRY }), close };
    },
  });
  modelConformance({
    name: `tools in text over ${wire.name}`,
    play: async (turns) => {
      const server = await startWireServer(...turns.map((turn) => writing(wire, inText(turn))));
      const close = async () => server[Symbol.asyncDispose]();
      const native = wire.adapter(server.url, { retry: ONE_TRY });
      return { model: createTextProtocol(native, countingIds()), close };
    },
    exempt: {
      "arguments that are no JSON object are marked and can be sent back":
        "the block as a whole is broken then, which test/model/text-protocol.test.ts shows",
    },
  });
}

function recorded(turn: ScriptedTurn) {
  const calls = (turn.calls ?? []).map(({ name, args }, at) => ({
    id: `recorded${at}`,
    name,
    ...settleArguments(typeof args === "string" ? args : JSON.stringify(args)),
  }));
  const usage = { inputTokens: null, cachedTokens: null, outputTokens: null };
  return { reply: { content: turn.text ?? "", calls, finish: turn.finish ?? "complete", usage } };
}

function served({ text, calls, finish = "complete", failure, hang }: ScriptedTurn) {
  return {
    ...(text === undefined ? {} : { text }),
    ...(calls === undefined ? {} : { calls }),
    ...(FINISH[finish] === undefined ? {} : { finish: FINISH[finish] }),
    ...(failure === undefined ? {} : { status: failure.status ?? 500, error: { message: failure.message } }),
    ...(hang === undefined ? {} : { hang }),
  };
}

/** The turn's events one by one; a failure as the provider words it. */
function writing(wire: Wire, turn: ScriptedTurn): WireHandler {
  const { text = "", calls = [], finish = "complete", failure, hang } = turn;
  if (failure !== undefined)
    return (exchange) => exchange.answer(failure.status ?? 500, { error: { message: failure.message } });
  const { content, ending } = wire.events({ text, calls: calls.map(wireCall), finish });
  return async (exchange) => {
    exchange.open();
    for (const event of hang === true ? content : [...content, ...ending]) await exchange.write(event);
    if (hang !== true) exchange.end();
  };
}

function wireCall({ id, name, args }: ScriptedCall, at: number): WireCall {
  return { id: id ?? `call_${at}`, name, args: typeof args === "string" ? args : JSON.stringify(args) };
}

/** The calls as a model without native ones writes them. */
function inText({ text = "", calls = [], ...turn }: ScriptedTurn): ScriptedTurn {
  const blocks = calls.map((call, at) => fencedCall(call.name, wireCall(call, at).args));
  return { ...turn, text: [text, ...blocks].filter((part) => part !== "").join("\n\n") };
}
