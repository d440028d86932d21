import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { systemIds } from "#src/base/ids.ts";
import { FULL } from "#test/support/tier.ts";

const RUNS = { numRuns: FULL ? 10_000 : 1_000 };
/** Until the year 10,000. */
const INSTANT = fc.integer({ min: 0, max: 253_402_300_799_999 });

test("a run id is sixteen characters that fit into a branch, a path and the hidden marker", () => {
  fc.assert(
    fc.property(INSTANT, (ms) => {
      assert.match(systemIds.runId(ms), /^[0-9a-hjkmnp-tv-z]{16}$/);
    }),
    RUNS,
  );
});

test("run ids sort by age, down to the millisecond", () => {
  fc.assert(
    fc.property(INSTANT, INSTANT, (a, b) => {
      fc.pre(a !== b);
      assert.equal(systemIds.runId(a) < systemIds.runId(b), a < b);
    }),
    RUNS,
  );
  assert.ok(systemIds.runId(1_700_000_000_000) < systemIds.runId(1_700_000_000_001));
});

test("ids of one millisecond differ", () => {
  const made = new Set(Array.from({ length: 2_000 }, () => systemIds.runId(1_700_000_000_000)));
  assert.equal(made.size, 2_000);
});

test("hex has two digits a byte and never repeats", () => {
  for (const bytes of [1, 8, 20]) assert.match(systemIds.hex(bytes), new RegExp(`^[0-9a-f]{${bytes * 2}}$`));
  assert.equal(new Set(Array.from({ length: 1_000 }, () => systemIds.hex(16))).size, 1_000);
});

test("A22: call ids are nine letters or digits", () => {
  const made = Array.from({ length: 1_000 }, () => systemIds.callId());
  for (const id of made) assert.match(id, /^[a-zA-Z0-9]{9}$/);
  assert.equal(new Set(made).size, made.length);
});

test("chance stays in [0, 1) and is spread out", () => {
  const made = Array.from({ length: 4_000 }, () => systemIds.chance());
  assert.ok(made.every((value) => value >= 0 && value < 1));
  const mean = made.reduce((sum, value) => sum + value, 0) / made.length;
  assert.ok(Math.abs(mean - 0.5) < 0.05, `mean ${mean}`);
});
