/** F13: an intent that a rate limit holds back is kept and posted later, without the agent reading again; the wait has a bound. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { noteHold } from "#src/fix/held-back.ts";
import { intend } from "#src/fix/steps/intent.ts";
import type { Prepared } from "#src/fix/steps/prepare.ts";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import { fixRig } from "./rig.ts";

const PREPARED = {
  baseSha: "a".repeat(40),
  targetBranch: "main",
  settings: { notes: [], budget: { usd: 1, turns: 5, minutes: 5 } },
} as unknown as Prepared;

test("F13: an intent that meets a rate limit waits for the reset with what the agent has said, and is posted by the next visit", async () => {
  await using rig = await fixRig();
  const { context, talk, clock } = rig;
  await rig.append({ type: "phase_entered", phase: "preparing" });
  const said = { finalText: "I would add.\n\nFiles: add.js\nProof: the suite\nTurns: 3" };
  const answer = { ...said, spent: NOTHING_SPENT, toolCalls: {}, retries: 0, status: "done" };
  await context.putBlob("intent-answer", JSON.stringify(answer));
  const step = {
    ...{ signal: new AbortController().signal, attempt: 1 },
    inputs: { prepare: PREPARED as never },
  };
  talk.failure = { code: "rate_limited", status: 403, message: "used up", retryAfterMs: 1_800_000 };
  assert.deepEqual(await intend(context, step), { kind: "waiting" });
  assert.equal(context.progress.heldUntil(), clock.now() + 1_800_000);
  // As the driver records it.
  const record = { step: "intent", inputHash: "x", attempt: 1 } as const;
  await rig.append(
    { type: "step", record: { kind: "started", ...record } },
    { type: "step", record: { kind: "paused", ...record, why: "waiting" } },
  );
  await clock.advance(2 * 3_600_000);
  const ended = await intend(context, step);
  assert.ok(ended.kind === "failed" && ended.code === "github_failed");
  assert.match(ended.message, /could not be posted for two hours.*\/retry later/);
  talk.failure = null;
  const done = await intend(context, step);
  assert.equal(done.kind, "done");
  assert.equal(context.run().state, "awaiting_intent");
});

test("F13: a reset far away, or one that is no date at all, holds a run back no longer than it waits, and the status can say so", async () => {
  await using rig = await fixRig();
  const { context, clock } = rig;
  for (const retryAfterMs of [1e17, Number.MAX_VALUE]) {
    noteHold(context, { code: "rate_limited", status: 403, message: "used up", retryAfterMs });
    assert.equal(context.progress.heldUntil(), clock.now() + 2 * 3_600_000);
  }
});
