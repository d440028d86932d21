/** The stored work of a run over rounds and crashes: what a round goes on from, and what has been paid. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openCheckpoints } from "#src/fix/checkpoints.ts";
import { type AgentState, NOTHING_SPENT } from "#src/harness/agent.ts";
import { resume } from "#src/harness/resume.ts";
import { checkTranscript } from "#src/harness/transcript.ts";
import type { Message } from "#src/model/model.ts";
import { call, reply } from "#test/support/canned-model.ts";
import { playAgent, recordingTools } from "../harness/fixture.ts";
import { blobs } from "./blobs.ts";

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

test("I05: killed at any moment, also between a request and the store of the turn before it, a run goes on from its last stored turn, and no call is answered twice", async () => {
  const store = blobs();
  const run = await open(store, 0);
  const moments: Map<string, string>[] = [];
  const kill = () => void moments.push(new Map(store.stored));
  const work = [1, 2, 3, 4, 5, 6].map((n) => reply("", call("write", { value: `file ${n}` })));
  const writes: number[] = [];
  const played = await playAgent([...work, reply("Done.")], {
    tools: recordingTools({ lines: [] }).map((tool) => ({
      ...tool,
      run: async (args, context) => {
        writes.push(store.stored.size);
        kill();
        return tool.run(args, context);
      },
    })),
    observe: kill,
    checkpoint: run.save,
  });
  assert.equal(played.end.status, "done");
  assert.deepEqual(writes, [0, 1, 2, 3, 4, 5], "each effect has all turns before its own behind it");

  for (const stored of moments) {
    const { before } = await open({ ...blobs(), blob: async (name) => stored.get(name) ?? null }, 1);
    const resumed = resume(before);
    assert.ok(resumed.ok);
    assert.equal(before.spent.turns, stored.size);
    // What is stored is the start of what would have been, to the end of a turn: not half of one, and none left out.
    assert.deepEqual(before.messages, played.end.messages.slice(0, before.messages.length));
    const again = await playAgent([...work.slice(stored.size), reply("Done.")], {
      prior: resumed.value.prior,
      spent: resumed.value.spent,
      task: "Go on.",
    });
    assert.equal(again.end.status, "done");
    assert.deepEqual(checkTranscript(again.end.messages), []);
    const answered = again.end.messages.flatMap((message) =>
      message.role === "tool" ? [message.callId] : [],
    );
    assert.equal(new Set(answered).size, answered.length);
    assert.equal(answered.length, work.length, "every call has been answered in the end");
  }
});
