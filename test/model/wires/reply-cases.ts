/** Conformance: what every adapter makes of a good stream, whatever its form. */

import assert from "node:assert/strict";
import { ask, askReply, replyIn, textIn } from "#test/support/ask-model.ts";
import { startWireServer } from "#test/support/wire-server.ts";
import { CALL, type Cases, OK, ONE_TRY, play, replying, replyTo, saying } from "./play.ts";
import type { Wire, WireTurn } from "./wire.ts";

const TALK: WireTurn = { text: "The bug is in the 那 parser 🌍." };
const BOTH: WireTurn = { text: "Let me look.", calls: [CALL] };

function bytesOf(wire: Wire, turn: WireTurn): string {
  const { content, ending } = wire.events(turn);
  return [...content, ...ending].join("");
}

async function assertBoth(wire: Wire, ...parts: readonly (string | Uint8Array)[]): Promise<void> {
  const reply = replyIn((await play(wire, [saying(...parts)], ONE_TRY)).events);
  assert.equal(reply.content, "Let me look.");
  assert.deepEqual(
    reply.calls.map((call) => [call.id, call.name, call.arguments]),
    [[CALL.id, CALL.name, CALL.args]],
  );
}

const call = (id: string | null, args = "{}", name = "read_file") => ({ id, name, args });

export const REPLY_CASES: Cases = {
  "text is streamed in pieces, and the final event holds all of it": async (wire) => {
    const { events } = await play(wire, [replying(wire, TALK)]);
    assert.equal(replyIn(events).content, TALK.text);
    assert.equal(textIn(events), TALK.text);
    assert.ok(events.filter((event) => event.type === "text").length > 1);
    assert.deepEqual([replyIn(events).calls, replyIn(events).finish], [[], "complete"]);
  },
  "A30: byte by byte the reply is the same, split characters and all": async (wire) => {
    const bytes = [...Buffer.from(bytesOf(wire, BOTH))].map((byte) => Uint8Array.of(byte));
    await assertBoth(wire, ...bytes);
  },
  "A29: CRLF, bare CR and mixed line ends give the same reply": async (wire) => {
    const plain = bytesOf(wire, BOTH);
    for (const form of [
      plain.replaceAll("\n", "\r\n"),
      plain.replaceAll("\n", "\r"),
      plain.replaceAll("\n\n", "\n\r\n"),
    ]) {
      await assertBoth(wire, form);
    }
  },
  "A29: CR and LF in two reads are one line end": async (wire) => {
    const halves = bytesOf(wire, BOTH)
      .split("\n")
      .flatMap((line, at, all) => (at === all.length - 1 ? [line] : [`${line}\r`, "\n"]));
    await assertBoth(wire, ...halves.filter((part) => part !== ""));
  },
  "A09, A16: comments, pings and events that say nothing are skipped anywhere": async (wire) => {
    const noise = wire.noise.join("");
    const { content, ending } = wire.events(BOTH);
    await assertBoth(wire, noise + [...content, ...ending].map((event) => noise + event).join(""));
  },
  "the last event counts without its blank line": async (wire) => {
    await assertBoth(wire, bytesOf(wire, BOTH).trimEnd());
  },
  "a call has the id, name and arguments it was sent with": async (wire) => {
    const [got] = (await replyTo(wire, { calls: [CALL] })).calls;
    assert.deepEqual([got?.id, got?.name, got?.arguments], [CALL.id, CALL.name, CALL.args]);
    assert.equal(got?.malformed, undefined);
  },
  "calls of one reply come in the order asked": async (wire) => {
    const calls = ["a", "b", "c"].map((path) => call(`call_${path}`, JSON.stringify({ path })));
    const reply = await replyTo(wire, { text: "Three at once.", calls });
    assert.deepEqual(
      reply.calls.map((one) => [one.id, one.arguments]),
      calls.map((one) => [one.id, one.args]),
    );
    assert.equal(reply.content, "Three at once.");
  },
  "calls whose pieces alternate are kept apart": async (wire) => {
    const calls = ["first.ts", "second.ts"].map((path) => call(path, JSON.stringify({ path })));
    const reply = await replyTo(wire, { calls, interleaved: true });
    assert.deepEqual(
      reply.calls.map((one) => JSON.parse(one.arguments)),
      [{ path: "first.ts" }, { path: "second.ts" }],
    );
  },
  "A07: no arguments at all are an empty object": async (wire) => {
    for (const args of ["", " "]) {
      const [got] = (await replyTo(wire, { calls: [call("c", args)] })).calls;
      assert.deepEqual([got?.arguments, got?.malformed], ["{}", undefined]);
    }
  },
  "arguments that are no JSON object are marked, and what goes back is valid": async (wire) => {
    for (const args of ['{"path":', "[1]", "read it please"]) {
      const [got] = (await replyTo(wire, { calls: [call("c", args)] })).calls;
      assert.deepEqual([got?.arguments, got?.malformed], ["{}", args]);
    }
  },
  "A31: real line breaks inside strings of the arguments are repaired": async (wire) => {
    const [got] = (await replyTo(wire, { calls: [call("c", '{"path":"x\ny"}')] })).calls;
    assert.deepEqual(JSON.parse(got?.arguments ?? ""), { path: "x\ny" });
  },
  "A26: control tokens are cut from a tool's name": async (wire) => {
    const reply = await replyTo(wire, { calls: [call("c", "{}", "read_file<|channel|>commentary")] });
    assert.equal(reply.calls[0]?.name, "read_file");
  },
  "A27: an unknown tool's name is handed over in a form that can be sent back": async (wire) => {
    const reply = await replyTo(wire, { calls: [call("c", "{}", "generic command!")] });
    assert.match(reply.calls[0]?.name ?? "", /^[a-zA-Z0-9_-]{1,64}$/);
  },
  "A04: two calls with one id get two": async (wire) => {
    const calls = [call("call_x", '{"path":"a"}'), call("call_x", '{"path":"b"}')];
    const reply = await replyTo(wire, { calls });
    assert.equal(new Set(reply.calls.map((one) => one.id)).size, 2);
    assert.deepEqual(
      reply.calls.map((one) => one.arguments),
      calls.map((one) => one.args),
    );
  },
  "A04: an id that the transcript has already is replaced": async (wire) => {
    const messages = [
      { role: "user", content: "x" },
      { role: "assistant", content: "", calls: [{ id: CALL.id, name: "read_file", arguments: "{}" }] },
      { role: "tool", callId: CALL.id, name: "read_file", content: "x" },
    ] as const;
    assert.notEqual((await replyTo(wire, { calls: [CALL] }, { messages })).calls[0]?.id, CALL.id);
  },
  "A06, A22: missing and empty ids are minted, nine letters or digits long": async (wire) => {
    const reply = await replyTo(wire, { calls: [call(null), call("")] });
    const ids = reply.calls.map((one) => one.id);
    assert.equal(new Set(ids).size, 2);
    for (const id of ids) assert.match(id, /^(fc_\d|[a-zA-Z0-9]{9})$/);
  },
  "A10: calls count, whatever the stop reason says": async (wire) => {
    const reply = await replyTo(wire, { ...BOTH, stopsLikeText: true });
    assert.deepEqual([reply.calls.length, reply.finish], [1, "complete"]);
  },
  "A18: a reply cut off by the output cap is truncated, half a call and all": async (wire) => {
    const half = call("c", '{"path":"a.txt","content":"line1\\nli');
    const reply = await replyTo(wire, { text: "Writing.", calls: [half], finish: "truncated" });
    assert.equal(reply.finish, "truncated");
    for (const one of reply.calls) assert.equal(one.malformed, half.args);
  },
  "a refusal is told apart from an answer, and its words are kept": async (wire) => {
    const reply = await replyTo(wire, { text: "I will not do that.", finish: "refused" });
    assert.deepEqual([reply.finish, reply.content], ["refused", "I will not do that."]);
  },
  "A20: reasoning is streamed as such and is no part of the answer": async (wire) => {
    const { events } = await play(wire, [replying(wire, { ...TALK, reasoning: "Where to look first?" })]);
    const thought = events.map((event) => (event.type === "reasoning" ? event.text : "")).join("");
    assert.equal(thought, "Where to look first?");
    assert.deepEqual([textIn(events), replyIn(events).content], [TALK.text, TALK.text]);
  },
  "usage is read, the cached part apart": async (wire) => {
    const { usage } = await replyTo(wire, { ...OK, usage: { input: 1_200, cached: 1_000, output: 34 } });
    assert.deepEqual(usage, { inputTokens: 1_200, cachedTokens: 1_000, outputTokens: 34 });
  },
  "usage that is not reported is unknown, not zero": async (wire) => {
    const { usage } = await replyTo(wire, OK);
    assert.deepEqual(usage, { inputTokens: null, cachedTokens: null, outputTokens: null });
  },
  "a reply with neither text nor calls is an empty one, not a failure": async (wire) => {
    const reply = await replyTo(wire, {});
    assert.deepEqual([reply.content, reply.calls, reply.finish], ["", [], "complete"]);
  },
  "a server that answers with one document instead of a stream is understood": async (wire) => {
    const usage = { input: 12, cached: 10, output: 3 };
    await using server = await startWireServer((exchange) =>
      exchange.answer(200, wire.document({ ...BOTH, reasoning: "hm", usage })),
    );
    const events = await ask(wire.adapter(server.url, ONE_TRY));
    const reply = replyIn(events);
    assert.deepEqual([textIn(events), reply.content], ["Let me look.", "Let me look."]);
    assert.deepEqual(JSON.parse(reply.calls[0]?.arguments ?? ""), JSON.parse(CALL.args));
    assert.deepEqual(reply.usage, { inputTokens: 12, cachedTokens: 10, outputTokens: 3 });
  },
  "requests go to the API's own path": async (wire) => {
    await using server = await startWireServer(replying(wire, OK));
    await askReply(wire.adapter(server.url));
    assert.equal(server.exchanges[0]?.path, wire.path);
  },
};
