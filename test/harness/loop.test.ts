import assert from "node:assert/strict";
import { test } from "node:test";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import { checkTranscript } from "#src/harness/transcript.ts";
import type { ModelEvent } from "#src/model/model.ts";
import { call, failure, reply } from "#test/support/canned-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { playAgent } from "./fixture.ts";

function toolTexts(messages: readonly { role: string; content: string }[]): string[] {
  return messages.filter((message) => message.role === "tool").map((message) => message.content);
}

test("a run ends with the model's final answer and a valid transcript", async () => {
  const { end, checkpoints } = await playAgent([
    reply("", call("read", { value: "a" })),
    reply("Fix it\n\nBecause."),
  ]);
  assert.equal(end.status, "done");
  assert.equal(end.finalText, "Fix it\n\nBecause.");
  assert.deepEqual(
    end.messages.map((message) => message.role),
    ["system", "user", "assistant", "tool", "assistant"],
  );
  assert.deepEqual(checkTranscript(end.messages), []);
  assert.deepEqual(end.toolCalls, { read: { ok: 1, errors: 0 } });
  assert.equal(end.spent.turns, 2);
  assert.equal(checkpoints.length, 2);
  assert.deepEqual(checkpoints[1]?.messages, end.messages);
});

test("a feedback round goes on in the same transcript and counts on from what was spent", async () => {
  const first = await playAgent([reply("first answer")]);
  const second = await playAgent([reply("second answer")], {
    prior: first.end.messages,
    spent: first.end.spent,
    task: "The tests still fail.",
    system: "another system prompt",
  });
  assert.deepEqual(second.end.messages.slice(0, first.end.messages.length), first.end.messages);
  assert.equal(second.end.spent.turns, 2);
  assert.equal(second.end.finalText, "second answer");
});

test("A07: empty arguments are an empty object and missing fields are a tool error naming them", async () => {
  const { end } = await playAgent([reply("", call("read", " ")), reply("ok")]);
  assert.match(toolTexts(end.messages)[0] ?? "", /`value`: is missing/);
  assert.deepEqual(checkTranscript(end.messages), []);
});

test("A10: text with whole calls is not the end, whatever the finish reason says", async () => {
  const { end, log } = await playAgent([reply("let me look", call("read", { value: "a" })), reply("done")]);
  assert.deepEqual(log.lines, ["start read a", "end read a"]);
  assert.equal(end.spent.turns, 2);
});

test("A04: a call id used twice, in one reply or over turns, is replaced and each call answered once", async () => {
  const twice = reply("", call("read", { value: "a" }, "x"), call("read", { value: "b" }, "x"));
  const { end, log } = await playAgent([twice, reply("", call("read", { value: "c" }, "x")), reply("ok")]);
  assert.deepEqual(checkTranscript(end.messages), []);
  assert.deepEqual(toolTexts(end.messages), ["read a", "read b", "read c"]);
  assert.equal(log.lines.length, 6);
});

test("A06: an empty call id is minted and answered under the same id", async () => {
  const { end } = await playAgent([reply("", call("read", { value: "a" }, "")), reply("ok")]);
  const asked = end.messages[2];
  const answered = end.messages[3];
  assert.ok(asked?.role === "assistant" && answered?.role === "tool");
  assert.equal(asked.calls[0]?.id, answered.callId);
  assert.notEqual(answered.callId, "");
});

test("A18: a reply cut off at the output limit runs none of its calls, and repeats are bounded", async () => {
  const cut = {
    ...reply("", call("write", '{"value":"line1\\nli'), call("write", { value: "whole" })),
    finish: "truncated" as const,
  };
  const { end, log } = await playAgent([cut]);
  assert.deepEqual(log.lines, []);
  assert.equal(end.status, "truncated");
  assert.equal(end.spent.turns, 3);
  assert.ok(toolTexts(end.messages).every((text) => text.includes("smaller pieces")));
  assert.deepEqual(checkTranscript(end.messages), []);
});

test("a text answer cut off at the output limit is not taken for the final one", async () => {
  const { end } = await playAgent([
    { ...reply("The fix is to"), finish: "truncated" },
    reply("Whole answer"),
  ]);
  assert.equal(end.status, "done");
  assert.equal(end.finalText, "Whole answer");
});

test("A27: an unknown tool is answered with the valid names and the loop goes on", async () => {
  const { end } = await playAgent([reply("", call("generic_command", {})), reply("ok")]);
  assert.equal(end.status, "done");
  assert.match(toolTexts(end.messages)[0] ?? "", /no tool named generic_command.*read, write, fail, crash/);
  assert.deepEqual(end.toolCalls, { generic_command: { ok: 0, errors: 1 } });
});

test("A27: a model that never stops inventing tools is told once and then stopped", async () => {
  const { end, events } = await playAgent([reply("", call("no_such_tool", { value: "x" }))]);
  assert.equal(end.status, "no_progress");
  assert.equal(events.filter((event) => event.type === "notice").length, 1);
  assert.equal(end.spent.turns, 4);
});

test("a tool that throws is an error result and ends nothing", async () => {
  const { end } = await playAgent([reply("", call("crash", { value: "a" })), reply("ok")]);
  assert.equal(end.status, "done");
  assert.match(toolTexts(end.messages)[0] ?? "", /crash itself failed: a defect of the tool/);
});

test("an empty answer is nudged once and a second one ends the run", async () => {
  const { end, events } = await playAgent([reply(""), reply("  ")]);
  assert.equal(end.status, "no_progress");
  assert.equal(events.filter((event) => event.type === "notice" && event.kind === "empty_answer").length, 1);
  const saved = await playAgent([reply(""), reply("here it is")]);
  assert.equal(saved.end.status, "done");
  assert.deepEqual(checkTranscript(saved.end.messages), []);
});

test("a refused reply runs nothing and stops with its own status", async () => {
  const { end, log } = await playAgent([
    { ...reply("no", call("write", { value: "a" })), finish: "refused" },
  ]);
  assert.equal(end.status, "refused");
  assert.deepEqual(log.lines, []);
  assert.deepEqual(checkTranscript(end.messages), []);
});

test("B08: a failure after progress is reported with its cause, and what was done is kept", async () => {
  const { end } = await playAgent([
    reply("", call("read", { value: "a" })),
    reply("", call("write", { value: "b" })),
    failure("server_error", "500 after 6 tries"),
  ]);
  assert.equal(end.status, "model_failed");
  assert.match(end.message, /500 after 6 tries/);
  assert.deepEqual(toolTexts(end.messages), ["read a", "wrote b"]);
  assert.equal(end.spent.turns, 2);
});

test("a context overflow reported by the provider is context_full and is not repeated", async () => {
  const { end, model } = await playAgent([failure("context_overflow", "prompt too long")]);
  assert.equal(end.status, "context_full");
  assert.equal(model.requests.length, 1);
});

test("a stream that ends without an end, or throws, is a failed model and not a crash", async () => {
  const silent = async function* (): AsyncIterable<ModelEvent> {
    yield { type: "text", text: "half" };
  };
  const throwing = async function* (): AsyncIterable<ModelEvent> {
    yield { type: "text", text: "half" };
    throw new Error("against the contract");
  };
  assert.equal((await playAgent([silent])).end.status, "model_failed");
  assert.match((await playAgent([throwing])).end.message, /against the contract/);
});

test("I02: a cancel during one of two calls answers both and stops as cancelled by whom", async () => {
  const controller = new AbortController();
  const two = reply("", call("write", { value: "a" }), call("write", { value: "b" }));
  const { end, log, model } = await playAgent([two], {
    signal: controller.signal,
    observe: (event) => {
      if (event.type === "call") controller.abort("cancelled by octocat");
    },
  });
  assert.equal(end.status, "cancelled");
  assert.match(end.message, /cancelled by octocat/);
  assert.deepEqual(checkTranscript(end.messages), []);
  assert.ok(toolTexts(end.messages).every((text) => text.startsWith("cancelled by octocat")));
  assert.deepEqual(log.lines, []);
  assert.equal(model.requests.length, 1);
});

test("a cancel ends a model that does not react to its signal", async () => {
  const controller = new AbortController();
  const stuck = async function* (): AsyncIterable<ModelEvent> {
    yield { type: "text", text: "thinking" };
    controller.abort("cancelled by octocat");
    await new Promise(() => undefined);
  };
  const { end } = await playAgent([stuck], { signal: controller.signal });
  assert.equal(end.status, "cancelled");
});

test("the wall clock ends a request that hangs, over all rounds of a run", async () => {
  const clock = createManualClock();
  const stuck = async function* (): AsyncIterable<ModelEvent> {
    yield { type: "text", text: "thinking" };
    await new Promise(() => undefined);
  };
  const playing = playAgent([stuck], {
    clock,
    limits: { wallClockMs: 60_000 },
    spent: { ...NOTHING_SPENT, ms: 50_000 },
  });
  await clock.advance(10_000);
  const { end } = await playing;
  assert.equal(end.status, "wall_clock");
  assert.equal(end.spent.ms, 60_000);
  assert.equal(clock.pending(), 0);
});

test("an invalid prior transcript is a defect of ours: nothing is sent", async () => {
  const { end, model } = await playAgent([reply("ok")], {
    prior: [
      { role: "system", content: "s" },
      { role: "user", content: "u" },
      { role: "tool", callId: "x", name: "read", content: "orphan" },
    ],
  });
  assert.equal(end.status, "internal");
  assert.equal(model.requests.length, 0);
});

test("I05: calls that were open when the process died are answered before anything is sent", async () => {
  const { end, model } = await playAgent([reply("ok")], {
    task: "",
    prior: [
      { role: "system", content: "s" },
      { role: "user", content: "u" },
      { role: "assistant", content: "", calls: [call("write", { value: "a" }, "open00001")] },
    ],
  });
  assert.equal(end.status, "done");
  assert.deepEqual(checkTranscript(model.requests[0]?.messages ?? []), []);
  assert.match(toolTexts(end.messages)[0] ?? "", /interrupted by a restart/);
});

test("a checkpoint that cannot be written ends the run as internal, with the transcript kept", async () => {
  const { end } = await playAgent([reply("", call("read", { value: "a" }))], {
    checkpoint: async () => {
      throw new Error("disk full");
    },
  });
  assert.equal(end.status, "internal");
  assert.match(end.message, /disk full/);
  assert.deepEqual(toolTexts(end.messages), ["read a"]);
});

test("A20: provider fields of a reply are sent back unchanged and are no part of the answer", async () => {
  const thinking = { ...reply("", call("read", { value: "a" })), extra: { reasoning_content: "hm" } };
  const { end, model } = await playAgent([thinking, reply("answer")]);
  const sent = model.requests[1]?.messages[2];
  assert.ok(sent?.role === "assistant");
  assert.deepEqual(sent.extra, { reasoning_content: "hm" });
  assert.equal(end.finalText, "answer");
});

test("every request begins with the whole previous one", async () => {
  const steps = ["a", "b", "c"].map((value) => reply("", call("read", { value })));
  const { events } = await playAgent([...steps, reply("done")]);
  const stabilities = events.flatMap((event) => (event.type === "request" ? [event.prefixStability] : []));
  assert.deepEqual(stabilities, [null, 1, 1, 1]);
});

test("what a maintainer adds meanwhile becomes a message, also after a final answer", async () => {
  const added = [[], ["use tabs"], []];
  const { end } = await playAgent(
    [reply("", call("read", { value: "a" })), reply("finished"), reply("with tabs")],
    {
      instructions: () => added.shift() ?? [],
    },
  );
  assert.equal(end.finalText, "with tabs");
  const users = end.messages.filter((message) => message.role === "user");
  assert.match(users[1]?.content ?? "", /maintainer.*\nuse tabs/);
});
