import assert from "node:assert/strict";
import { test } from "node:test";
import { NOTHING_SPENT, type StopStatus } from "#src/harness/agent.ts";
import { capReached, nearCap } from "#src/harness/stop.ts";
import { checkTranscript } from "#src/harness/transcript.ts";
import type { Reply } from "#src/model/model.ts";
import { call, reply } from "#test/support/canned-model.ts";
import { LIMITS, type PlaySetup, playAgent } from "./fixture.ts";

let n = 0;
/** A turn that makes progress: its call is never the same. */
function working(usage: Partial<Reply["usage"]> = {}) {
  return async function* () {
    const asked = reply("", call("read", { value: `file ${++n}` }));
    const full = { ...asked, usage: { ...asked.usage, ...usage } };
    yield { type: "done" as const, reply: full };
  };
}

const PRICE = { inputUsd: 10, cachedUsd: 1, outputUsd: 100 };

const caps: readonly (readonly [StopStatus, PlaySetup, Partial<Reply["usage"]>])[] = [
  ["turn_cap", { limits: { turns: 5 } }, {}],
  ["token_cap", { limits: { totalTokens: 50_000 } }, { inputTokens: 9_000, outputTokens: 1_000 }],
  ["cost_cap", { limits: { costUsd: 1 }, price: PRICE }, { inputTokens: 10_000, outputTokens: 1_000 }],
];
for (const [status, setup, usage] of caps)
  test(`the loop stops as ${status} before the request that would cross it, told once at 80 %`, async () => {
    const { end, events } = await playAgent([working(usage)], setup);
    assert.equal(end.status, status);
    assert.deepEqual(checkTranscript(end.messages), []);
    const notices = events.filter((event) => event.type === "notice");
    assert.deepEqual(
      notices.map((event) => event.kind),
      ["wrap_up"],
    );
    const limits = { ...LIMITS, ...setup.limits };
    assert.ok(end.spent.turns <= limits.turns);
    if (limits.costUsd !== null) assert.ok((end.spent.costUsd ?? 0) <= limits.costUsd);
  });

test("the window counts as a cap once nothing can be cleared any more: told at 80 %, context_full when full", async () => {
  const large = (chars: number) => reply("", call("write", { value: `${++n}`.padEnd(chars, "x") }));
  const { end, events } = await playAgent([large(2_000), large(12_000)], {
    task: "x".repeat(43_000),
    limits: { contextTokens: 20_000 },
  });
  assert.equal(end.status, "context_full");
  assert.deepEqual(
    events.flatMap((event) => (event.type === "notice" ? [event.kind] : [])),
    ["wrap_up"],
  );
  assert.deepEqual(checkTranscript(end.messages), []);
});

test("a finished answer beats the cap it crosses", async () => {
  const last = { ...reply("done"), usage: { inputTokens: 90_000, cachedTokens: 0, outputTokens: 900 } };
  const { end } = await playAgent([last], { limits: { totalTokens: 10_000, turns: 1 } });
  assert.equal(end.status, "done");
});

test("a cost cap without a known price leaves the token cap to rule", async () => {
  const { end } = await playAgent([working({ inputTokens: 30_000, outputTokens: 10 })], {
    limits: { costUsd: 0.01, totalTokens: 60_000 },
  });
  assert.equal(end.status, "token_cap");
  assert.equal(end.spent.costUsd, null);
});

test("a cap is never crossed by the estimate of the first request", async () => {
  const { end, model } = await playAgent([reply("never asked")], { limits: { costUsd: 0.05 }, price: PRICE });
  assert.equal(end.status, "cost_cap");
  assert.equal(model.requests.length, 0);
});

test("usage the provider leaves out is counted by estimate and said so", async () => {
  const { end, events } = await playAgent([reply("x".repeat(2_800))], { price: PRICE });
  assert.ok(end.spent.inputTokens > 50 && end.spent.outputTokens > 900);
  assert.equal(end.spent.estimatedRequests, 1);
  assert.ok((end.spent.costUsd ?? 0) > 0.09);
  assert.ok(events.some((event) => event.type === "reply" && event.estimated));
});

test("what earlier rounds spent counts, and the wrap-up is not repeated in a later round", async () => {
  const first = await playAgent([working(), working(), working(), working(), reply("answer")], {
    limits: { turns: 5 },
  });
  assert.equal(first.end.status, "done");
  const second = await playAgent([working()], {
    prior: first.end.messages,
    spent: first.end.spent,
    limits: { turns: 6 },
  });
  assert.equal(second.end.status, "turn_cap");
  assert.equal(second.end.spent.turns, 6);
  const told = second.end.messages.filter(
    (message) => message.role === "user" && message.content.includes("wrap up"),
  );
  assert.equal(told.length, 1);
});

test("caps are judged on spending, the next request and, for cost, the largest reply", () => {
  const facts = { limits: LIMITS, spent: NOTHING_SPENT, nextInputTokens: 1_000, price: PRICE, full: false };
  assert.equal(capReached(facts), null);
  assert.equal(nearCap(facts), null);
  // 1,000 in at $10 and 1,000 out at $100 a million are $0.11.
  assert.equal(capReached({ ...facts, limits: { ...LIMITS, costUsd: 0.1099 } })?.status, "cost_cap");
  assert.equal(capReached({ ...facts, limits: { ...LIMITS, costUsd: 0.1101 } }), null);
  assert.equal(capReached({ ...facts, nextInputTokens: 99_001 })?.status, "context_full");
  assert.equal(capReached({ ...facts, nextInputTokens: 99_000 }), null);
  assert.equal(capReached({ ...facts, spent: { ...NOTHING_SPENT, ms: 1_800_000 } })?.status, "wall_clock");
  assert.match(nearCap({ ...facts, spent: { ...NOTHING_SPENT, turns: 40 } }) ?? "", /40 of 50 turns/);
});

test("no_progress: the same calls with the same results are told at three and stopped at four", async () => {
  const { end, events } = await playAgent([reply("", call("read", { value: "same" }, ""))]);
  assert.equal(end.status, "no_progress");
  assert.equal(end.spent.turns, 4);
  assert.deepEqual(
    events.flatMap((event) => (event.type === "notice" ? [event.turn] : [])),
    [3],
  );
});

test("no_progress: two alternating steps are noticed too", async () => {
  const steps = Array.from({ length: 10 }, (_, at) => reply("", call("read", { value: at % 2 ? "b" : "a" })));
  const { end } = await playAgent(steps);
  assert.equal(end.status, "no_progress");
  assert.equal(end.spent.turns, 5);
});

test("no_progress: the same error from different arguments is told once, then stopped after as many tries again", async () => {
  const steps = Array.from({ length: 10 }, (_, at) => reply("", call("fail", { value: `try ${at}` })));
  const { end, events } = await playAgent(steps);
  assert.equal(end.status, "no_progress");
  assert.equal(end.spent.turns, 6);
  assert.equal(events.filter((event) => event.type === "notice").length, 1);
});

/** The n-th answer of a tool that is of no use. */
const USELESS: Readonly<
  Record<string, (n: number) => { readonly status: "ok" | "error"; readonly text: string }>
> = {
  "a path that is not there": (n) => ({
    status: "error",
    text: `src/${n}.js does not exist.`.replace(/src\S+/, "`$&`"),
  }),
  "a command that fails the same way": (n) => ({
    status: "ok",
    text: `exit code 127 after 0.${n} s\nbash: line 1: frobnicate: command not found\n[A program it names is not installed here.]`,
  }),
  "a suite that cannot start": (n) => ({
    status: "ok",
    text: `exit code 1 after ${n} s\n> jest\nsh: 1: jest: not found`,
  }),
};

for (const [what, answer] of Object.entries(USELESS))
  test(`no_progress: ${what}, whatever is tried, is told once and ends the run`, async () => {
    let n = 0;
    const { z } = await import("zod");
    const tool = {
      ...{ name: "any", description: "", readOnly: false },
      schema: z.object({ value: z.string() }),
      run: async () => answer(++n),
    };
    const steps = Array.from({ length: 10 }, (_, at) => reply("", call("any", { value: `try ${at}` })));
    const { end } = await playAgent(steps, { tools: [tool] });
    assert.equal(end.status, "no_progress");
    assert.equal(end.spent.turns, 6);
  });

test("A27, no_progress: a new name for each tool that does not exist is the same error all the same", async () => {
  const names = [
    "grep",
    "shell",
    "hack_planet",
    "str_replace_editor",
    "bash",
    "cat",
    "open",
    "finish",
    "todo",
  ];
  const { end, events } = await playAgent(names.map((name) => reply("", call(name, { path: "a" }))));
  assert.equal(end.status, "no_progress");
  assert.equal(end.spent.turns, 6);
  assert.equal(events.filter((event) => event.type === "notice").length, 1);
});

test("commands that fail without a word or in different ways, and those with work between them, are no circle", async () => {
  const { z } = await import("zod");
  const answers = [
    ...Array.from({ length: 7 }, () => "exit code 1 after 0.1 s\n(no output)"),
    ...Array.from({ length: 7 }, (_, at) => `exit code 1 after 0.1 s\n${"abcdefg"[at]} failed`),
  ];
  let n = 0;
  const tool = {
    ...{ name: "shell", description: "", readOnly: false },
    schema: z.object({ value: z.string() }),
    run: async () => ({ status: "ok" as const, text: answers[n++] ?? "exit code 0 after 0.1 s\nok" }),
  };
  const looks = answers.map((_, at) => reply("", call("shell", { value: `look ${at}` })));
  const { end, events } = await playAgent([...looks, reply("done")], { tools: [tool] });
  assert.equal(end.status, "done");
  assert.deepEqual(
    events.filter((event) => event.type === "notice"),
    [],
  );
});

test("no_progress: a model that heeds the notice goes on", async () => {
  const same = () => reply("", call("read", { value: "same" }));
  const { end } = await playAgent([
    same(),
    same(),
    same(),
    reply("", call("write", { value: "x" })),
    same(),
    reply("ok"),
  ]);
  assert.equal(end.status, "done");
});

test("durations in results do not hide a circle", async () => {
  let ms = 0;
  const timed = { name: "timed", description: "", readOnly: true };
  const { z } = await import("zod");
  const tool = {
    ...timed,
    schema: z.object({}),
    run: async () => ({ status: "ok" as const, text: `exit code 1 after ${++ms}.3 s` }),
  };
  const { end } = await playAgent([reply("", call("timed", {}))], { tools: [tool] });
  assert.equal(end.status, "no_progress");
});
