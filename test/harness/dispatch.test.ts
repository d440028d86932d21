import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { type DispatchContext, dispatch } from "#src/harness/dispatch.ts";
import type { Tool } from "#src/harness/tool.ts";
import { parseCalls } from "#src/harness/tool-calls.ts";
import { call } from "#test/support/canned-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";

interface Gate {
  readonly started: string[];
  release(name: string): void;
}

/** Tools that wait until they are let go. */
function gatedTools(): { readonly tools: readonly Tool[]; readonly gate: Gate } {
  const waiting = new Map<string, () => void>();
  const started: string[] = [];
  const make = (name: string, readOnly: boolean): Tool<{ id: string }> => ({
    name,
    description: "",
    schema: z.object({ id: z.string() }),
    readOnly,
    run: ({ id }) => {
      started.push(id);
      return new Promise((resolve) => waiting.set(id, () => resolve({ status: "ok", text: `result ${id}` })));
    },
  });
  const release = (name: string) => {
    assert.ok(waiting.has(name), `${name} has not started`);
    waiting.get(name)?.();
  };
  return { tools: [make("read", true), make("write", false)], gate: { started, release } };
}

function context(over: Partial<DispatchContext> = {}): DispatchContext {
  return {
    signal: new AbortController().signal,
    clock: createManualClock(),
    resultChars: 8_000,
    onCall: () => undefined,
    onResult: () => undefined,
    ...over,
  };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test("reads run together, writes one after another, and results come back in the order asked", async () => {
  const { tools, gate } = gatedTools();
  const asked = [
    call("read", { id: "r1" }),
    call("read", { id: "r2" }),
    call("write", { id: "w1" }),
    call("write", { id: "w2" }),
    call("read", { id: "r3" }),
  ];
  const running = dispatch(parseCalls("complete", asked, tools), context());
  await settle();
  assert.deepEqual(gate.started, ["r1", "r2"]);
  gate.release("r2");
  await settle();
  assert.deepEqual(gate.started, ["r1", "r2"], "a write waits for the reads before it");
  gate.release("r1");
  await settle();
  assert.deepEqual(gate.started, ["r1", "r2", "w1"]);
  gate.release("w1");
  await settle();
  gate.release("w2");
  await settle();
  gate.release("r3");
  const answers = await running;
  assert.deepEqual(
    answers.map(({ result }) => result.text),
    ["r1", "r2", "w1", "w2", "r3"].map((id) => `result ${id}`),
  );
});

test("a tool that ignores a cancel is answered after the grace time, the rest at once", async () => {
  const { tools } = gatedTools();
  const controller = new AbortController();
  const clock = createManualClock();
  const asked = [call("write", { id: "w1" }), call("write", { id: "w2" })];
  const running = dispatch(
    parseCalls("complete", asked, tools),
    context({ clock, signal: controller.signal }),
  );
  await settle();
  controller.abort("cancelled by octocat");
  await clock.waitForTimers(1);
  await clock.advance(5_000);
  const answers = await running;
  assert.deepEqual(
    answers.map(({ result }) => result.text),
    [
      "cancelled by octocat while this call ran; it may have had effects.",
      "cancelled by octocat: this call did not run.",
    ],
  );
  assert.equal(clock.pending(), 0);
});

test("a tool that settles after a cancel is believed", async () => {
  const { tools, gate } = gatedTools();
  const controller = new AbortController();
  const asked = [call("write", { id: "w1" })];
  const running = dispatch(parseCalls("complete", asked, tools), context({ signal: controller.signal }));
  await settle();
  controller.abort("cancelled by octocat");
  await settle();
  gate.release("w1");
  assert.equal((await running)[0]?.result.text, "result w1");
});

test("B04: a result of megabytes is clipped before it enters the transcript", async () => {
  const big: Tool<Record<string, never>> = {
    name: "big",
    description: "",
    schema: z.object({}),
    readOnly: true,
    run: async () => ({ status: "ok", text: "x".repeat(3_000_000) }),
  };
  const answers = await dispatch(parseCalls("complete", [call("big", {})], [big]), context());
  assert.ok((answers[0]?.result.text.length ?? 0) <= 8_000);
});
