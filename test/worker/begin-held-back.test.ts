/** F13: a rate limit met before the work begins holds the run back, without a slot, until it is over; a bound ends the wait honestly. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import { createEmbeddedQueue } from "#src/queue/embedded.ts";
import type { RunRequest } from "#src/run/run.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import type { Store } from "#src/store/store.ts";
import { openTrace } from "#src/trace/jsonl.ts";
import { createWorker } from "#src/worker/worker.ts";
import { newTalk, OPERATOR, recorded, type Talk, withoutTheRest } from "#test/fix/rig.ts";
import { sampleRequest } from "#test/run/sample.ts";
import { createManualClock, type ManualClock } from "#test/support/manual-clock.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const MINUTE = 60_000;
const STOPPED_AT_ONCE = 1;

interface World {
  readonly clock: ManualClock;
  readonly store: Store;
  /** By installation. */
  readonly talks: Readonly<Record<number, Talk>>;
  begin(installationId: number, issue: number): Promise<RunRequest>;
  startWorker(): Promise<{ stop(): Promise<void> }>;
  state(request: RunRequest): Promise<string | undefined>;
  /** Resolves when no run is being looked at. */
  quiet(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function world(): Promise<World> {
  const dir = await tempDir("held-");
  const clock = createManualClock();
  const store = openSqliteStore({ path: join(dir.path, "state.db"), clock });
  const redactor = createRedactor();
  const talks = { 1: newTalk(), 2: newTalk() };
  const ports = withoutTheRest({
    ...{ store, clock, ids: systemIds, log: silentLog, redactor, operator: OPERATOR },
    openTrace: (runId) => openTrace({ dir: dir.path, runId, clock, redactor, log: silentLog }),
    converse: ({ installationId }) => recorded(talks[installationId as 1 | 2]),
    workspaces: {
      leftovers: async () => [],
      remove: async () => undefined,
    } as unknown as FixPorts["workspaces"],
    sandbox: { sweep: async () => undefined } as unknown as FixPorts["sandbox"],
  });
  const quiet = async () => {
    do for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    while ((await store.leases()).length > 0);
  };
  return {
    clock,
    store,
    talks,
    begin: async (installationId, issue) => {
      const sample = sampleRequest();
      const request: RunRequest = {
        ...sample,
        ...{ runId: systemIds.runId(clock.now()), installationId, trigger: "label" },
        issue: { ...sample.issue, number: issue },
      };
      assert.ok((await store.createRun(request)).ok);
      return request;
    },
    startWorker: async () => {
      const queue = createEmbeddedQueue({ concurrency: { work: 1, desk: 2 }, clock, log: silentLog });
      const worker = createWorker({ ports, queue, name: systemIds.hex(4), alone: true });
      await worker.start();
      await quiet();
      return { stop: () => worker.stop(STOPPED_AT_ONCE) };
    },
    state: async ({ runId }) => (await store.run(runId))?.state,
    quiet,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await dir.remove();
    },
  };
}

function limitFor(talk: Talk, ms: number): void {
  const message = "GitHub's rate limit is used up.";
  const failure = { code: "rate_limited", status: 403, message, retryAfterMs: ms } as const;
  talk.start = { go: false, end: "held_back", failure };
}

/** Ends the run where nothing else of it is needed. */
function letGo(talk: Talk): void {
  talk.start = { go: false, end: "failed", code: "permission", message: "asked and answered" };
}

const asked = (talk: Talk) => talk.calls.filter((call) => call === "mayStart").length;

test("F13: the run waits for the reset without a slot, says so, asks nothing meanwhile, and goes on then", async () => {
  await using here = await world();
  const { clock, talks } = here;
  limitFor(talks[1] as Talk, 40 * MINUTE);
  letGo(talks[2] as Talk);
  const held = await here.begin(1, 1);
  const other = await here.begin(2, 2);
  const worker = await here.startWorker();
  try {
    assert.equal(await here.state(held), "preparing");
    assert.equal(await here.state(other), "failed", "the one slot was free for another installation's run");
    assert.match(talks[1]?.statuses.at(-1) ?? "", /Held back: GitHub's rate limit .* until about 00:40Z/);
    await clock.advance(39 * MINUTE);
    await here.quiet();
    assert.equal(asked(talks[1] as Talk), 1);
    letGo(talks[1] as Talk);
    await clock.advance(MINUTE);
    await here.quiet();
    assert.equal(await here.state(held), "failed");
    assert.match(talks[1]?.statuses.at(-1) ?? "", /a permission is missing/);
    assert.doesNotMatch(talks[1]?.statuses.at(-1) ?? "", /Held back/);
  } finally {
    await worker.stop();
  }
});

test("F13: what is held back stands when the process ends, and the next start takes it up", async () => {
  await using here = await world();
  limitFor(here.talks[1] as Talk, 40 * MINUTE);
  const held = await here.begin(1, 1);
  await (await here.startWorker()).stop();
  assert.equal(await here.state(held), "preparing");
  assert.deepEqual(await here.store.leases(), []);
  letGo(here.talks[1] as Talk);
  const next = await here.startWorker();
  assert.equal(await here.state(held), "failed");
  await next.stop();
});

test("F13: a limit that is never over ends the run after two hours, counted over restarts, with what to do", async () => {
  await using here = await world();
  const { clock, talks } = here;
  const talk = talks[1] as Talk;
  limitFor(talk, 50 * MINUTE);
  const held = await here.begin(1, 1);
  let worker = await here.startWorker();
  try {
    for (let minutes = 0; minutes < 110; minutes += 10) {
      await clock.advance(10 * MINUTE);
      await here.quiet();
      if (minutes !== 50) continue;
      await worker.stop();
      worker = await here.startWorker();
    }
    assert.equal(await here.state(held), "preparing");
    for (let minutes = 0; minutes < 60; minutes += 10) {
      await clock.advance(10 * MINUTE);
      await here.quiet();
    }
    assert.equal(await here.state(held), "failed");
    const end = (await here.store.events(held.runId)).findLast(({ event }) => event.type === "failed")?.event;
    assert.ok(end?.type === "failed" && end.code === "github_failed");
    assert.match(end.message, /could not begin for two hours.*rate limit.*\/retry later/);
    assert.ok(asked(talk) <= 6, `${asked(talk)} questions in three hours`);
  } finally {
    await worker.stop();
  }
});

test("a command is decided while the run is held back, and /cancel ends it", async () => {
  await using here = await world();
  limitFor(here.talks[1] as Talk, 40 * MINUTE);
  const held = await here.begin(1, 1);
  const worker = await here.startWorker();
  try {
    const fact = { command: { verb: "cancel" }, by: "maya", commentId: 5, issue: null } as const;
    await here.store.appendFact(held.runId, "comment-5", { type: "command_received", fact });
    await worker.stop();
    const next = await here.startWorker();
    await next.stop();
    assert.equal(await here.state(held), "cancelled");
  } finally {
    await worker.stop();
  }
});
