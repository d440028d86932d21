/** A run that outgrows its window: what is cleared, what is handed over, and what a provider's refusal leads to. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { z } from "zod";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import type { ContextPolicy } from "#src/harness/context-policy.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import { readHandOver } from "#src/harness/hand-over.ts";
import { estimateTokens } from "#src/harness/tokens.ts";
import type { Tool } from "#src/harness/tool.ts";
import { checkTranscript, requestFaults } from "#src/harness/transcript.ts";
import type { Message, ModelEvent, ModelRequest, Reply } from "#src/model/model.ts";
import { call, failure, reply, type Step } from "#test/support/canned-model.ts";
import { type Played, type PlaySetup, playAgent } from "./fixture.ts";

const POLICY: ContextPolicy = {
  trigger: 105_000,
  budget: 37_000,
  keepTurns: 10,
  noteShare: 0.05,
  stub: null,
};

const ROOMY = { turns: 500, totalTokens: 1e9, contextTokens: 1e6, maxOutputTokens: 8_000 };

function asksForNote(request: Pick<ModelRequest, "messages">): boolean {
  const last = request.messages.at(-1);
  return last?.role === "user" && last.content.startsWith("[harness] Your earlier turns");
}

/** A tool whose every result has so many characters, none like the one before. */
function pages(chars: number): Tool {
  let n = 0;
  return {
    name: "page",
    description: "a page of text",
    schema: z.object({}),
    readOnly: true,
    run: async () => ({ status: "ok", text: `page ${++n} `.padEnd(chars, "lorem ipsum ") }),
  };
}

/** Calls `page` in each of `turns` turns and then answers; a note is `note`. `usageOf` is what the provider reports. */
function pager(
  turns: number,
  options: {
    readonly text?: string;
    readonly note?: (request: ModelRequest) => Reply | ReturnType<typeof failure>;
    readonly usageOf?: (messages: readonly Message[]) => number;
  } = {},
): Step {
  let asked = 0;
  return async function* (request: ModelRequest): AsyncIterable<ModelEvent> {
    const isNote = asksForNote(request);
    const said = isNote
      ? (options.note ?? (() => reply("Everything is as it was.")))(request)
      : ++asked > turns
        ? reply("done")
        : reply(`${options.text ?? ""}${asked}`, call("page", {}));
    if ("code" in said) return yield { type: "failed", failure: said };
    const inputTokens = options.usageOf?.(request.messages) ?? null;
    yield {
      type: "done",
      reply: { ...said, usage: { inputTokens, cachedTokens: null, outputTokens: null } },
    };
  };
}

const of = <T extends HarnessEvent["type"]>(played: Played, type: T) =>
  played.events.filter((event): event is Extract<HarnessEvent, { type: T }> => event.type === type);

function assertValid(played: Played): void {
  for (const request of played.model.requests) assert.deepEqual(requestFaults(request.messages), []);
  for (const state of played.checkpoints) assert.deepEqual(checkTranscript(state.messages), []);
  assert.deepEqual(checkTranscript(played.end.messages), []);
}

suite("a hundred turns of 3,500 tokens", () => {
  /** The provider's own count: 900 for what never changes, 3,500 for a turn, a word for four characters of a note. */
  const usageOf = (messages: readonly Message[]) =>
    900 +
    3_500 * messages.filter((message) => message.role === "assistant").length +
    messages.reduce(
      (sum, { role, content }) => sum + (role === "user" ? Math.ceil(content.length / 4) : 0),
      0,
    );
  // By characters a turn has about 3,000 tokens: only what the provider reports tells that it has 3,500.
  const play = (context: ContextPolicy, setup: PlaySetup = {}) =>
    playAgent(
      [
        pager(100, {
          text: "x".repeat(800),
          usageOf,
          note: () => reply("A fact, a file, a line. ".repeat(300)),
        }),
      ],
      {
        tools: [pages(7_500)],
        context,
        system: "s".repeat(2_400),
        limits: ROOMY,
        ...setup,
      },
    );

  test("compact exactly four times, on turns 30, 50, 70 and 90, and bill at most 42 % of the uncompacted input", async () => {
    const compacting = await play(POLICY);
    const plain = await play({ ...POLICY, trigger: Number.POSITIVE_INFINITY });
    const compactions = of(compacting, "compacted");
    assert.deepEqual(
      compactions.map((event) => [event.turn, event.keptTurns, event.noteBy]),
      [30, 50, 70, 90].map((turn) => [turn, 10, "model"]),
    );
    assert.deepEqual(of(plain, "compacted"), []);
    assert.equal(compacting.end.spent.turns, 101);
    assert.equal(compacting.model.requests.length, 105);
    for (const { tokens } of compactions) assert.ok(tokens.after <= 37_000, String(tokens.after));
    const billed = compacting.end.spent.inputTokens / plain.end.spent.inputTokens;
    assert.ok(billed <= 0.42, String(billed));
    assertValid(compacting);
  });

  test("a compaction is stored at once, with what its note cost", async () => {
    const played = await play(POLICY);
    assert.equal(played.checkpoints.length, 101 + 4);
    // Thirty turns were stored before the first one.
    const [before, after] = played.checkpoints.slice(29, 31);
    assert.ok(after !== undefined && before !== undefined);
    assert.ok(readHandOver(after.messages[2]?.content ?? "") !== null);
    assert.equal(after.messages.length, 2 + 1 + 2 * 10);
    assert.equal(after.spent.turns, before.spent.turns);
    assert.ok(after.spent.inputTokens > before.spent.inputTokens);
  });

  test("between compactions every request begins with the whole one before it", async () => {
    const played = await play(POLICY);
    const broken = of(played, "request")
      .filter(({ purpose, prefixStability }) => purpose === "turn" && (prefixStability ?? 1) < 1)
      .map(({ turn }) => turn);
    assert.deepEqual(broken, [31, 51, 71, 91]);
    const notes = of(played, "request").filter(({ purpose }) => purpose === "note");
    assert.equal(notes.length, 4);
  });
});

test("prefix stability is 100 % over 50 turns without compaction or stubbing", async () => {
  const played = await playAgent([pager(50)], { tools: [pages(2_000)], limits: { ...ROOMY, turns: 60 } });
  assert.equal(played.end.spent.turns, 51);
  const stabilities = of(played, "request").map(({ prefixStability }) => prefixStability);
  assert.deepEqual(stabilities, [null, ...Array.from({ length: 50 }, () => 1)]);
});

test("old results are cleared in few large steps, newest turns whole, and each step is told", async () => {
  const played = await playAgent([pager(60)], {
    tools: [pages(5_600)],
    context: { ...POLICY, stub: { trigger: 40_000, keepTurns: 10, leastFreed: 15_000 } },
    limits: { ...ROOMY, turns: 70 },
  });
  const steps = of(played, "stubbed");
  assert.ok(steps.length >= 2 && steps.length <= 8, String(steps.length));
  for (const { tokens } of steps) assert.ok(tokens.before - tokens.after >= 15_000);
  const first = steps[0]?.turn ?? 0;
  const after = played.model.requests[first]?.messages ?? [];
  const results = after.filter((message) => message.role === "tool");
  const cleared = results.filter(({ content }) => content === "[cleared: page, 1 line]");
  assert.equal(cleared.length, first - 10);
  assert.ok(results.slice(-10).every(({ content }) => content.length === 5_600));
  assert.deepEqual(of(played, "compacted"), []);
  assertValid(played);
});

suite("a note that fails", () => {
  const small: ContextPolicy = { trigger: 6_000, budget: 3_000, keepTurns: 2, noteShare: 0.1, stub: null };
  const cases: readonly (readonly [string, () => Reply | ReturnType<typeof failure>])[] = [
    ["comes back empty", () => reply("  \n")],
    ["is a call instead of a text", () => reply("", call("page", {}))],
    ["is refused", () => ({ ...reply("I can't"), finish: "refused" })],
    ["fails", () => failure("server_error")],
    ["does not fit into the provider's window", () => failure("context_overflow")],
  ];
  for (const [what, note] of cases)
    test(`that ${what} is written by code, and the run goes on`, async () => {
      const played = await playAgent([pager(8, { note })], {
        tools: [pages(2_800)],
        context: small,
        limits: ROOMY,
      });
      assert.equal(played.end.status, "done");
      const [compaction] = of(played, "compacted");
      assert.equal(compaction?.noteBy, "code");
      assert.match(compaction?.note ?? "", /Calls made:\n- page: done/);
      assert.deepEqual(played.log.lines, [], "no call of a note runs");
      assertValid(played);
    });

  test("a note is not asked for when that would cross the cost cap", async () => {
    const price = { inputUsd: 1_000, cachedUsd: 1_000, outputUsd: 1_000 };
    const played = await playAgent([pager(8)], {
      tools: [pages(2_800)],
      context: small,
      price,
      // Six turns and their growing input are affordable, the note on top is not.
      limits: { ...ROOMY, maxOutputTokens: 1_000, costUsd: 20 },
    });
    assert.equal(played.end.status, "cost_cap");
    assert.ok((played.end.spent.costUsd ?? 99) <= 20);
    assert.ok(!played.model.requests.some(asksForNote));
    assert.equal(of(played, "compacted")[0]?.noteBy, "code");
  });

  test("a note that is too long is cut to what the budget leaves", async () => {
    const played = await playAgent([pager(8, { note: () => reply("word ".repeat(50_000)) })], {
      tools: [pages(2_800)],
      context: small,
      limits: ROOMY,
    });
    for (const { tokens } of of(played, "compacted")) assert.ok(tokens.after <= small.budget);
  });
});

test("the to-do list, what maintainers said and what was told once survive two compactions", async () => {
  const todos: Tool = {
    name: "update_todos",
    description: "the list",
    schema: z.object({ items: z.string() }),
    readOnly: false,
    run: async (args) => ({ status: "ok", text: (args as { items: string }).items }),
  };
  const said = [["use tabs"]];
  let asked = 0;
  const played = await playAgent(
    [
      async function* (request: ModelRequest) {
        if (asksForNote(request)) return yield { type: "done" as const, reply: reply("noted") };
        asked++;
        if (asked === 1)
          return yield {
            type: "done" as const,
            reply: reply("", call("update_todos", { items: "[ ] find\n[x] fix" })),
          };
        yield { type: "done" as const, reply: asked > 12 ? reply("done") : reply("", call("page", {})) };
      },
    ],
    {
      tools: [pages(2_800), todos],
      context: { trigger: 6_000, budget: 3_500, keepTurns: 2, noteShare: 0.1, stub: null },
      // 80 % of the turns are used from the start: the notice stands in turns that are cleared.
      limits: { ...ROOMY, turns: 100 },
      spent: { ...NOTHING_SPENT, turns: 80 },
      instructions: () => said.pop() ?? [],
    },
  );
  const compactions = of(played, "compacted");
  assert.ok(compactions.length >= 2);
  for (const { note } of compactions) {
    const handed = readHandOver(note);
    assert.equal(handed?.todos, "[ ] find\n[x] fix");
    assert.deepEqual(handed?.asked, ["[harness] A maintainer of the repository adds:\nuse tabs"]);
    assert.equal(handed?.note, "noted");
  }
  assert.equal(of(played, "notice").filter(({ kind }) => kind === "wrap_up").length, 1);
  assertValid(played);
});

suite("B01: a window smaller than it is said to be", () => {
  /** Refuses requests of more than `tokens`, as the provider counts them. */
  const refusing =
    (tokens: number, step: Step): Step =>
    (request) => {
      const size = estimateTokens(JSON.stringify(request.messages));
      if (size <= tokens && typeof step === "function") return step(request);
      return (async function* () {
        const message = `Prompt has ${size} tokens, but the configured context size is ${tokens} tokens`;
        yield { type: "failed" as const, failure: failure("context_overflow", message) };
      })();
    };

  test("the transcript is made smaller and sent again, right after calls were made too, never the same bytes", async () => {
    const played = await playAgent([refusing(12_000, pager(30))], {
      tools: [pages(2_800)],
      limits: { ...ROOMY, turns: 40, contextTokens: 128_000 },
    });
    assert.equal(played.end.status, "done", played.end.message);
    assert.equal(played.end.spent.turns, 31);
    assert.ok(of(played, "compacted").some(({ reason }) => reason === "overflow"));
    const sent = played.model.requests.map(({ messages }) => JSON.stringify(messages));
    assert.equal(new Set(sent).size, sent.length, "no request was repeated");
    // The refusal was learnt from: later compactions come before the provider refuses again.
    assert.equal(of(played, "failed").filter(({ purpose }) => purpose === "turn").length, 1);
    assertValid(played);
  });

  test("what can't be made smaller ends as context_full after one request, what stays too large after three", async () => {
    const alone = await playAgent([failure("context_overflow", "prompt too long")]);
    assert.equal(alone.end.status, "context_full");
    assert.equal(alone.model.requests.length, 1);
    const stubborn = await playAgent(
      [...Array.from({ length: 8 }, () => reply("", call("page", {}))), failure("context_overflow")],
      {
        tools: [pages(2_800)],
        limits: ROOMY,
      },
    );
    assert.equal(stubborn.end.status, "context_full");
    const turns = stubborn.model.requests.filter((request) => !asksForNote(request));
    assert.equal(turns.length, 8 + 3);
    assert.equal(new Set(turns.map(({ messages }) => JSON.stringify(messages))).size, turns.length);
    assertValid(stubborn);
  });
});

test("B04, I06: fresh results that are larger than the window are clipped before they are sent, and the run goes on", async () => {
  const flood: Tool = {
    name: "grep",
    description: "one line of 600 kB",
    schema: z.object({}),
    readOnly: true,
    run: async () => ({ status: "ok", text: "那x".repeat(300_000) }),
  };
  const played = await playAgent(
    [
      reply("", ...Array.from({ length: 6 }, () => call("grep", {}))),
      reply("", call("grep", {})),
      reply("done"),
    ],
    { tools: [flood], limits: { ...ROOMY, contextTokens: 4_000, maxOutputTokens: 1_000 } },
  );
  assert.equal(played.end.status, "done", played.end.message);
  for (const { messages } of played.model.requests)
    assert.ok(estimateTokens(JSON.stringify(messages)) < 3_600, "it fits the window");
  assert.match(
    played.end.messages.find(({ role }) => role === "tool")?.content ?? "",
    /characters left out|cleared/,
  );
  assertValid(played);
});

test("a task that fills the window alone is not compacted turn after turn", async () => {
  const played = await playAgent([pager(6)], {
    tools: [pages(100)],
    task: "x".repeat(30_000),
    context: { trigger: 9_000, budget: 4_000, keepTurns: 10, noteShare: 0.05, stub: null },
    limits: ROOMY,
  });
  assert.equal(played.end.status, "done");
  assert.deepEqual(of(played, "compacted"), []);
});

test("a cancel while the note is written ends the run as cancelled, with a valid transcript", async () => {
  const controller = new AbortController();
  const played = await playAgent(
    [
      pager(8, {
        note: () => {
          controller.abort("cancelled by octocat");
          return reply("too late");
        },
      }),
    ],
    {
      tools: [pages(2_800)],
      context: { trigger: 6_000, budget: 3_000, keepTurns: 2, noteShare: 0.1, stub: null },
      limits: ROOMY,
      signal: controller.signal,
    },
  );
  assert.equal(played.end.status, "cancelled");
  assertValid(played);
});
