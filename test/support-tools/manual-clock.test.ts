/** The clock moved by hand fires what falls due in order, and what that sets off. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createManualClock } from "#test/support/manual-clock.ts";
import { sample, skipUnless } from "#test/support/tier.ts";

describe("the manual clock", () => {
  test("fires timers in the order they fall due, at their own time", async () => {
    const clock = createManualClock(0);
    const fired: string[] = [];
    clock.timer(20, () => fired.push(`b at ${clock.now()}`));
    clock.timer(10, () => fired.push(`a at ${clock.now()}`));
    const cancel = clock.timer(15, () => fired.push("never"));
    clock.timer(31, () => fired.push("later"));
    cancel();
    await clock.advance(30);
    assert.deepEqual(fired, ["a at 10", "b at 20"]);
    assert.equal(clock.now(), 30);
    assert.equal(clock.pending(), 1);
  });

  test("fires within one move what earlier firings set", async () => {
    const clock = createManualClock(0);
    const times: number[] = [];
    const loop = (async () => {
      for (let turn = 0; turn < 3; turn++) {
        await clock.sleep(10);
        times.push(clock.now());
      }
    })();
    await clock.advance(30);
    await loop;
    assert.deepEqual(times, [10, 20, 30]);
  });

  test("a sleep rejects with the signal's reason and is gone", async () => {
    const clock = createManualClock();
    const abort = new AbortController();
    const sleep = clock.sleep(10, abort.signal);
    abort.abort(new Error("stop"));
    await assert.rejects(sleep, /stop/);
    await assert.rejects(clock.sleep(10, abort.signal), /stop/);
    assert.equal(clock.pending(), 0);
  });

  test("tells when the code under test waits", async () => {
    const clock = createManualClock();
    const waiting = clock.waitForTimers(2);
    clock.timer(1, () => undefined);
    clock.timer(1, () => undefined);
    await waiting;
    await clock.waitForTimers(1);
  });
});

describe("the sample", () => {
  test("keeps the order, repeats itself, and takes no more than asked", () => {
    const list = Array.from({ length: 50 }, (_, n) => n);
    const chosen = sample(list, 10);
    assert.deepEqual(chosen, sample(list, 10));
    assert.deepEqual(
      chosen,
      [...chosen].sort((a, b) => a - b),
    );
    assert.ok(chosen.length === 10 || chosen.length === 50);
    assert.deepEqual(sample([1, 2], 5), [1, 2]);
  });

  test("a skip has a reason", () => {
    assert.equal(skipUnless(true, "no such thing"), false);
  });
});
