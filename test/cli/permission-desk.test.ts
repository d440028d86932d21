/** The question before a call: what it shows, what answers mean, and that time stands still meanwhile. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createPausableClock } from "#src/cli/pausable-clock.ts";
import { createPermissionDesk, questionText, readAnswer } from "#src/cli/permission-desk.ts";
import type { Screen } from "#src/cli/screen.ts";
import type { Tool } from "#src/harness/tool.ts";
import type { Grant } from "#src/tools/permission.ts";
import { createManualClock } from "#test/support/manual-clock.ts";

const FILE: Grant = { kind: "edit", path: "a" };
const ALL: Grant = { kind: "edits" };

test("only a clear answer counts: yes, no, no with a reason, always for what was offered", () => {
  const refuse = (reason: string) => ({ kind: "refuse", reason });
  const allow = (grant: Grant | null) => ({ kind: "allow", grant });
  for (const [line, expected] of [
    ["y", allow(null)],
    ["Yes", allow(null)],
    ["n", refuse("")],
    ["no", refuse("")],
    ["n use the helper", refuse("use the helper")],
    ["no  not  that ", refuse("not  that")],
    ["a", allow(FILE)],
    ["A", allow(ALL)],
    ["", null],
    ["yy", null],
    ["y please", null],
    ["a b", null],
    ["always", null],
    ["nope", null],
    ["g", null],
  ] as const)
    assert.deepEqual(readAnswer(line, [FILE, ALL]), expected, JSON.stringify(line));
  assert.equal(readAnswer("a", []), null);
  assert.equal(readAnswer("A", [FILE]), null);
});

test("the question shows the whole of the arguments, and nothing in them can pass for something else", () => {
  const long = "x".repeat(5_000);
  const text = questionText("edit_file", {
    path: "src/\u202egnp.js",
    old: "a\tb\\n\r",
    new: `one\n  two\u001b[2A\n${long}é…`,
    count: 3,
  });
  assert.deepEqual(text.split("\n"), [
    "? edit_file",
    "  path: src/\\u{202e}gnp.js",
    "  old: a\\u{9}b\\\\n\\u{d}",
    "  new:",
    "  | one",
    "  |   two\\u{1b}[2A",
    `  | ${long}é…`,
    "  count: 3",
  ]);
});

interface Scene {
  readonly ran: string[];
  readonly questions: string[];
  call(command: string, signal?: AbortSignal): Promise<string>;
}

/** `answers` are given one after another; when there is none left, the question waits for the signal. */
function scene(...answers: readonly string[]): Scene {
  const ran: string[] = [];
  const questions: string[] = [];
  const left = [...answers];
  const screen: Screen = {
    print: (text) => void questions.push(text),
    line: () => undefined,
    piece: () => undefined,
    flush: () => undefined,
    width: () => 80,
  };
  const desk = createPermissionDesk({
    screen,
    ask: (_question, signal) => {
      const next = left.shift();
      if (next !== undefined) return Promise.resolve(next);
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null)));
    },
    whileThinking: (work) => work(),
  });
  const tool: Tool<{ command: string }> = {
    name: "run_command",
    description: "",
    schema: z.object({ command: z.string() }),
    readOnly: false,
    run: async ({ command }) => {
      ran.push(command);
      return { status: "ok", text: "done" };
    },
  };
  const guarded = desk.guard(tool as Tool);
  return {
    ran,
    questions,
    call: async (command, signal = new AbortController().signal) => {
      const { status, text } = await guarded.run({ command }, { signal });
      return `${status}: ${text}`;
    },
  };
}

test("what was always allowed is not asked again in this sitting; the same words with shell syntax are", async () => {
  const { call, ran, questions } = scene("what?", "a", "n it deletes");
  assert.equal(await call("npm test"), "ok: done");
  assert.equal(await call("npm test --verbose"), "ok: done");
  assert.match(await call("npm test; rm -r ."), /^error: .*refused.*They say: it deletes/s);
  assert.deepEqual(ran, ["npm test", "npm test --verbose"]);
  assert.equal(questions.length, 2);
});

test("a cancel ends the wait for an answer, and is no refusal", async () => {
  const { call, ran } = scene();
  const stop = new AbortController();
  const called = call("ls", stop.signal);
  stop.abort(new Error("cancelled by the person at the keyboard"));
  await assert.rejects(called, /cancelled by the person/);
  assert.deepEqual(ran, []);
});

test("while a person thinks, the run's time stands still: no limit is reached by waiting", async () => {
  const real = createManualClock();
  const clock = createPausableClock(real);
  const begun = clock.now();
  const fired: string[] = [];
  clock.timer(1_000, () => fired.push("timer"));
  const slept = clock.sleep(1_000).then(() => fired.push("sleep"));
  const thinking = Promise.withResolvers<void>();
  await real.advance(400);
  const paused = clock.pausedDuring(() => thinking.promise);
  await real.advance(3_600_000);
  assert.deepEqual([clock.now() - begun, fired], [400, []]);
  thinking.resolve();
  await paused;
  await real.advance(599);
  assert.deepEqual([clock.now() - begun, fired], [999, []]);
  await real.advance(1);
  await slept;
  assert.deepEqual([clock.now() - begun, fired.sort()], [1_000, ["sleep", "timer"]]);
});
