/** The terminal rendering of a trace: what it shows, what it shortens, and that nothing in it reaches the terminal raw. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { count, dollars, duration, firstLines, oneLine, plainText } from "#src/trace/plain.ts";
import { renderTrace, renderTraceJson, summaryLine } from "#src/trace/render.ts";
import { summarise } from "#src/trace/summary.ts";
import type { TraceEvent } from "#src/trace/trace.ts";
import { FULL } from "#test/support/tier.ts";
import { event, sampleRun, TYPES } from "./sample.ts";

const plain = (events: readonly TraceEvent[], skipped: readonly number[] = []) =>
  renderTrace({ events, skipped }, { colour: false });

const STORY = `Run 01run · octo/demo#7: add() subtracts

12:00:01 run started: model gpt-5, sandbox bubblewrap
12:00:02 state queued → preparing

── turn 1 ──
12:00:03 asked the model: 3 messages, about 2,100 tokens, 100 % of the previous request kept
12:00:05 (cut off) I will
12:00:05 retry 2 of 6 in 4.0 s: 429 slow down
12:00:06 I will look at add() first.
12:00:06 reply (1.5 s): 1 call, $0.0010
12:00:07 → read_file path="src/add.js" start=1
12:00:08 ← read_file ok, 1,640 characters (12 ms)
           1 export function add(a, b) {
           2   return a - b;
           3 }

── turn 2 ──
12:00:09 asked the model: 3 messages, about 2,100 tokens, 100 % of the previous request kept
12:00:10 I will look at add() first.
12:00:10 reply (1.5 s): 1 call, $0.0010
12:00:11 ← edit_file error, 1,640 characters (12 ms)
           1 export function add(a, b) {
           2   return a - b;
           3 }
12:00:12 ← read_file ok, 1,640 characters (12 ms)
           1 export function add(a, b) {
           2   return a - b;
           3 }
12:00:13 stopped after 2 turns: done: The model finished.
12:00:14 verdict proven
           fixed add > adds

2 turns · read_file 2, edit_file 1 (1 error) · 4,000 tokens in (3,000 cached), 80 out · $0.0021 · 13.0 s (3.0 s in the model) · 1 retry · stopped: done
`;

suite("the story", () => {
  test("a run reads turn by turn, with calls, results, retries, stop, verdict and cost", () => {
    assert.equal(plain(sampleRun()), STORY);
  });

  test("every type has its words", () => {
    const text = plain(TYPES.map((type, index) => event(type, { n: index + 1, step: "solve" })));
    for (const expected of [
      "run ended: failed: The budget is used up.",
      "step solve started (attempt 2)",
      "step solve failed (2.1 s): timeout: it took longer than its limit of 60 s",
      "setup failed (900 ms): npm ci",
      "npm error code E404",
      "network registry.example refused",
      "tests patched: 1,200 passed, 1 failed, 2 skipped, exit 1 (3.2 s)",
      "npm test in .",
      "prompt of 2,345 characters, abababababab",
      "model failed: rate_limited: 429 slow down",
      "context compacted: 105,010 → 36,900 tokens (trigger, note by model)",
      "told the model: You have used 80 % of your turns.",
      "stopped after 50 turns: turn_cap: 50 turns were used.",
      "patch of 2 files, 1 left out",
      "test/add.test.js",
      "verdict unproven: tampered",
      "newly failing sub > subtracts",
      "tampering test_deleted test/sub.test.js",
      "github plan-comment-1 failed 99: 403 forbidden",
      "/approve by octocat: refused: no plan yet",
      "warning: the status comment could not be edited",
    ])
      assert.ok(text.includes(expected), `${expected}\nis missing in\n${text}`);
  });

  test("what a sub-agent did is set apart, under the turn of its call", () => {
    const parent = "call00001";
    const nested = (["model_request", "tool_call"] as const).map((type) => event(type, { turn: 1, parent }));
    const text = plain([event("tool_call", { turn: 1 }), ...nested, event("tool_result", { turn: 1 })]);
    assert.equal(text.match(/── turn/g)?.length, 1);
    assert.match(text, /\d ┆ asked the model.*\n.*\d ┆ → read_file.*\n.*\d ← read_file/);
  });

  test("an empty trace, torn lines and types of a later release are said", () => {
    assert.match(plain([]), /has not written anything yet/);
    assert.match(plain(sampleRun(), [3, 9]), /unreadable lines in the file: 3, 9/);
    const later = { ...event("warning"), type: "dreamt" } as unknown as TraceEvent;
    const inherited = { ...event("warning"), type: "constructor" } as unknown as TraceEvent;
    assert.match(plain([later, inherited]), /dreamt\n.*constructor/);
  });

  test("colour is only there when asked for, and changes no word", () => {
    const coloured = renderTrace({ events: sampleRun(), skipped: [] }, { colour: true });
    assert.ok(coloured.includes("\x1b["));
    assert.equal(stripVTControlCharacters(coloured), STORY);
    assert.ok(!STORY.includes("\x1b"));
  });

  test("long texts and lines are cut, and what was cut is counted", () => {
    const data = {
      ...event("tool_result").data,
      text: Array.from({ length: 20 }, (_, n) => `${n} ${"😀".repeat(300)}`).join("\n"),
    };
    const text = renderTrace(
      { events: [event("tool_result", { data })], skipped: [] },
      { colour: false, width: 60, lines: 2 },
    );
    assert.match(text, /… 18 more lines/);
    for (const line of text.split("\n").slice(0, 6)) assert.ok([...line].length <= 62, line);
  });

  test("malformed arguments are shown as they came", () => {
    const data = { ...event("tool_call").data, arguments: '{"path": src' };
    assert.match(plain([event("tool_call", { data })]), /→ read_file \{"path": src/);
  });
});

suite("summary line", () => {
  test("unknown cost and usage are said, and a run that goes on has not stopped", () => {
    const summary = {
      ...summarise([]),
      tokens: { input: 5, cached: 0, output: 1, unknown: true },
      costUsd: null,
    };
    assert.equal(
      summaryLine(summary),
      "0 turns · no tool calls · at least 5 tokens in, 1 out · cost unknown · 0 ms (0 ms in the model) · stopped: not yet",
    );
  });
});

suite("H12 and its kin: nothing reaches the terminal raw", () => {
  const hostile = fc.string({
    unit: fc.constantFrom(
      "\x1b",
      "[",
      "]",
      "2J",
      "31m",
      "\r",
      "\n",
      "\x07",
      "\b",
      "\x9b",
      "\x00",
      "\x7f",
      "\u202e",
      "\u2066",
      "\t",
      "a",
      "😀",
      "\ud800",
    ),
    maxLength: 30,
  });
  // Everything but tab, newline and the text itself.
  const raw = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

  test("no control character survives in any field of any type", () => {
    fc.assert(
      fc.property(fc.constantFrom(...TYPES), hostile, (type, text) => {
        const poison = (value: unknown): unknown =>
          typeof value === "string"
            ? text
            : Array.isArray(value)
              ? value.map(poison)
              : typeof value === "object" && value !== null
                ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, poison(member)]))
                : value;
        const base = event(type, { run: text, step: text });
        const events = [{ ...base, data: poison(base.data) as TraceEvent["data"] }];
        assert.doesNotMatch(plain(events), raw);
        assert.doesNotMatch(renderTraceJson(events), raw);
      }),
      { numRuns: FULL ? 20_000 : 2000 },
    );
  });

  test("payloads of any shape are rendered without a crash", () => {
    const keys = [...new Set(TYPES.flatMap((type) => Object.keys(event(type).data)))];
    fc.assert(
      fc.property(
        fc.constantFrom(...TYPES),
        fc.dictionary(fc.constantFrom(...keys), fc.jsonValue()),
        (type, data) => {
          assert.doesNotMatch(plain([event(type, { data: data as TraceEvent["data"] })]), raw);
        },
      ),
      { numRuns: FULL ? 10_000 : 1000 },
    );
  });

  test("the JSON form is one whole line an event and reads back as it was", () => {
    const events = sampleRun().map((entry) => ({ ...entry, step: "\x9b\u202e\u2028" }));
    const lines = renderTraceJson(events).trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      events,
    );
  });
});

suite("plain text", () => {
  test("line ends become one kind, control sequences go", () => {
    assert.equal(plainText("10%\r20%\r\ndone\x1b[2J\x07"), "10%\n20%\ndone");
    assert.equal(oneLine("  a\n\tb  c ", 10), "a b c");
    assert.equal(oneLine("abcdef", 4), "abc…");
    assert.deepEqual(firstLines("\n\n  x\ny\n\n", 5, 10), ["  x", "y"]);
    assert.deepEqual(firstLines(" \n ", 5, 10), []);
  });

  test("durations, counts and money read well at every size", () => {
    assert.deepEqual([0, 999, 1000, 59_999, 60_000, 3_599_999, 3_600_000, 90_061_000].map(duration), [
      "0 ms",
      "999 ms",
      "1.0 s",
      "59.9 s",
      "1 min 0 s",
      "59 min 59 s",
      "1 h 0 min",
      "25 h 1 min",
    ]);
    assert.deepEqual([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
    assert.deepEqual([0, 0.00014, 1.5, 12.345].map(dollars), ["$0.0000", "$0.0001", "$1.5000", "$12.35"]);
  });
});
