/** Conformance: what every adapter sends, and that what a provider said goes back to it unchanged. */

import assert from "node:assert/strict";
import type { Message, ModelRequest, Reply } from "#src/model/model.ts";
import { askReply, modelRequest, READ_FILE } from "#test/support/ask-model.ts";
import { startWireServer } from "#test/support/wire-server.ts";
import { CALL, type Cases, OK, replying } from "./play.ts";
import type { Wire, WireRequest, WireTurn } from "./wire.ts";

const ARGS = { path: "a.ts" };
const call = (id: string) => ({ id, name: "read_file", arguments: JSON.stringify(ARGS) });
const result = (callId: string, content: string): Message => ({
  role: "tool",
  callId,
  name: "read_file",
  content,
});

const TRANSCRIPT: readonly Message[] = [
  { role: "system", content: "You fix bugs." },
  { role: "user", content: "Fix it." },
  { role: "assistant", content: "Looking.", calls: [call("c1"), call("c2")] },
  result("c1", "one"),
  result("c2", "two"),
  { role: "assistant", content: "", calls: [call("c3")] },
  result("c3", "three"),
];

const SENT = [
  { role: "user", text: "Fix it." },
  {
    role: "assistant",
    text: "Looking.",
    calls: [
      ["c1", "read_file", ARGS],
      ["c2", "read_file", ARGS],
    ],
  },
  { role: "tool", text: "one", callId: "c1" },
  { role: "tool", text: "two", callId: "c2" },
  { role: "assistant", text: "", calls: [["c3", "read_file", ARGS]] },
  { role: "tool", text: "three", callId: "c3" },
];

/** The body of one request. */
async function bodyOf(wire: Wire, fields: Partial<ModelRequest>): Promise<WireRequest> {
  await using server = await startWireServer(replying(wire, OK));
  await askReply(wire.adapter(server.url), fields);
  return server.bodies()[0] ?? {};
}

/** The body of the request after a reply, whose transcript was written to disk and read again in between. */
async function bodyAfter(wire: Wire, turn: WireTurn): Promise<{ body: WireRequest; reply: Reply }> {
  await using server = await startWireServer(replying(wire, turn), replying(wire, OK));
  const model = wire.adapter(server.url);
  const reply = await askReply(model);
  const { content, calls, extra } = reply;
  const messages: readonly Message[] = [
    ...modelRequest().messages,
    { role: "assistant", content, calls, ...(extra === undefined ? {} : { extra }) },
    ...calls.map((one) => result(one.id, "done")),
    { role: "user", content: "Go on." },
  ];
  await askReply(model, { messages: JSON.parse(JSON.stringify(messages)) as Message[] });
  return { body: server.bodies()[1] ?? {}, reply };
}

export const REQUEST_CASES: Cases = {
  "a transcript arrives whole: prompt, texts, calls, and each result directly after its reply": async (
    wire,
  ) => {
    const sent = wire.sent(await bodyOf(wire, { messages: TRANSCRIPT }));
    assert.equal(sent.system, "You fix bugs.");
    assert.deepEqual(sent.turns, SENT);
  },
  "a notice right after results comes after them": async (wire) => {
    const messages: readonly Message[] = [...TRANSCRIPT, { role: "user", content: "Time to wrap up." }];
    const sent = wire.sent(await bodyOf(wire, { messages }));
    assert.deepEqual(sent.turns, [...SENT, { role: "user", text: "Time to wrap up." }]);
  },
  "a transcript without a system message is sent without one": async (wire) => {
    const sent = wire.sent(await bodyOf(wire, { messages: TRANSCRIPT.slice(0, 2) }));
    assert.equal(sent.system, "You fix bugs.");
    const bare = await bodyOf(wire, { messages: [{ role: "user", content: "x" }] });
    assert.equal(JSON.stringify(bare).includes("system"), false);
  },
  "tools and the output cap are sent; without tools there is no list of them": async (wire) => {
    const sent = wire.sent(await bodyOf(wire, { tools: [READ_FILE], maxOutputTokens: 777 }));
    assert.deepEqual([sent.tools, sent.outputCap], [["read_file"], 777]);
    assert.equal("tools" in (await bodyOf(wire, { tools: [] })), false);
  },
  "the same request is the same bytes, and a growing transcript grows at its end": async (wire) => {
    const turns = async (count: number) =>
      JSON.stringify(wire.sent(await bodyOf(wire, { messages: TRANSCRIPT.slice(0, count) })).turns);
    assert.equal(
      JSON.stringify(await bodyOf(wire, { messages: TRANSCRIPT })),
      JSON.stringify(await bodyOf(wire, { messages: TRANSCRIPT })),
    );
    const [two, five, seven] = [await turns(2), await turns(5), await turns(7)];
    assert.ok(five.startsWith(two.slice(0, -1)) && seven.startsWith(five.slice(0, -1)));
  },
  "a tool without output is said so, since some servers refuse nothing": async (wire) => {
    const messages = [...TRANSCRIPT.slice(0, 4), result("c2", "")];
    assert.equal(wire.sent(await bodyOf(wire, { messages })).turns.at(-1)?.text, "(no output)");
  },
  "half of a surrogate pair does not make the body invalid": async (wire) => {
    const messages: readonly Message[] = [
      ...TRANSCRIPT.slice(0, 1),
      { role: "user", content: "half: \ud83d" },
      { role: "assistant", content: "half: \udc00", calls: [call("c1")] },
      result("c1", "half: \ud83d"),
    ];
    for (const turn of wire.sent(await bodyOf(wire, { messages })).turns)
      assert.equal(turn.text, "half: \ufffd");
  },
  "A20: reasoning with calls goes back to the provider exactly as it came": async (wire) => {
    const { body } = await bodyAfter(wire, { reasoning: "Where to look?", text: "Looking.", calls: [CALL] });
    assert.deepEqual(wire.carried(body).reasoning, [wire.reasoningAsSent("Where to look?")]);
    const reply = wire.sent(body).turns.find((turn) => turn.role === "assistant");
    assert.deepEqual(reply, {
      role: "assistant",
      text: "Looking.",
      calls: [[CALL.id, CALL.name, JSON.parse(CALL.args)]],
    });
  },
  "A20: reasoning before a call without text, and before text alone, goes back too": async (wire) => {
    for (const turn of [{ calls: [CALL] }, { text: "Done." }]) {
      const { body } = await bodyAfter(wire, { reasoning: "hm", ...turn });
      assert.deepEqual(wire.carried(body).reasoning, [wire.reasoningAsSent("hm")]);
    }
  },
  "unknown fields of a call go back as they came": async (wire) => {
    const signed = { ...CALL, extra: { signature: "s", nested: [1] } };
    const { body } = await bodyAfter(wire, { calls: [signed] });
    assert.deepEqual(wire.carried(body).calls, [signed.extra]);
  },
  "a call whose id and arguments were put in order goes back in order, with its result": async (wire) => {
    const broken = { id: CALL.id, name: "read_file", args: '{"path":' };
    const { body, reply } = await bodyAfter(wire, { reasoning: "hm", calls: [CALL, broken] });
    const second = reply.calls[1]?.id ?? "";
    const turns = wire.sent(body).turns;
    assert.deepEqual(turns[1]?.calls?.[1], [second, "read_file", {}]);
    assert.deepEqual(
      turns.slice(2, 4).map((turn) => turn.callId),
      [CALL.id, second],
    );
  },
  "what another API kept of a reply is not sent": async (wire) => {
    const foreign = {
      ...(wire.name === "responses" ? {} : { responses_parts: { model: "test-model", parts: [] } }),
      ...(wire.name === "anthropic" ? {} : { anthropic_parts: { model: "test-model", parts: [] } }),
    };
    const messages: readonly Message[] = [
      { role: "user", content: "x" },
      { role: "assistant", content: "y", calls: [], extra: foreign },
      { role: "user", content: "z" },
    ];
    const body = await bodyOf(wire, { messages });
    assert.equal(JSON.stringify(body).includes("_parts"), false);
    assert.deepEqual(
      wire.sent(body).turns.map((turn) => turn.text),
      ["x", "y", "z"],
    );
  },
};
