/** The worker thread: results and errors come back, a call can be ended, and an idle thread goes away. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { createOffload } from "#src/base/offload.ts";
import { createManualClock } from "#test/support/manual-clock.ts";

/** A module as a data address: its functions are all the test needs. */
const MODULE = new URL(
  `data:text/javascript,${encodeURIComponent(`
    let calls = 0;
    export const add = (a, b) => a + b;
    export const count = () => ++calls;
    export const fail = () => { throw new Error("as asked"); };
    export const spin = () => { for (;;); };
    export const environment = () => Object.keys(process.env);
    export const die = () => process.exit(3);
  `)}`,
);

function open(clock = systemClock) {
  return createOffload({ module: MODULE, clock, idleMs: 1_000, memoryMb: 64 });
}

test("a function of the module runs in the thread, its result and its error come back", async () => {
  const offload = open();
  assert.equal(await offload.call("add", [1, 2]), 3);
  await assert.rejects(offload.call("fail", []), /as asked/);
  await assert.rejects(offload.call("unknown", []));
  await assert.rejects(
    offload.call("add", [() => 1]),
    (error: Error) => error.name === "DataCloneError",
    "what cannot be copied is refused",
  );
  assert.deepEqual(await Promise.all([1, 2, 3].map((n) => offload.call("add", [n, n]))), [2, 4, 6]);
  await offload.close();
});

test("the thread sees nothing of the environment, where the secrets are", async () => {
  const offload = open();
  assert.deepEqual(await offload.call("environment", []), []);
  await offload.close();
});

test("a call that never ends is ended with its thread, and those behind it are answered by a new one", async () => {
  const offload = open();
  const controller = new AbortController();
  const endless = offload.call("spin", [], controller.signal);
  const behind = offload.call("add", [1, 1]);
  controller.abort(new Error("no time left"));
  await assert.rejects(endless, /no time left/);
  assert.equal(await behind, 2);
  await assert.rejects(offload.call("add", [1, 1], AbortSignal.abort(new Error("too late"))), /too late/);
  await offload.close();
});

test("a thread that dies rejects its calls, and the next call gets a new one", async () => {
  const offload = open();
  await assert.rejects(offload.call("die", []), /ended with code 3/);
  assert.equal(await offload.call("add", [1, 1]), 2);
  const lost = offload.call("spin", []);
  const closing = offload.close();
  await assert.rejects(lost, /closed/);
  await closing;
});

test("an idle thread ends and gives its memory back; a busy one is kept", async () => {
  const clock = createManualClock();
  const offload = open(clock);
  assert.equal(await offload.call("count", []), 1);
  await clock.advance(900);
  assert.equal(await offload.call("count", []), 2);
  await clock.advance(1_100);
  assert.equal(await offload.call("count", []), 1, "a new thread counts from the start");
  await offload.close();
  assert.equal(clock.pending(), 0);
});
