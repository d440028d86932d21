/** The stored work of a run over rounds and crashes: what a round goes on from, and what has been paid. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openCheckpoints } from "#src/fix/checkpoints.ts";
import { type AgentState, NOTHING_SPENT } from "#src/harness/agent.ts";
import type { Message } from "#src/model/model.ts";

function blobs() {
  const stored = new Map<string, string>();
  return {
    stored,
    blob: async (name: string) => stored.get(name) ?? null,
    putBlob: async (name: string, text: string) => void stored.set(name, text),
  };
}

/** A state of so many turns after the task, on top of `before`. */
function stateOf(turns: number, before: readonly Message[] = [], word = "turn"): AgentState {
  const start: readonly Message[] = before.length > 0 ? before : [{ role: "system", content: "s" }];
  const messages = [...start];
  for (let at = 1; at <= turns; at++)
    messages.push(
      { role: "user", content: `${word} ${at}` },
      { role: "assistant", content: "ok", calls: [] },
    );
  return { messages, spent: { ...NOTHING_SPENT, turns, costUsd: turns / 10 }, dirty: ["src/a.ts"] };
}

async function open(store: ReturnType<typeof blobs>, round: number) {
  const opened = await openCheckpoints(store, round);
  assert.ok(opened.ok);
  return opened.value;
}

test("a fresh run has nothing to go on from and has paid nothing", async () => {
  const { before, newest } = await open(blobs(), 0);
  assert.deepEqual([before.messages, newest.messages, newest.spent], [[], [], NOTHING_SPENT]);
});

test("a round that is sent back goes on from its end", async () => {
  const store = blobs();
  const first = await open(store, 0);
  const state = stateOf(3);
  await first.save(stateOf(1));
  await first.save(state);
  const second = await open(store, 1);
  assert.deepEqual(second.before, { ...state, round: 0 });
  assert.deepEqual(second.newest, second.before);
});

test("I05: an interrupted round begins again from the round before it, never from its half, and its money stays spent", async () => {
  const store = blobs();
  const first = await open(store, 0);
  const ended = stateOf(2);
  await first.save(ended);
  const second = await open(store, 1);
  await second.save(stateOf(1, second.before.messages, "half"));
  const interrupted = stateOf(2, second.before.messages, "half");
  await second.save({ ...interrupted, spent: { ...interrupted.spent, costUsd: 0.9, turns: 6 } });

  const again = await open(store, 1);
  assert.deepEqual(again.before.messages, ended.messages);
  assert.equal(again.newest.spent.costUsd, 0.9);
  assert.equal(again.newest.spent.turns, 6);
  const other = stateOf(1, again.before.messages, "again");
  await again.save(other);

  const third = await open(store, 2);
  assert.deepEqual(third.before.messages, other.messages, "of the interrupted half nothing is left");
  assert.ok(!JSON.stringify(third.before.messages).includes("half"));
});

test("the first round too begins afresh after a crash, with what it paid", async () => {
  const store = blobs();
  await (await open(store, 0)).save(stateOf(4));
  const again = await open(store, 0);
  assert.deepEqual(again.before.messages, []);
  assert.equal(again.newest.spent.costUsd, 0.4);
});

test("after a turn only the turn is written", async () => {
  const store = blobs();
  const run = await open(store, 0);
  let messages: readonly Message[] = [];
  for (let at = 0; at < 30; at++) {
    messages = [...messages, { role: "user", content: "x".repeat(1_000) }];
    await run.save({ messages, spent: NOTHING_SPENT, dirty: [] });
  }
  const sizes = [...store.stored.values()].map(({ length }) => length);
  assert.ok(Math.max(...sizes) < 1.1 * Math.min(...sizes));
});

test("an entry that cannot be read is named", async () => {
  const store = blobs();
  await (await open(store, 0)).save(stateOf(1));
  store.stored.set("checkpoint-2", "{");
  const opened = await openCheckpoints(store, 0);
  assert.ok(!opened.ok && /^checkpoint-2: /.test(opened.error));
});
