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

test("cost counts cached and uncached input apart; an unknown price stays unknown for the run", () => {
  const counted = countUsage({ inputTokens: 1_000_000, cachedTokens: 400_000, outputTokens: 100_000 }, 0, 0);
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
