/** What a local run shows: words as they come, nothing that moves the cursor, no secret in whatever pieces, retries in plain words. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createRedactor } from "#src/base/redact.ts";
import { createAgentView, retryText } from "#src/cli/agent-view.ts";
import { createScreen } from "#src/cli/screen.ts";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import { FULL } from "#test/support/tier.ts";

const SECRET = "s3cret-of-the-operator";
const SPACED = "a passphrase of\tfour words";

function shown(terminal: boolean, columns = 60) {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) > 0, isTTY: terminal as true, columns };
  const redactor = createRedactor([SECRET, SPACED]);
  const screen = createScreen({ stream, redactor, terminal, colour: terminal });
  return { screen, written, redactor, text: () => written.join("") };
}

const COLOURS = new RegExp(`${"\u001b"}\\[\\d+m`, "g");

test("on a terminal words are shown as they come, when piped whole lines", () => {
  const onTerminal = shown(true);
  for (const piece of ["Let", " me", " look", " at it."]) onTerminal.screen.piece(piece);
  assert.equal(onTerminal.text(), "Let me look at ");
  onTerminal.screen.flush();
  assert.equal(onTerminal.text(), "Let me look at it.\n");
  const piped = shown(false);
  for (const piece of ["Let me", " look\nand", " see"]) piped.screen.piece(piece);
  assert.equal(piped.text(), "Let me look\n");
  piped.screen.line("next");
  assert.equal(piped.text(), "Let me look\nand see\nnext\n");
});

test("reasoning is grey and begins a line of its own; without colour there is no escape sequence", () => {
  const { screen, text } = shown(true);
  screen.piece("hm ", "dim");
  screen.piece("yes");
  screen.flush();
  assert.equal(text(), "\u001b[90mhm \u001b[39m\nyes\n");
  const piped = shown(false);
  piped.screen.piece("hm ", "dim");
  piped.screen.line("x", "bad");
  assert.equal(piped.text(), "hm \nx\n");
});

test("escape sequences, turned text and lone carriage returns of a model never reach the terminal", () => {
  const { screen, text } = shown(true);
  screen.piece("a\u001b[2Jb\u001b]0;title\u0007c \u202ed\u0000e\u009b0mf\rg ");
  screen.print("\u001b[31mred\u0007");
  screen.line("one\ntwo\u001b[A");
  assert.equal(text().replace(COLOURS, ""), "abc def\ng \nred\none two\n");
});

test("however a text is cut into pieces, its words arrive and the secret in it does not", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("a", "bc", " ", "\n", SECRET, SPACED, "a pass", "\u001b[1m"), {
        maxLength: 20,
      }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 }),
      fc.boolean(),
      (words, cuts, terminal) => {
        const whole = words.join("");
        const { screen, text, redactor } = shown(terminal);
        for (let at = 0, n = 0; at < whole.length; n++) {
          const size = cuts[n % cuts.length] ?? 1;
          screen.piece(whole.slice(at, at + size));
          at += size;
        }
        screen.flush();
        assert.ok(!text().includes(SECRET) && !text().includes(SPACED));
        const expected = redactor.redact(whole).replaceAll("\u001b[1m", "");
        assert.equal(text().replace(/\n$/, ""), expected.replace(/\n$/, ""));
      },
    ),
    { numRuns: FULL ? 10_000 : 500 },
  );
});

test("a word without an end is shown after a while all the same, and a secret in it is not", () => {
  const { screen, text } = shown(true);
  for (let n = 0; n < 30; n++) screen.piece("x".repeat(500));
  assert.ok(text().length > 8_000);
  screen.piece(SECRET.slice(0, 9));
  screen.piece(SECRET.slice(9));
  screen.flush();
  assert.ok(!text().includes(SECRET.slice(0, 9)));
  assert.match(text(), /x\*\*\*\n$/);
});

const TURN = { turn: 1 } as const;
const REPLY: HarnessEvent = {
  type: "reply",
  ...TURN,
  purpose: "turn",
  reply: {
    content: "",
    calls: [],
    finish: "complete",
    usage: { inputTokens: 1234, cachedTokens: 1000, outputTokens: 56 },
  },
  costUsd: 0.0123,
  estimated: false,
  ms: 2100,
};

test("each call and each result is one line that fits; then what the turn cost and what was spent", () => {
  const { screen, text, redactor } = shown(false);
  const watch = createAgentView(screen, (raw) => redactor.redact(raw))({
    ...NOTHING_SPENT,
    turns: 4,
    costUsd: 1,
  });
  const args = JSON.stringify({ command: `echo ${"y".repeat(60)} ${SECRET}`, timeout: 3 });
  watch(REPLY);
  watch({ type: "call", ...TURN, id: "1", name: "run_command", arguments: args });
  const result = { type: "result", ...TURN, id: "1", name: "run_command", wrote: [], ms: 12 } as const;
  watch({ ...result, status: "ok", text: "\n\nexit code 0\nmore" });
  watch({ ...result, status: "error", text: "no\u001b[2J such file" });
  watch({ type: "nested", ...TURN, callId: "1", event: REPLY });
  watch({ type: "nested", ...TURN, callId: "1", event: { ...result, status: "ok", text: "found" } });
  watch(REPLY);
  watch({ type: "stop", ...TURN, status: "done", message: "The model gave its final answer." });
  const lines = text().trimEnd().split("\n");
  assert.deepEqual(lines, [
    "The agent goes on after 4 turns ($1.0000).",
    "· turn 1: 1,234 tokens in (1,000 cached), 56 out, $0.0123, 2.1 s; $1.0123 so far",
    `→ run_command command="echo ${"y".repeat(60)} ***" timeout=3`,
    "← run_command ok (12 ms): exit code 0",
    "← run_command failed (12 ms): no such file",
    "↳ ← run_command ok (12 ms): found",
    "· turn 1: 1,234 tokens in (1,000 cached), 56 out, $0.0123, 2.1 s; $1.0369 so far",
    "stopped: done: The model gave its final answer.",
  ]);
  const narrow = shown(true, 40);
  createAgentView(narrow.screen, (raw) => raw)(NOTHING_SPENT)({
    ...{ type: "call", ...TURN, id: "1", name: "run_command" },
    arguments: args,
  });
  assert.equal(narrow.text().replace(COLOURS, "").trimEnd().length, 40);
});

test("a retry is announced by what the provider said, which try it is, and when", () => {
  const retry = { type: "retry", ...TURN, attempt: 1, of: 6, waitMs: 4000, reason: "429 slow down" } as const;
  assert.equal(retryText(retry), "429 slow down: try 2 of 6 in 4 s");
  assert.equal(
    retryText({ ...retry, waitMs: 0, reason: "it takes no such option" }),
    "it takes no such option: asked again",
  );
});

test("what was shown of an answer that broke off is said to be void", () => {
  const { screen, text } = shown(false);
  const watch = createAgentView(screen, (raw) => raw)(NOTHING_SPENT);
  const retry = { type: "retry", ...TURN, attempt: 2, of: 6, waitMs: 2_000, reason: "it broke off" } as const;
  watch(retry);
  watch({ type: "text", ...TURN, text: "Half of" });
  watch(retry);
  watch(retry);
  assert.deepEqual(text().trimEnd().split("\n"), [
    "it broke off: try 3 of 6 in 2 s",
    "Half of",
    "it broke off: try 3 of 6 in 2 s",
    "What it said since it was asked is void; it begins again.",
    "it broke off: try 3 of 6 in 2 s",
  ]);
});
