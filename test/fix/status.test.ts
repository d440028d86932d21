/** When the status comment is edited: at once on a new state, otherwise every 30 s and later every 2 min, and never to say the same again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { keepStatus } from "#src/fix/status.ts";
import { parseMarker } from "#src/gate/marker.ts";
import { TRACE } from "#test/gate/bodies.ts";
import { samplePlan } from "#test/run/sample.ts";
import { type FixRig, fixRig } from "./rig.ts";

const MINUTE = 60_000;

function keeper(rig: FixRig, position: () => number | null = () => null) {
  const keeper = keepStatus(rig.context, { queuePosition: position });
  rig.context.onStateChange(keeper.showSoon);
  return keeper;
}

function turns(rig: FixRig, count: number): void {
  rig.context.progress.setTrace({ ...TRACE, turns: count });
}

test("a new state is shown at once, and a state that is shown already is not written again", async () => {
  await using rig = await fixRig();
  const status = keeper(rig);
  assert.equal(await status.show(), true);
  await status.show();
  assert.equal(rig.talk.statuses.length, 1);
  for (const phase of ["preparing", "solving", "verifying"] as const)
    await rig.append({ type: "phase_entered", phase });
  await rig.append({ type: "proposed", ...samplePlan() });
  await status.show();
  const states = rig.talk.statuses.map((body) => /· run `[^`]+` · ([^:\n]+)/.exec(body)?.[1]);
  assert.equal(states[0], "queued");
  assert.equal(states.at(-1), "waiting for a maintainer");
  assert.equal(new Set(states).size, states.length);
  assert.equal(await status.show(), true);
  assert.equal(rig.talk.statuses.length, states.length);
  await status.close();
});

test("events that change no state are no reason to write at once", async () => {
  await using rig = await fixRig();
  const status = keeper(rig);
  await status.show();
  await rig.append({ type: "effect_intended", effect: "x" });
  await rig.fact({ type: "issue_closed", by: "maya" });
  turns(rig, 1);
  await rig.clock.advance(29_999);
  assert.equal(rig.talk.statuses.length, 1);
  await status.close();
});

test("numbers are written every 30 s during ten minutes, then every two, and only when they changed", async () => {
  await using rig = await fixRig();
  const status = keeper(rig);
  await status.show();
  const written = async (ms: number) => {
    const before = rig.talk.statuses.length;
    await rig.clock.advance(ms);
    await status.show();
    return rig.talk.statuses.length - before;
  };
  for (let half = 1; half <= 20; half++) {
    turns(rig, half);
    assert.equal(await written(30_000), 1, `after ${half / 2} min`);
  }
  assert.equal(await written(5 * MINUTE), 0, "nothing changed");
  const begun = rig.talk.statuses.length;
  for (let second = 0; second < 480; second += 10) {
    turns(rig, 100 + second);
    await rig.clock.advance(10_000);
  }
  assert.equal(rig.talk.statuses.length - begun, 4);
  await status.close();
});

test("no two edits after one another say the same, and each carries the marker and the time it was true", async () => {
  await using rig = await fixRig();
  const status = keeper(rig, () => 3);
  for (let minute = 0; minute < 6; minute++) {
    if (minute % 2 === 0) turns(rig, minute);
    await status.show();
    await rig.clock.advance(MINUTE);
  }
  await rig.append({ type: "phase_entered", phase: "preparing" });
  await status.show();
  const bodies = rig.talk.statuses.map((body) => body.replace(/as of \S+/, ""));
  for (let at = 1; at < bodies.length; at++) assert.notEqual(bodies[at], bodies[at - 1]);
  for (const body of rig.talk.statuses) assert.equal(parseMarker(body)?.kind, "status");
  assert.match(rig.talk.statuses[0] ?? "", /queued behind 3 others.*as of 2025-01-01T00:00:00Z/s);
  await status.close();
});

test("a refused edit is tried again at the next tick, until it says the present state", async () => {
  await using rig = await fixRig();
  const status = keeper(rig);
  rig.talk.failure = { code: "server_error", status: 502, message: "Bad gateway", retryAfterMs: null };
  assert.equal(await status.show(), false, "GitHub may take it later");
  await rig.clock.advance(30_000);
  assert.equal(rig.talk.statuses.length, 0);
  rig.talk.failure = { ...rig.talk.failure, code: "locked" };
  assert.equal(await status.show(), true, "GitHub never will");
  rig.talk.failure = null;
  await rig.clock.advance(30_000);
  await status.show();
  assert.equal(rig.talk.statuses.length, 1);
  await status.close();
});

test("writes go out one after another, and what changed meanwhile is in the next", async () => {
  await using rig = await fixRig();
  const status = keeper(rig);
  const gate = Promise.withResolvers<void>();
  rig.talk.gate = gate.promise;
  const first = status.show();
  for (const phase of ["preparing", "solving"] as const) await rig.append({ type: "phase_entered", phase });
  assert.equal(rig.talk.statuses.length, 0);
  gate.resolve();
  await first;
  await status.show();
  const states = rig.talk.statuses.map((body) => /· run `[^`]+` · (.+)/.exec(body)?.[1]);
  assert.deepEqual(states, ["queued", "working on it"]);
  await status.close();
});

test("after closing nothing is written, no timer is left, and what was under way has ended", async () => {
  await using rig = await fixRig();
  const status = keeper(rig);
  await status.show();
  await status.close();
  assert.equal(rig.clock.pending(), 0);
  turns(rig, 9);
  await rig.clock.advance(10 * MINUTE);
  assert.equal(await status.show(), false);
  assert.equal(rig.talk.statuses.length, 1);
});

test("steps are shown as they stand: waiting, running, done, failed", async () => {
  await using rig = await fixRig();
  const status = keeper(rig);
  await rig.append(
    { type: "step", record: { kind: "done", step: "prepare", inputHash: "0", output: null } },
    {
      type: "step",
      record: {
        kind: "failed",
        step: "setup",
        inputHash: "0",
        attempt: 1,
        code: "x",
        message: "no",
        retry: false,
      },
    },
  );
  rig.context.progress.stepStarted("baseline");
  await status.show();
  assert.match(rig.talk.statuses[0] ?? "", /☑ prepare · ✗ setup · ⏳ baseline · ☐ solve · .* · ☐ publish/);
  await status.close();
});
