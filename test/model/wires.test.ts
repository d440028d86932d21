/** Runs the wire conformance suite on every adapter that speaks to a provider. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createSseDecoder } from "#src/model/sse.ts";
import { FULL, SEED } from "#test/support/tier.ts";
import { countingIds } from "./chat-adapter.ts";
import { ANTHROPIC_WIRE } from "./wires/anthropic-wire.ts";
import { CHAT_WIRE } from "./wires/chat-wire.ts";
import { ENDING_CASES } from "./wires/ending-cases.ts";
import { REFUSAL_CASES } from "./wires/refusal-cases.ts";
import { REPLY_CASES } from "./wires/reply-cases.ts";
import { REQUEST_CASES } from "./wires/request-cases.ts";
import { RESPONSES_WIRE } from "./wires/responses-wire.ts";
import type { Wire, WireTurn } from "./wires/wire.ts";

const WIRES = [CHAT_WIRE, RESPONSES_WIRE, ANTHROPIC_WIRE];
const CASES = { ...REPLY_CASES, ...ENDING_CASES, ...REFUSAL_CASES, ...REQUEST_CASES };
const RUNS = { numRuns: FULL ? 10_000 : 150, seed: SEED };

const text = fc
  .array(fc.constantFrom("a", "data: ", ":", "\n", "\r", "\\", '"', "{", "}", "é", "那", "🌍", " "), {
    maxLength: 20,
  })
  .map((parts) => parts.join(""));

const planned: fc.Arbitrary<WireTurn> = fc.record({
  text,
  reasoning: text,
  interleaved: fc.boolean(),
  calls: fc
    .array(fc.dictionary(fc.constantFrom("path", "content"), text), { maxLength: 3 })
    .map((list) => list.map((args, at) => ({ id: `c${at}`, name: "read_file", args: JSON.stringify(args) }))),
});

const offsets = fc.array(fc.nat({ max: 100_000 }), { maxLength: 20 });

/** The bytes cut at these offsets (taken modulo the length), decoded and folded. */
function fold(wire: Wire, bytes: Uint8Array, places: readonly number[]) {
  const decoder = createSseDecoder();
  const assembler = wire.assemble({
    ids: countingIds(),
    usedCallIds: new Set(),
    toolNames: new Set(["read_file"]),
  });
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  const parts = [0, ...cuts].map((from, at) => bytes.subarray(from, cuts[at] ?? bytes.length));
  const events = [...parts.flatMap((part) => decoder.push(part)), ...decoder.end()];
  let said = "";
  for (const { data } of events) if (data !== "[DONE]") said += assembler.add(JSON.parse(data)).text;
  return { end: assembler.end(events.at(-1)?.data === "[DONE]"), said };
}

for (const wire of WIRES) {
  describe(`on the wire of ${wire.name}`, () => {
    for (const [name, run] of Object.entries(CASES)) test(name, { timeout: 30_000 }, () => run(wire));

    test("A29, A30: wherever its bytes are cut, the reply is the one that was meant", () => {
      fc.assert(
        fc.property(planned, offsets, (turn, places) => {
          const { content, ending } = wire.events(turn);
          const bytes = new TextEncoder().encode([...content, ...ending].join(""));
          const { end, said } = fold(wire, bytes, places);
          assert.ok(end.ok);
          assert.deepEqual([end.value.content, said], [turn.text, turn.text]);
          assert.deepEqual(
            end.value.calls.map((call) => [call.id, call.arguments]),
            turn.calls?.map((call) => [call.id, call.args]),
          );
        }),
        RUNS,
      );
    });

    test("A14: a stream without its ending is never a reply, wherever it stops", () => {
      fc.assert(
        fc.property(planned, fc.nat({ max: 1_000 }), (turn, stop) => {
          const { content } = wire.events(turn);
          const bytes = new TextEncoder().encode(content.slice(0, stop % (content.length + 1)).join(""));
          assert.equal(fold(wire, bytes, []).end.ok, false);
        }),
        RUNS,
      );
    });
  });
}
