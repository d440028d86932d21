/** The sub-agent: it can only read, lives on a share of the budget, answers shortly, and its trace nests in its call's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import { DELEGATE_PROMPT, delegateLimits, delegateTool } from "#src/harness/delegate.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import { SYSTEM_PROMPT } from "#src/harness/prompt.ts";
import type { Tool } from "#src/harness/tool.ts";
import { toolSpec } from "#src/harness/tool-calls.ts";
import { checkTranscript } from "#src/harness/transcript.ts";
import type { ModelRequest, Reply } from "#src/model/model.ts";
import { createTools } from "#src/tools/tools.ts";
import { call, reply, type Step } from "#test/support/canned-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { countingIds, LIMITS, playAgent, recordingTools, type ToolLog } from "./fixture.ts";

const USAGE = { inputTokens: 1_000, cachedTokens: 0, outputTokens: 100 };
const PRICE = { inputUsd: 10, cachedUsd: 1, outputUsd: 100 };

function isChild(request: Pick<ModelRequest, "messages">): boolean {
  return request.messages[0]?.content === DELEGATE_PROMPT;
}

/** One model for both: the child's replies by its task, the parent's in order. */
function bothAgents(parent: readonly Reply[], child: (task: string, turn: number) => Reply): Step {
  let asked = 0;
  return async function* (request: ModelRequest) {
    const said = isChild(request)
      ? child(
          request.messages[1]?.content ?? "",
          request.messages.filter(({ role }) => role === "assistant").length + 1,
        )
      : (parent[asked++] ?? reply("done"));
    yield { type: "done" as const, reply: { ...said, usage: USAGE } };
  };
}

async function playBoth(
  step: Step,
  limits: Partial<typeof LIMITS> = {},
  signal = new AbortController().signal,
) {
  const log: ToolLog = { lines: [] };
  const nested: HarnessEvent[] = [];
  const { cannedModel } = await import("#test/support/canned-model.ts");
  const model = cannedModel([step]);
  const tools = recordingTools(log);
  const clock = createManualClock();
  const delegate = delegateTool({
    model,
    tools,
    limits: { ...LIMITS, ...limits },
    price: PRICE,
    clock,
    ids: countingIds(),
    observe: (event) => void nested.push(event),
  });
  const played = await playAgent([step], {
    model,
    tools: [...tools, delegate],
    limits,
    price: PRICE,
    clock,
    signal,
  });
  return { ...played, log, nested, sent: model.requests };
}

test("the sub-agent has a fresh transcript and the read-only tools, no delegate among them, and answers its call", async () => {
  const step = bothAgents(
    [reply("", call("delegate", { task: "Where is add()?" }, "ask000001")), reply("done")],
    (task, turn) =>
      turn === 1 ? reply("", call("read", { value: "a" })) : reply(`${task} In src/add.js:1.`),
  );
  const { end, sent, log } = await playBoth(step);
  assert.equal(end.status, "done");
  const result = end.messages.find(({ role }) => role === "tool");
  assert.equal(result?.content, "Where is add()? In src/add.js:1.");
  assert.deepEqual(end.toolCalls, { delegate: { ok: 1, errors: 0 } });
  assert.deepEqual(log.lines, ["start read a", "end read a"]);
  const [first] = sent.filter(isChild);
  assert.deepEqual(
    first?.tools.map((tool) => tool.name),
    ["read", "fail"],
  );
  assert.deepEqual(
    first?.messages.map(({ role, content }) => [role, content]),
    [
      ["system", DELEGATE_PROMPT],
      ["user", "Where is add()?"],
    ],
  );
});

test("what the sub-agent uses counts against its run, but its replies are no turns of it", async () => {
  const step = bothAgents([reply("", call("delegate", { task: "q" })), reply("done")], (_, turn) =>
    turn < 3 ? reply("", call("read", { value: `${turn}` })) : reply("answer"),
  );
  const { end } = await playBoth(step);
  assert.equal(end.spent.turns, 2);
  assert.equal(end.spent.inputTokens, 5 * 1_000);
  assert.equal(end.spent.outputTokens, 5 * 100);
  assert.ok(Math.abs((end.spent.costUsd ?? 0) - 5 * 0.02) < 1e-9);
});

test("everything in the sub-agent is observed under the turn and the id of its call", async () => {
  const step = bothAgents(
    [reply("", call("read", { value: "x" })), reply("", call("delegate", { task: "q" }, "ask000001"))],
    (_, turn) => (turn === 1 ? reply("", call("read", { value: "a" })) : reply("answer")),
  );
  const { nested } = await playBoth(step);
  const kinds = nested.map((event) => {
    assert.ok(event.type === "nested" && event.turn === 2 && event.callId === "ask000001");
    return event.event.type;
  });
  assert.deepEqual(kinds, ["request", "reply", "call", "result", "request", "reply", "stop"]);
});

test("an answer has at most 2,000 characters; a sub-agent that does not finish says so with its last words", async () => {
  const long = await playBoth(
    bothAgents([reply("", call("delegate", { task: "q" }))], () => reply("x".repeat(9_000))),
  );
  const answer = long.end.messages.find(({ role }) => role === "tool")?.content ?? "";
  assert.ok(answer.length <= 2_000 && answer.includes("characters left out"));
  let n = 0;
  const endless = await playBoth(
    bothAgents([reply("", call("delegate", { task: "q" }))], () =>
      reply("so far", call("read", { value: `${++n}` })),
    ),
  );
  const text = endless.end.messages.find(({ role }) => role === "tool")?.content ?? "";
  assert.match(text, /did not finish \(turn_cap\).*\nIts last words: so far/);
  assert.equal(endless.end.toolCalls.delegate?.errors, 1);
  assert.equal(endless.end.status, "done");
});

test("several delegations of one reply run one after another, each on a share of what is then left", async () => {
  const order: string[] = [];
  const asked = ["one", "two", "three"].map((task) => call("delegate", { task }));
  const step = bothAgents([reply("", ...asked)], (task, turn) => {
    order.push(`${task} ${turn}`);
    return turn === 1 ? reply("", call("read", { value: task })) : reply(`about ${task}`);
  });
  const { end } = await playBoth(step);
  assert.deepEqual(order, ["one 1", "one 2", "two 1", "two 2", "three 1", "three 2"]);
  assert.deepEqual(
    end.messages.flatMap((message) => (message.role === "tool" ? [message.content] : [])),
    ["about one", "about two", "about three"],
  );
  assert.deepEqual(checkTranscript(end.messages), []);
});

test("its limits are a share of what the run has left, and nothing when nothing is left", () => {
  const limits = { ...LIMITS, costUsd: 4 };
  const half = { ...NOTHING_SPENT, turns: 45, inputTokens: 500_000, costUsd: 2, ms: 29 * 60_000 };
  assert.deepEqual(delegateLimits(limits, half), {
    ...limits,
    turns: 5,
    totalTokens: 125_000,
    costUsd: 0.5,
    wallClockMs: 60_000,
  });
  const over = { ...NOTHING_SPENT, turns: 60, inputTokens: 2_000_000, costUsd: 5, ms: 31 * 60_000 };
  const none = delegateLimits(limits, over);
  assert.deepEqual([none.turns, none.totalTokens, none.costUsd, none.wallClockMs], [0, 0, 0, 0]);
});

test("a cancel reaches the sub-agent, and both transcripts end sealed", async () => {
  const controller = new AbortController();
  const step = bothAgents([reply("", call("delegate", { task: "q" }))], () => {
    controller.abort("cancelled by octocat");
    return reply("", call("read", { value: "a" }));
  });
  const { end, log } = await playBoth(step, {}, controller.signal);
  assert.equal(end.status, "cancelled");
  assert.deepEqual(log.lines, []);
  assert.deepEqual(checkTranscript(end.messages), []);
});

test("system prompt and all tools of a run, delegate included, are at most 8,000 characters as sent", () => {
  const real = createTools({
    session: { enforcement: {}, exec: () => assert.fail(), close: async () => undefined },
    directory: "/nowhere",
    owner: null,
    runTests: () => assert.fail(),
  });
  const delegate: Tool = delegateTool({
    model: { id: "none", stream: () => assert.fail() },
    tools: real,
    limits: LIMITS,
    price: null,
    clock: createManualClock(),
    ids: countingIds(),
    observe: () => undefined,
  });
  const specs = [...real, delegate].map(toolSpec);
  const sent =
    SYSTEM_PROMPT.length + JSON.stringify(specs.map((spec) => ({ type: "function", function: spec }))).length;
  assert.ok(sent <= 8_000, String(sent));
});
