/** What the loop reports becomes trace lines and live numbers: of sub-agents and notes the money, but not the turns. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createAgentObserver } from "#src/fix/agent-observer.ts";
import type { TraceFacts } from "#src/gate/plan-comment.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import type { TracePlace } from "#src/trace/trace.ts";
import { reply } from "#test/support/canned-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";

function observed() {
  const lines: { type: string; data: object; place: TracePlace }[] = [];
  let facts = null as TraceFacts | null;
  const observe = createAgentObserver(
    {
      trace: {
        path: "",
        close: () => undefined,
        emit: (type, data, place = {}) => void lines.push({ type, data, place }),
      },
      progress: {
        setTrace: (next) => {
          facts = next;
        },
      },
      ports: { clock: createManualClock() },
    },
    null,
  );
  return { observe, lines, facts: () => facts };
}

function replyOf(turn: number, purpose: "turn" | "note"): HarnessEvent {
  const usage = { inputTokens: 1_000, cachedTokens: 100, outputTokens: 10 };
  return {
    type: "reply",
    turn,
    purpose,
    reply: { ...reply("x"), usage },
    costUsd: 0.5,
    estimated: false,
    ms: 3,
  };
}

test("a sub-agent's events stand under the turn and the call of its run, and its money counts", () => {
  const { observe, lines, facts } = observed();
  observe(replyOf(4, "turn"));
  observe({ type: "nested", turn: 4, callId: "call00009", event: replyOf(1, "turn") });
  observe({
    type: "nested",
    turn: 4,
    callId: "call00009",
    event: { type: "result", turn: 1, id: "r", name: "search", status: "ok", text: "t", wrote: [], ms: 1 },
  });
  assert.deepEqual(
    lines.map(({ type, place }) => [type, place.turn, place.parent]),
    [
      ["model_reply", 4, undefined],
      ["model_reply", 4, "call00009"],
      ["tool_result", 4, "call00009"],
    ],
  );
  const { turns, inputTokens, costUsd, toolCalls } = facts() ?? assert.fail();
  assert.deepEqual([turns, inputTokens, costUsd, toolCalls], [4, 2_000, 1, {}]);
});

test("a hand-over note is marked, costs, and is no turn; what was cleared is a line of its own", () => {
  const { observe, lines, facts } = observed();
  observe(replyOf(30, "turn"));
  observe(replyOf(30, "note"));
  observe({
    type: "compacted",
    turn: 30,
    reason: "trigger",
    messages: { before: 62, after: 23 },
    tokens: { before: 105_000, after: 37_000 },
    keptTurns: 10,
    noteBy: "model",
    note: "the note",
  });
  observe({ type: "stubbed", turn: 31, results: 12, tokens: { before: 60_000, after: 20_000 } });
  assert.deepEqual(lines[1]?.data, { ...lines[0]?.data, purpose: "note" });
  assert.deepEqual(lines[2]?.data, {
    action: "compacted",
    tokensBefore: 105_000,
    tokensAfter: 37_000,
    reason: "trigger",
    messagesBefore: 62,
    messagesAfter: 23,
    keptTurns: 10,
    noteBy: "model",
    note: "the note",
  });
  assert.deepEqual(lines[3]?.data, {
    action: "stubbed",
    tokensBefore: 60_000,
    tokensAfter: 20_000,
    results: 12,
  });
  assert.equal(facts()?.turns, 30);
  assert.equal(facts()?.costUsd, 1);
});
