/** A turn is stored while the next request is on its way, and in any case before anything follows from its reply. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentState } from "#src/harness/agent.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import { checkTranscript } from "#src/harness/transcript.ts";
import { call, reply, type Step } from "#test/support/canned-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { playAgent, recordingTools, type ToolLog } from "./fixture.ts";

const TWO_WRITES = [
  reply("", call("write", { value: "a" })),
  reply("", call("write", { value: "b" })),
  reply("Done."),
];

/** Enough turns of the event loop for everything that waits for nothing outside to happen. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A model that answers nothing until it is told to. */
function slow(step: Extract<Step, { content: string }>) {
  const { promise: asked, resolve: wasAsked } = Promise.withResolvers<AbortSignal>();
  const { promise: told, resolve: answer } = Promise.withResolvers<void>();
  const play: Step = async function* ({ signal }) {
    wasAsked(signal);
    await told;
    yield { type: "done" as const, reply: step };
  };
  return { play, asked, answer };
}

test("what a reply asks for is done only once the turn before it is stored", async () => {
  const log: ToolLog = { lines: [] };
  const { promise: stored, resolve: store } = Promise.withResolvers<void>();
  const states: AgentState[] = [];
  const playing = playAgent(TWO_WRITES, {
    tools: recordingTools(log),
    checkpoint: async (state) => {
      states.push(state);
      log.lines.push(`storing ${state.spent.turns}`);
      if (states.length === 1) await stored;
      log.lines.push(`stored ${state.spent.turns}`);
    },
  });
  await idle();
  assert.deepEqual(log.lines, ["start write a", "end write a", "storing 1"], "the second reply has to wait");
  store();
  const { end } = await playing;
  assert.equal(end.status, "done");
  assert.deepEqual(log.lines.slice(3), [
    "stored 1",
    ...["start write b", "end write b", "storing 2", "stored 2"],
    ...["storing 3", "stored 3"],
  ]);
  assert.deepEqual(states.at(-1)?.messages, end.messages);
});

test("a turn is stored while the model thinks, not after it", async () => {
  const clock = createManualClock();
  const second = slow(reply("Done."));
  const states: AgentState[] = [];
  const playing = playAgent([reply("", call("write", { value: "a" })), second.play], {
    clock,
    checkpoint: async (state) => void states.push(state),
  });
  await second.asked;
  assert.equal(states.length, 0, "the request went out first");
  await clock.advance(0);
  assert.deepEqual(
    states.map(({ spent, dirty }) => [spent.turns, dirty]),
    [[1, ["a"]]],
  );
  second.answer();
  assert.equal((await playing).end.status, "done");
  assert.equal(states.length, 2);
});

test("when a turn cannot be stored, the request under way is given up, nothing more runs, and the run ends as internal", async () => {
  const clock = createManualClock();
  const second = slow(reply("", call("write", { value: "b" })));
  const events: HarnessEvent[] = [];
  const playing = playAgent([reply("", call("write", { value: "a" })), second.play], {
    clock,
    observe: (event) => void events.push(event),
    checkpoint: async () => {
      throw new Error("the lease is lost");
    },
  });
  const signal = await second.asked;
  await clock.advance(0);
  const { end, log, model } = await playing;
  assert.equal(end.status, "internal");
  assert.match(end.message, /the lease is lost/);
  assert.ok(signal.aborted, "nobody waits for an answer that cannot be used");
  assert.deepEqual(log.lines, ["start write a", "end write a"]);
  assert.equal(model.requests.length, 2);
  assert.deepEqual(checkTranscript(end.messages), []);
  assert.equal(events.at(-1)?.type, "stop");
  second.answer();
  await idle();
  assert.equal(events.at(-1)?.type, "stop", "nothing is told after the end");
});

test("a turn that cannot be stored ends the run also when its answer came first", async () => {
  const { end, log } = await playAgent(TWO_WRITES, {
    checkpoint: async () => {
      throw new Error("the disk is full");
    },
  });
  assert.deepEqual([end.status, log.lines], ["internal", ["start write a", "end write a"]]);
});

test("the last turn is stored before the end is told, and one that cannot be makes the end internal", async () => {
  const order: string[] = [];
  const setup = (fails: boolean) => ({
    observe: ({ type }: HarnessEvent) => void (type === "stop" && order.push(type)),
    checkpoint: async () => {
      order.push("storing");
      await idle();
      if (fails) throw new Error("the disk is full");
      order.push("stored");
    },
  });
  assert.equal((await playAgent([reply("Done.")], setup(false))).end.status, "done");
  assert.equal((await playAgent([reply("Done.")], setup(true))).end.status, "internal");
  assert.deepEqual(order, ["storing", "stored", "stop", "storing", "stop"]);
});

test("a cancel while the turn is being stored waits for it, and the run ends as cancelled", async () => {
  const clock = createManualClock();
  const second = slow(reply("Done."));
  const controller = new AbortController();
  const { promise: stored, resolve: store } = Promise.withResolvers<void>();
  const kept: AgentState[] = [];
  const playing = playAgent([reply("", call("write", { value: "a" })), second.play], {
    clock,
    signal: controller.signal,
    checkpoint: async (state) => {
      await stored;
      kept.push(state);
    },
  });
  await second.asked;
  await clock.advance(0);
  controller.abort("cancelled by octocat");
  await idle();
  store();
  const { end } = await playing;
  assert.equal(end.status, "cancelled");
  assert.deepEqual(
    kept.map(({ spent }) => spent.turns),
    [1],
  );
});
