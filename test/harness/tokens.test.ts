import assert from "node:assert/strict";
import { test } from "node:test";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import { createPrefixWatch } from "#src/harness/prefix.ts";
import { addRequest, costOf, countUsage, createMeter, estimateTokens } from "#src/harness/tokens.ts";
import type { Message } from "#src/model/model.ts";

const user = (content: string): Message => ({ role: "user", content });

test("dense scripts count one token a character, code about one for 2.8", () => {
  assert.ok(Math.abs(estimateTokens("x".repeat(2_800)) - 1_000) <= 1);
  assert.equal(estimateTokens("那".repeat(100)), 100);
  assert.equal(estimateTokens(""), 0);
});

test("what the provider reported is taken for what it covered, and corrects the estimate of the rest", () => {
  const meter = createMeter([]);
  const first = [user("x".repeat(2_800))];
  const before = meter.estimate(first);
  meter.learn(first, 2_000);
  assert.equal(meter.estimate(first), 2_000);
  const added = meter.estimate([...first, user("x".repeat(2_800))]) - 2_000;
  assert.ok(added > 1.9 * before && added < 2.1 * before);
});

test("two reports far apart tell what is fixed in a request from what a token of text counts", () => {
  const meter = createMeter([]);
  const system: Message = { role: "system", content: "x".repeat(280) };
  const start = [system, user("task")];
  const pages = Array.from({ length: 4 }, (_, at) => user(`${at}`.repeat(2_800)));
  // The provider adds 5,000 tokens of its own and counts our text 1.5 times as high as we do.
  const counted = (messages: readonly Message[]) =>
    messages.reduce((sum, { content }) => sum + estimateTokens(content) + 4, 0);
  const report = (messages: readonly Message[]) => 5_000 + Math.round(1.5 * counted(messages.slice(1)));
  meter.learn(start, report(start));
  meter.learn([...start, ...pages.slice(0, 2)], report([...start, ...pages.slice(0, 2)]));
  const all = [...start, ...pages];
  assert.ok(Math.abs(meter.estimate(all) - report(all)) <= 3);
  assert.ok(Math.abs(meter.overhead(all) - 5_000) <= 3);
  assert.ok(Math.abs(meter.body(all) - (report(all) - 5_000)) <= 3);
  assert.ok(
    Math.abs(meter.body(start) - 1.5 * counted(start.slice(1))) <= 3,
    "a transcript that shrinks, too",
  );
});

test("a report that cannot be true of the text moves the estimate by a bounded factor only", () => {
  const meter = createMeter([]);
  const first = [user("x".repeat(28_000))];
  meter.learn(first, 7);
  const added = meter.estimate([...first, user("x".repeat(28_000))]) - 7;
  assert.ok(added >= 5_000, String(added));
  meter.learn(first, 0);
  assert.equal(meter.estimate(first), 7, "nothing is learnt from zero");
});

test("the tokenizer is asked only where characters could decide wrongly, and about each message once", async () => {
  const asked: string[] = [];
  const tokenizer = {
    count: async (texts: readonly string[]) => {
      asked.push(...texts);
      return texts.map(({ length }) => length / 2);
    },
    close: async () => undefined,
  };
  const meter = createMeter([], tokenizer);
  const first = user("x".repeat(2_800));
  const second = user("y".repeat(280));
  assert.ok((await meter.measure([first], 2_100)) < 1_100);
  assert.deepEqual(asked, [], "about 1,000, at most 2,000: below the limit in any case");
  assert.equal(await meter.measure([first], 1_900), meter.estimate([first]));
  assert.ok(meter.estimate([first]) >= 1_400, "characters would have said 1,000");
  await meter.measure([first, second], 0);
  await meter.measure([first, second], 0);
  assert.deepEqual(asked, [first.content, second.content]);
});

test("where the tokenizer cannot count, characters do", async () => {
  const broken = createMeter([], { count: async () => null, close: async () => undefined });
  const messages = [user("x".repeat(2_800))];
  assert.equal(await broken.measure(messages, 0), createMeter([]).estimate(messages));
});

test("cost counts cached and uncached input apart; an unknown price stays unknown for the run", () => {
  const counted = countUsage(
    { inputTokens: 1_000_000, cachedTokens: 400_000, outputTokens: 100_000 },
    0,
    () => 0,
  );
  const cost = costOf(counted, { inputUsd: 10, cachedUsd: 1, outputUsd: 100 });
  assert.equal(cost, 6 + 0.4 + 10);
  const spent = addRequest(NOTHING_SPENT, counted, cost);
  assert.equal(spent.costUsd, 16.4);
  assert.equal(addRequest(addRequest(spent, counted, null), counted, cost).costUsd, null);
});

test("prefix stability is the shared start over the previous length", () => {
  const watch = createPrefixWatch();
  const before = [user("a"), user("b")];
  assert.equal(watch.stability({ tools: [], messages: before }), null);
  watch.note({ tools: [], messages: before });
  assert.equal(watch.stability({ tools: [], messages: [...before, user("c")] }), 1);
  assert.equal(
    watch.stability({ tools: [], messages: structuredClone(before) }),
    1,
    "by content, not by object",
  );
  const rewritten = watch.stability({ tools: [], messages: [user("z"), user("b")] }) ?? 1;
  assert.ok(rewritten > 0 && rewritten < 0.7);
  const shorter = watch.stability({ tools: [], messages: [user("a")] }) ?? 1;
  assert.ok(shorter > 0.4 && shorter < 0.6);
});
