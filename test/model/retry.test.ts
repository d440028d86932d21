import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#src/base/log.ts";
import type { Trouble } from "#src/model/failures.ts";
import type { ModelEvent, Reply } from "#src/model/model.ts";
import { DEFAULT_RETRY, nextDelay, type TryEnd, withRetries } from "#src/model/retry.ts";
import { retryHint } from "#src/model/retry-hints.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { impatientClock } from "./chat-adapter.ts";

const passing = { retryable: true, retryAfterMs: null };

test("the waits double from one second to thirty and stop after the last try", () => {
  const waits = [1, 2, 3, 4, 5, 6].map((failed) => nextDelay(DEFAULT_RETRY, failed, passing, 0));
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, null]);
  assert.equal(nextDelay({ ...DEFAULT_RETRY, tries: 20 }, 12, passing, 0.99), 30_000);
});

test("jitter lengthens a wait by a quarter at most", () => {
  assert.equal(nextDelay(DEFAULT_RETRY, 3, passing, 0.5), 4_500);
  assert.equal(nextDelay(DEFAULT_RETRY, 3, passing, 1), 5_000);
});

test("B05: a wait is never shorter than the provider asked for, nor than the back-off", () => {
  const asked = (retryAfterMs: number, failed: number) =>
    nextDelay(DEFAULT_RETRY, failed, { retryable: true, retryAfterMs }, 0);
  assert.ok((asked(3_000, 1) ?? 0) >= 3_000);
  assert.ok((asked(90_000, 1) ?? 0) >= 90_000);
  assert.equal(asked(0, 2), 2_000);
});

test("what is not passing is not tried again", () => {
  assert.equal(nextDelay(DEFAULT_RETRY, 1, { retryable: false, retryAfterMs: 1 }, 0), null);
});

const NOW = Date.UTC(2026, 10, 29, 12);
const HINTS: readonly (readonly [string, Readonly<Record<string, string>>, string, number | null])[] = [
  ["nothing", {}, "Rate limit reached", null],
  ["seconds", { "retry-after": "3" }, "", 3_000],
  ["decimal seconds", { "retry-after": "1.5" }, "", 1_500],
  ["milliseconds", { "retry-after-ms": "1250.4" }, "", 1_251],
  ["HTTP date", { "retry-after": new Date(NOW + 7_000).toUTCString() }, "", 7_000],
  ["HTTP date in the past", { "retry-after": new Date(NOW - 7_000).toUTCString() }, "", 0],
  ["nonsense", { "retry-after": "soon", "retry-after-ms": "-1" }, "", null],
  ["the longest counts", { "retry-after": "2", "retry-after-ms": "900" }, "Please try again in 3.2s.", 3_200],
  [
    "OpenAI's wording",
    {},
    "Rate limit reached for gpt-5. Limit 3, Used 3. Please try again in 20s. Visit ...",
    20_000,
  ],
  ["milliseconds in words", {}, "Please try again in 450ms.", 450],
  ["minutes and seconds", {}, "Please try again in 7m12.5s. Need more tokens?", 432_500],
  ["hours", {}, "Please try again in 1h2m3s", 3_723_000],
  ["long words", {}, "Too many requests, retry after 20 seconds", 20_000],
  ["Google's field", {}, '{"error":{"details":[{"retryDelay":"12s"}]}}', 12_000],
  ["a field in seconds", {}, '{"retry_after": 4}', 4_000],
  ["numbers that are no wait", {}, "Limit 30000, Requested 40000 in 3 months", null],
];

for (const [name, headers, body, want] of HINTS) {
  test(`B05: the wait a provider asks for: ${name}`, () => {
    assert.equal(retryHint(new Headers(headers), body, NOW), want);
  });
}

const REPLY: Reply = {
  content: "ok",
  calls: [],
  finish: "complete",
  usage: { inputTokens: null, cachedTokens: null, outputTokens: null },
};
const trouble: Trouble = { ...passing, failure: { code: "server_error", message: "busy", status: 503 } };

function tries(...ends: readonly TryEnd[]) {
  let at = 0;
  return async function* () {
    const end = ends[Math.min(at++, ends.length - 1)];
    yield { type: "text" as const, text: `try ${at}` };
    return end as TryEnd;
  };
}

async function run(attempt: Parameters<typeof withRetries>[0], signal = new AbortController().signal) {
  const clock = impatientClock();
  const events: ModelEvent[] = [];
  const options = { policy: DEFAULT_RETRY, clock, ids: { chance: () => 0 }, signal, log: silentLog };
  for await (const event of withRetries(attempt, options)) events.push(event);
  return { events, waits: clock.waits };
}

test("each further try is announced with its number, its wait and the reason", async () => {
  const { events, waits } = await run(tries({ type: "trouble", trouble }, { type: "reply", reply: REPLY }));
  assert.deepEqual(events, [
    { type: "text", text: "try 1" },
    { type: "retry", attempt: 1, of: 6, waitMs: 1_000, reason: "busy" },
    { type: "text", text: "try 2" },
    { type: "done", reply: REPLY },
  ]);
  assert.deepEqual(waits, [1_000]);
});

test("six tries in all, then the failure", async () => {
  const { events, waits } = await run(tries({ type: "trouble", trouble }));
  assert.equal(events.filter((event) => event.type === "text").length, 6);
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000]);
  assert.deepEqual(events.at(-1), { type: "failed", failure: trouble.failure });
});

test("a repaired request goes out again at once and does not use up a try", async () => {
  const repaired: TryEnd = { type: "repaired", reason: "without stream_options" };
  const { events, waits } = await run(tries(repaired, { type: "reply", reply: REPLY }));
  assert.deepEqual(events[1], {
    type: "retry",
    attempt: 1,
    of: 6,
    waitMs: 0,
    reason: "without stream_options",
  });
  assert.deepEqual(waits, []);
});

test("a cancel during the wait ends it at once", async () => {
  const clock = createManualClock();
  const controller = new AbortController();
  const options = {
    policy: DEFAULT_RETRY,
    clock,
    ids: { chance: () => 0 },
    signal: controller.signal,
    log: silentLog,
  };
  const events: ModelEvent[] = [];
  const reading = (async () => {
    for await (const event of withRetries(tries({ type: "trouble", trouble }), options)) events.push(event);
  })();
  await clock.waitForTimers(1);
  controller.abort(new Error("cancelled by octocat"));
  await reading;
  assert.deepEqual(events.at(-1), {
    type: "failed",
    failure: { code: "cancelled", message: "Cancelled: cancelled by octocat", status: null },
  });
  assert.equal(clock.pending(), 0);
});

test("a defect of an adapter is a failure, not an exception, and is not tried again", async () => {
  const { events } = await run(async function* () {
    yield { type: "text", text: "x" };
    throw new TypeError("x is undefined");
  });
  assert.deepEqual(
    events.map((event) => event.type),
    ["text", "failed"],
  );
});
