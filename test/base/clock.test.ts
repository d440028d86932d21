import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { isoTime, systemClock } from "#src/base/clock.ts";

test("a timer fires once, and not at all after it was cancelled", async () => {
  const fired: string[] = [];
  const cancel = systemClock.timer(1, () => fired.push("cancelled"));
  cancel();
  systemClock.timer(1, () => fired.push("kept"));
  await systemClock.sleep(20);
  assert.deepEqual(fired, ["kept"]);
  cancel();
});

test("a sleep ends with its time and leaves no listener on the signal", async () => {
  const controller = new AbortController();
  const before = systemClock.now();
  await systemClock.sleep(5, controller.signal);
  assert.ok(systemClock.now() - before >= 4);
  assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  controller.abort();
});

test("a sleep is cut short by its signal, with the signal's reason", async () => {
  const controller = new AbortController();
  const reason = new Error("the run was cancelled");
  const sleeping = systemClock.sleep(60_000, controller.signal);
  controller.abort(reason);
  await assert.rejects(sleeping, reason);
  await assert.rejects(systemClock.sleep(60_000, controller.signal), reason);
});

test("an instant is written as GitHub writes it", () => {
  assert.equal(isoTime(0), "1970-01-01T00:00:00.000Z");
  assert.equal(isoTime(Date.UTC(2025, 1, 28, 23, 59, 59, 7)), "2025-02-28T23:59:59.007Z");
});
