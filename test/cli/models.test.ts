import assert from "node:assert/strict";
import { test } from "node:test";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import { createModels } from "#src/cli/models.ts";
import type { ModelConfig } from "#src/config/config.ts";
import { fencedCall } from "#src/model/fenced-calls.ts";
import { impatientClock } from "#test/model/chat-adapter.ts";
import { ANTHROPIC_WIRE } from "#test/model/wires/anthropic-wire.ts";
import { CHAT_WIRE } from "#test/model/wires/chat-wire.ts";
import { replying } from "#test/model/wires/play.ts";
import { RESPONSES_WIRE } from "#test/model/wires/responses-wire.ts";
import type { Wire, WireTurn } from "#test/model/wires/wire.ts";
import { askReply } from "#test/support/ask-model.ts";
import { startWireServer } from "#test/support/wire-server.ts";

const PARTS = { clock: impatientClock(), ids: systemIds, redactor: createRedactor(), log: silentLog };
const WIRES: Readonly<Record<ModelConfig["api"], Wire>> = {
  chat: CHAT_WIRE,
  responses: RESPONSES_WIRE,
  anthropic: ANTHROPIC_WIRE,
};

/** What one request to a model of this configuration looks like, and what comes of this turn. */
async function asked(api: ModelConfig["api"], toolProtocol: ModelConfig["toolProtocol"], turn: WireTurn) {
  await using server = await startWireServer(replying(WIRES[api], turn));
  const baseUrl = api === "anthropic" ? new URL(server.url).origin : server.url;
  const config = {
    api,
    toolProtocol,
    baseUrl,
    apiKey: null,
    id: "m",
    allowed: ["m"],
    contextTokens: 32_000,
    idleTimeoutMs: 60_000,
    prices: {},
  };
  const reply = await askReply(createModels(config, PARTS)("m"));
  const [exchange] = server.exchanges;
  return { reply, path: exchange?.path, body: exchange?.body };
}

for (const api of ["chat", "responses", "anthropic"] as const) {
  test(`MODEL_API=${api} speaks that protocol, with native calls or with calls in text`, async () => {
    const native = await asked(api, "native", { calls: [{ id: "c1", name: "read_file", args: "{}" }] });
    assert.deepEqual([native.path, native.body?.model], [WIRES[api].path, "m"]);
    assert.equal(native.reply.calls[0]?.name, "read_file");
    assert.ok("tools" in (native.body ?? {}));

    const inText = await asked(api, "text", { text: fencedCall("read_file", "{}") });
    assert.equal(inText.reply.calls[0]?.name, "read_file");
    assert.equal("tools" in (inText.body ?? {}), false);
  });
}

test("a model is made once, so that what it learns of its server lasts", () => {
  const config: ModelConfig = {
    api: "chat",
    toolProtocol: "native",
    baseUrl: "http://127.0.0.1:1/v1",
    apiKey: null,
    id: "m",
    allowed: ["m", "n"],
    contextTokens: 32_000,
    idleTimeoutMs: 60_000,
    prices: {},
  };
  const models = createModels(config, PARTS);
  assert.equal(models("m"), models("m"));
  assert.deepEqual([models("m").id, models("n").id], ["m", "n"]);
});
