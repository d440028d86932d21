import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { headOf, tailOf } from "#src/base/cut-text.ts";
import { clip, RESULT_CHARS, resultBudget } from "#src/harness/clip.ts";
import { FULL } from "#test/support/tier.ts";

const RUNS = { numRuns: FULL ? 10_000 : 1_000 };

test("a clipped text is well formed, within the limit, and counts what it lost", () => {
  const text = fc.string({ unit: "binary", maxLength: 600 });
  fc.assert(
    fc.property(text, fc.integer({ min: 80, max: 400 }), (whole, limit) => {
      const cut = clip(whole, limit);
      assert.ok(cut.length <= limit);
      assert.ok(cut.isWellFormed());
      assert.ok(!cut.includes("\0"));
      if (whole.length <= limit) return assert.equal(cut, whole.replaceAll("\0", "␀"));
      const [, counted] = /\[… ([\d,]+) characters left out …\]/.exec(cut) ?? [];
      const kept = cut.length - `\n[… ${counted} characters left out …]\n`.length;
      assert.equal(kept + Number(counted?.replaceAll(",", "")), whole.length);
    }),
    RUNS,
  );
});

test("heads and tails never split a surrogate pair", () => {
  assert.equal(headOf("a🌍b", 2), "a");
  assert.equal(headOf("a🌍b", 3), "a🌍");
  assert.equal(tailOf("a🌍b", 2), "b");
  assert.equal(tailOf("a🌍b", 3), "🌍b");
  assert.equal(headOf("🌍", 0), "");
});

test("I06: a result of 700,000 characters enters as 8,000, and less in a small window", () => {
  assert.ok(clip("x".repeat(700_000)).length <= RESULT_CHARS);
  assert.equal(resultBudget(1, 200_000), RESULT_CHARS);
  assert.ok(resultBudget(1, 8_000) < 6_000);
  assert.ok(resultBudget(30, 16_000) * 30 < 16_000 * 2.8);
});
