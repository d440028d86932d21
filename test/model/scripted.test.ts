import assert from "node:assert/strict";
import { test } from "node:test";
import { createScripted } from "#src/model/scripted.ts";
import { ask, askFailure, askReply, modelRequest } from "#test/support/ask-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";

test("turns are played in order, and what was asked is kept as it was then", async () => {
  const model = createScripted([{ text: "one" }, { text: "two", usage: { inputTokens: 5 } }]);
  const messages = [{ role: "user" as const, content: "x" }];
  await askReply(model, { messages });
  messages.push({ role: "user", content: "y" });
  assert.equal((await askReply(model, { messages })).usage.inputTokens, 5);
  assert.deepEqual(
    model.requests.map((request) => request.messages.length),
    [1, 2],
  );
});

test("a function decides by what it is asked", async () => {
  const model = createScripted(({ messages }, turn) => ({ text: `${turn}: ${messages.at(-1)?.content}` }));
  assert.equal((await askReply(model)).content, "1: Fix it.");
});

test("a request beyond the script is a failure that names the turn", async () => {
  assert.match((await askFailure(createScripted([]))).message, /no turn 1/);
});

test("a delay passes by the clock and can be cancelled", async () => {
  const clock = createManualClock();
  const model = createScripted([{ text: "late", delayMs: 5_000 }, { delayMs: 5_000 }], { clock });
  const first = askReply(model);
  await clock.waitForTimers(1);
  await clock.advance(5_000);
  assert.equal((await first).content, "late");

  const controller = new AbortController();
  const second = askFailure(model, { signal: controller.signal });
  await clock.waitForTimers(1);
  controller.abort();
  assert.equal((await second).code, "cancelled");
});

test("text before a failure, announced retries and reasoning are streamed in that order", async () => {
  const failure = { code: "broken_stream", message: "cut", status: null } as const;
  const model = createScripted([{ retries: 1, reasoning: "hm", text: "so", failure }]);
  assert.deepEqual(
    (await ask(model)).map((event) => event.type),
    ["retry", "reasoning", "text", "failed"],
  );
  assert.equal(modelRequest().tools.length, 1);
});
