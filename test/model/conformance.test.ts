/** Runs the conformance suite on every adapter of the Model port. */

import { type ModelServer, startModelServer } from "#src/demo/model-server.ts";
import { settleArguments } from "#src/model/call-arguments.ts";
import { createReplay } from "#src/model/replay.ts";
import { createScripted, type ScriptedTurn } from "#src/model/scripted.ts";
import { callDelta, delta, startWireServer, type WireExchange } from "#test/support/wire-server.ts";
import { chatAdapter } from "./chat-adapter.ts";
import { modelConformance } from "./conformance.ts";

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

modelConformance({
  name: "openai-chat over bytes",
  play: async (turns) => {
    const server = await startWireServer(
      ...turns.map((turn) => (exchange: WireExchange) => write(exchange, turn)),
    );
    const close = async () => server[Symbol.asyncDispose]();
    return { model: chatAdapter(server.url, { retry: ONE_TRY }), close };
  },
});

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

/** Small pieces, every index 0, ids only once: the least helpful way that is still readable. */
async function write(exchange: WireExchange, turn: ScriptedTurn): Promise<void> {
  const { text = "", calls = [], finish = "complete", failure, hang } = turn;
  if (failure !== undefined)
    return exchange.answer(failure.status ?? 500, { error: { message: failure.message } });
  exchange.open();
  await exchange.events(...[...text].map((content) => delta({ content })));
  for (const [at, { id = `call_${at}`, name, args }] of calls.entries()) {
    await exchange.events(callDelta({ index: 0, id, function: { name, arguments: "" } }));
    const written = typeof args === "string" ? args : JSON.stringify(args);
    for (const piece of written)
      await exchange.events(callDelta({ index: 0, function: { arguments: piece } }));
  }
  if (hang === true) return;
  await exchange.events(delta({}, FINISH[finish] ?? "stop"));
  exchange.end("data: [DONE]\n\n");
}
