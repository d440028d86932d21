/** What every store must do; each adapter's test file calls this with a way to open a fresh one. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import type { Clock } from "#src/base/clock.ts";
import type { RunEvent } from "#src/run/run.ts";
import type { Lease, Store } from "#src/store/store.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { FULL } from "#test/support/tier.ts";
import { deliveryCases, type On } from "./delivery-cases.ts";
import { storeModelProperty } from "./model-property.ts";
import { runRequest } from "./requests.ts";

/** Opens an empty store and closes it (and removes what it made) when `use` has settled. `reopen` gives another handle on the same data. */
export type WithStore = (
  clock: Clock,
  use: (store: Store, reopen: () => Promise<Store>) => Promise<void>,
) => Promise<void>;

const TTL_MS = 10_000;
const WORKING = { state: "preparing", ended: false };
const ENDED = { state: "cancelled", ended: true };
const closed = (by: string): RunEvent => ({ type: "issue_closed", by });

async function claimed(store: Store, runId: string, worker = "w1"): Promise<Lease> {
  const lease = await store.claim(runId, worker, TTL_MS);
  assert.ok(lease, `${worker} should get the lease of ${runId}`);
  return lease;
}

export function storeConformance(name: string, withStore: WithStore): void {
  const on: On = (what, use) =>
    test(what, () => {
      const clock = createManualClock();
      return withStore(clock, (store, reopen) => use(store, clock, reopen));
    });

  deliveryCases(name, on);

  suite(`${name}: runs`, () => {
    on("a run starts queued, with the request as its first event", async (store, clock) => {
      const request = runRequest("r1");
      const created = await store.createRun(request);
      const event = { runId: "r1", seq: 1, at: clock.now(), event: { type: "requested", request } };
      assert.deepEqual(created, { ok: true, value: event });
      assert.deepEqual(await store.events("r1"), [event]);
      assert.deepEqual(await store.run("r1"), {
        runId: "r1",
        request,
        state: "queued",
        ended: false,
        supersededBy: null,
        createdAt: clock.now(),
        updatedAt: clock.now(),
      });
    });

    on("what does not exist is null or empty", async (store) => {
      assert.equal(await store.run("no"), null);
      assert.equal(await store.latestRun(7, 1), null);
      assert.deepEqual(await store.events("no"), []);
      assert.equal(await store.blob("no", "x"), null);
      assert.deepEqual(await store.runs({ limit: 10 }), []);
    });

    on("an issue has one run that has not ended; another issue or repository has its own", async (store) => {
      await store.createRun(runRequest("r1"));
      assert.deepEqual(await store.createRun(runRequest("r2")), { ok: false, error: { activeRunId: "r1" } });
      assert.equal(await store.run("r2"), null, "nothing of the refused run is stored");
      assert.equal((await store.createRun(runRequest("r3", 2))).ok, true);
      assert.equal((await store.createRun(runRequest("r4", 1, 8))).ok, true);
    });

    on(
      "the runs behind a pull request are those that published to it, newest first",
      async (store, clock) => {
        for (const [index, runId] of ["r1", "r2", "r3"].entries()) {
          await store.createRun(runRequest(runId));
          const pullRequest = runId === "r3" ? 41 : 40;
          const published = {
            type: "published",
            pullRequest,
            url: "u",
            branch: "b",
            commitSha: "c",
          } as const;
          await store.append(await claimed(store, runId), [published], ENDED);
          await clock.advance(index + 1);
        }
        const behind = async (repository: number, pullRequest: number) =>
          (await store.runsOfPullRequest(repository, pullRequest)).map(({ runId }) => runId);
        assert.deepEqual(await behind(7, 40), ["r2", "r1"]);
        assert.deepEqual(await behind(7, 41), ["r3"]);
        assert.deepEqual(await behind(8, 40), []);
      },
    );

    on("F01: of many requests for one issue at the same time exactly one becomes a run", async (store) => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => store.createRun(runRequest(`r${n}`))),
      );
      assert.equal(answers.filter((answer) => answer.ok).length, 1);
      assert.equal((await store.runs({ limit: 50 })).length, 1);
    });

    on(
      "after the end of a run the issue can have a new one, and that is its latest",
      async (store, clock) => {
        await store.createRun(runRequest("r1"));
        await store.append(await claimed(store, "r1"), [closed("x")], ENDED);
        assert.equal((await store.latestRun(7, 1))?.runId, "r1");
        await clock.advance(5);
        assert.equal((await store.createRun(runRequest("r2"))).ok, true);
        assert.equal((await store.latestRun(7, 1))?.runId, "r2");
        await store.createRun(runRequest("elsewhere", 2));
        assert.deepEqual(
          (await store.runsOf(7, 1)).map(({ runId }) => runId),
          ["r2", "r1"],
        );
      },
    );

    on("a run that supersedes the active one takes its place, and only once", async (store, clock) => {
      await store.createRun(runRequest("r1"));
      await clock.advance(1);
      assert.equal((await store.createRun(runRequest("r2"), "r1")).ok, true);
      assert.equal((await store.run("r1"))?.supersededBy, "r2");
      assert.equal((await store.run("r1"))?.ended, false, "its own lease holder ends it");
      assert.equal((await store.latestRun(7, 1))?.runId, "r2");
      assert.deepEqual(await store.createRun(runRequest("r3"), "r1"), {
        ok: false,
        error: { activeRunId: "r2" },
      });
      const ended = await store.append(await claimed(store, "r1"), [closed("x")], ENDED);
      assert.equal(ended.ok, true);
    });

    on("a run of another issue, or one already ended, is not superseded", async (store) => {
      await store.createRun(runRequest("other", 2));
      await store.createRun(runRequest("r1"));
      assert.equal((await store.createRun(runRequest("r2"), "other")).ok, false);
      assert.equal((await store.run("other"))?.supersededBy, null);
      await store.append(await claimed(store, "r1"), [], ENDED);
      assert.equal((await store.createRun(runRequest("r3"), "r1")).ok, true);
      assert.equal((await store.run("r1"))?.supersededBy, null);
    });

    on("F17: unfinished runs are listed newest first, also after a restart", async (store, clock, reopen) => {
      for (const [index, runId] of ["r1", "r2", "r3"].entries()) {
        await store.createRun(runRequest(runId, index));
        if (index > 0) await clock.advance(1);
      }
      await store.append(await claimed(store, "r2"), [], ENDED);
      const again = await reopen();
      const ids = async (filter: Parameters<Store["runs"]>[0]) =>
        (await again.runs(filter)).map((run) => run.runId);
      assert.deepEqual(await ids({ ended: false, limit: 10 }), ["r3", "r1"]);
      assert.deepEqual(await ids({ ended: true, limit: 10 }), ["r2"]);
      assert.deepEqual(await ids({ limit: 2 }), ["r3", "r2"]);
    });
  });

  suite(`${name}: event log`, () => {
    on(
      "the lease holder appends all or nothing, numbered without gaps, and the listing follows",
      async (store, clock) => {
        await store.createRun(runRequest("r1"));
        const lease = await claimed(store, "r1");
        await clock.advance(9);
        const appended = await store.append(lease, [closed("a"), closed("b")], WORKING);
        assert.ok(appended.ok);
        assert.deepEqual(
          appended.value.map(({ seq, at }) => ({ seq, at })),
          [2, 3].map((seq) => ({ seq, at: clock.now() })),
        );
        assert.deepEqual(await store.events("r1", 1), appended.value);
        const run = await store.run("r1");
        assert.equal(run?.state, "preparing");
        assert.equal(run?.updatedAt, clock.now());
      },
    );

    on("a stale or foreign lease writes nothing", async (store, clock) => {
      await store.createRun(runRequest("r1"));
      const first = await claimed(store, "r1", "w1");
      await clock.advance(TTL_MS);
      const second = await claimed(store, "r1", "w2");
      const stale = { ok: false, error: "stale_lease" };
      assert.deepEqual(await store.append(first, [closed("a")], ENDED), stale);
      assert.deepEqual(await store.append({ ...second, worker: "w3" }, [closed("a")], ENDED), stale);
      assert.deepEqual(
        await store.append({ ...second, fence: second.fence + 1 }, [closed("a")], ENDED),
        stale,
      );
      assert.deepEqual(await store.putBlob(first, "x", new Uint8Array([1])), stale);
      assert.equal((await store.events("r1")).length, 1);
      assert.equal((await store.run("r1"))?.state, "queued");
      assert.equal(await store.blob("r1", "x"), null);
      const nobody = { runId: "no", worker: "w1", fence: 1 };
      assert.deepEqual(await store.append(nobody, [], WORKING), { ok: false, error: "unknown_run" });
      assert.deepEqual(await store.putBlob(nobody, "x", new Uint8Array()), {
        ok: false,
        error: "unknown_run",
      });
    });

    on("a fact is recorded once per run and key, without a lease, between decisions", async (store) => {
      await store.createRun(runRequest("r1"));
      await store.createRun(runRequest("r2", 2));
      const lease = await claimed(store, "r1");
      const fact = await store.appendFact("r1", "comment-5", closed("a"));
      assert.equal(fact?.seq, 2);
      assert.equal(await store.appendFact("r1", "comment-5", closed("b")), null);
      assert.equal((await store.appendFact("r2", "comment-5", closed("c")))?.seq, 2);
      assert.equal((await store.append(lease, [closed("d")], WORKING)).ok, true);
      assert.deepEqual(
        (await store.events("r1")).map(({ seq }) => seq),
        [1, 2, 3],
      );
      await assert.rejects(store.appendFact("no", "k", closed("a")), { code: "unknown_run" });
    });

    on(
      "F17: what a worker has to look at: runs not ended, and ended ones not settled to their last event",
      async (store, clock) => {
        const open = async () => (await store.openRuns()).map(({ runId }) => runId);
        await store.createRun(runRequest("r1"));
        await clock.advance(1);
        await store.createRun(runRequest("r2", 2));
        assert.deepEqual(await open(), ["r1", "r2"], "oldest first");
        const lease = await claimed(store, "r1");
        await store.append(lease, [closed("x")], ENDED);
        assert.deepEqual(await open(), ["r1", "r2"], "it has ended, but nobody has said so yet");
        assert.deepEqual(await store.settle(lease, 2), { ok: true, value: null });
        assert.deepEqual(await open(), ["r2"]);
        await store.appendFact("r1", "late", closed("a"));
        assert.deepEqual(await open(), ["r1", "r2"], "a later fact opens it again");
        await store.release(lease);
        assert.deepEqual(await store.settle(lease, 3), { ok: false, error: "stale_lease" });
        assert.deepEqual(await open(), ["r1", "r2"]);
      },
    );

    on("the listing's state is not touched by a fact", async (store, clock) => {
      await store.createRun(runRequest("r1"));
      await store.append(await claimed(store, "r1"), [], ENDED);
      await clock.advance(3);
      await store.appendFact("r1", "k", closed("a"));
      const run = await store.run("r1");
      assert.deepEqual([run?.state, run?.ended, run?.updatedAt], ["cancelled", true, clock.now()]);
    });

    on("any text survives the round trip", async (store, _, reopen) => {
      await store.createRun(runRequest("r1"));
      const lease = await claimed(store, "r1");
      const texts = fc.sample(fc.string({ unit: "binary", maxLength: 40 }), {
        numRuns: FULL ? 2000 : 200,
        seed: 1,
      });
      const awkward = ["", "\0", "'; DROP TABLE run; --", "\ud800", "\u2028", "😀", "\r\n", ...texts];
      const events = awkward.map(closed);
      assert.equal((await store.append(lease, events, WORKING)).ok, true);
      const again = await reopen();
      assert.deepEqual(
        (await again.events("r1", 1)).map(({ event }) => event),
        events,
      );
    });
  });

  suite(`${name}: leases`, () => {
    on(
      "one worker holds a run; another gets it only after expiry or release, with a larger fence",
      async (store, clock) => {
        await store.createRun(runRequest("r1"));
        const first = await claimed(store, "r1", "w1");
        assert.equal(await store.claim("r1", "w2", TTL_MS), null);
        await clock.advance(TTL_MS - 1);
        assert.equal(await store.claim("r1", "w2", TTL_MS), null);
        await clock.advance(1);
        const second = await claimed(store, "r1", "w2");
        assert.ok(second.fence > first.fence);
        await store.release(second);
        const third = await claimed(store, "r1", "w1");
        assert.ok(third.fence > second.fence, "a fence is never given out twice, release or not");
      },
    );

    on(
      "the same worker after a restart takes its lease again at once, and its former self is shut out",
      async (store) => {
        await store.createRun(runRequest("r1"));
        const former = await claimed(store, "r1", "w1");
        const now = await claimed(store, "r1", "w1");
        assert.ok(now.fence > former.fence);
        assert.equal(await store.renew(former, TTL_MS), false);
        assert.deepEqual(await store.append(former, [], WORKING), { ok: false, error: "stale_lease" });
        await store.release(former);
        assert.equal(await store.claim("r1", "w2", TTL_MS), null, "a stale release frees nothing");
      },
    );

    on("renewing moves the expiry; an expired lease that nobody took still counts", async (store, clock) => {
      await store.createRun(runRequest("r1"));
      const lease = await claimed(store, "r1");
      await clock.advance(TTL_MS - 1);
      assert.equal(await store.renew(lease, TTL_MS), true);
      await clock.advance(TTL_MS - 1);
      assert.equal(await store.claim("r1", "w2", TTL_MS), null);
      await clock.advance(5);
      assert.equal((await store.append(lease, [closed("a")], WORKING)).ok, true);
      assert.equal(await store.renew(lease, TTL_MS), true);
      await store.release(lease);
      assert.equal(await store.renew(lease, TTL_MS), false);
      assert.deepEqual(await store.append(lease, [], WORKING), { ok: false, error: "stale_lease" });
    });

    on("leases held now are listed; a run that does not exist cannot be claimed", async (store, clock) => {
      await store.createRun(runRequest("r1"));
      await store.createRun(runRequest("r2", 2));
      const held = await claimed(store, "r1");
      await store.release(await claimed(store, "r2"));
      assert.deepEqual(await store.leases(), [held]);
      await clock.advance(TTL_MS);
      assert.deepEqual(await store.leases(), []);
      assert.equal(await store.claim("no", "w1", TTL_MS), null);
    });
  });

  suite(`${name}: blobs and life cycle`, () => {
    on("a blob is kept by run and name, and overwritten", async (store, _, reopen) => {
      await store.createRun(runRequest("r1"));
      const lease = await claimed(store, "r1");
      const large = new Uint8Array(2_000_000).map((__, index) => index % 251);
      assert.deepEqual(await store.putBlob(lease, "transcript", new Uint8Array([0, 255])), {
        ok: true,
        value: null,
      });
      assert.deepEqual(await store.putBlob(lease, "transcript", large), { ok: true, value: null });
      assert.deepEqual(await store.putBlob(lease, "empty", new Uint8Array()), { ok: true, value: null });
      const again = await reopen();
      assert.ok(Buffer.from((await again.blob("r1", "transcript")) ?? []).equals(large));
      assert.equal((await again.blob("r1", "empty"))?.byteLength, 0);
      assert.equal(await again.blob("r1", "other"), null);
    });

    on("a closed store is not ready and rejects with a sentence; closing twice is fine", async (store) => {
      assert.equal(await store.ready(), true);
      await store.close();
      await store.close();
      assert.equal(await store.ready(), false);
      await assert.rejects(store.run("r1"), /database/);
    });
  });

  storeModelProperty(name, withStore);
}
