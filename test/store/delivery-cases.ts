/** What every store must do with deliveries: recorded once, together with what they become. */

import assert from "node:assert/strict";
import { suite } from "node:test";
import type { RunEvent } from "#src/run/run.ts";
import type { Delivery, Receipt, Store } from "#src/store/store.ts";
import type { createManualClock } from "#test/support/manual-clock.ts";
import { runRequest } from "./requests.ts";

/** A case on a fresh store of the adapter under test. */
export type On = (
  what: string,
  use: (
    store: Store,
    clock: ReturnType<typeof createManualClock>,
    reopen: () => Promise<Store>,
  ) => Promise<void>,
) => void;

const closed = (by: string): RunEvent => ({ type: "issue_closed", by });

export function deliveryCases(name: string, on: On): void {
  suite(`${name}: deliveries`, () => {
    const NOTHING: Receipt = { kind: "nothing" };
    const delivery = (id: string, bodyHash: string, name = "issues"): Delivery => ({ id, bodyHash, name });

    on(
      "F01: a delivery is new once, also under its body with another id, also after a restart",
      async (store, _, reopen) => {
        assert.deepEqual(await store.receive(delivery("a", "h1"), NOTHING), { runIds: [] });
        assert.equal(await store.receive(delivery("a", "h2"), NOTHING), "duplicate");
        assert.equal(await store.receive(delivery("b", "h1"), NOTHING), "duplicate");
        assert.deepEqual(await store.receive(delivery("c", "h1", "issue_comment"), NOTHING), { runIds: [] });
        const again = await reopen();
        assert.equal(await again.receive(delivery("a", "h9"), NOTHING), "duplicate");
      },
    );

    on("which deliveries are on record, and when the newest was taken", async (store, clock, reopen) => {
      assert.equal(await store.newestDeliveryAt(), null);
      assert.deepEqual(await store.knownDeliveries(["a"]), new Set());
      await store.receive(delivery("a", "h1"), NOTHING);
      await clock.advance(5_000);
      await store.receive(delivery("b", "h2"), NOTHING);
      await clock.advance(5_000);
      await store.receive(delivery("c", "h2"), NOTHING);
      const again = await reopen();
      assert.deepEqual(await again.knownDeliveries(["a", "b", "c", "d"]), new Set(["a", "b"]));
      assert.equal(await again.newestDeliveryAt(), clock.now() - 5_000);
    });

    on("F01: a delivery and its run or fact are recorded together, and once", async (store) => {
      const ask = (id: string): Receipt => ({ kind: "run", request: runRequest(id) });
      assert.deepEqual(await store.receive(delivery("a", "h1"), ask("r1")), { runIds: ["r1"] });
      assert.equal(await store.receive(delivery("a", "h1"), ask("r2")), "duplicate");
      assert.deepEqual(
        await store.receive(delivery("b", "h2"), ask("r3")),
        { runIds: ["r1"] },
        "a request that meets the active run names it",
      );
      const fact: Receipt = {
        kind: "facts",
        facts: [{ runId: "r1", key: "k", event: closed("x") }],
      };
      assert.deepEqual(await store.receive(delivery("c", "h3"), fact), { runIds: ["r1"] });
      assert.equal(await store.receive(delivery("c", "h3"), fact), "duplicate");
      assert.deepEqual(await store.receive(delivery("d", "h4"), fact), { runIds: ["r1"] });
      assert.deepEqual(
        (await store.events("r1")).map(({ event }) => event.type),
        ["requested", "issue_closed"],
      );
      assert.deepEqual(
        (await store.runs({ limit: 9 })).map(({ runId }) => runId),
        ["r1"],
      );
    });

    on("a delivery whose fact cannot be recorded is not recorded either", async (store) => {
      const lost: Receipt = {
        kind: "facts",
        facts: [{ runId: "no", key: "k", event: closed("x") }],
      };
      await assert.rejects(store.receive(delivery("a", "h1"), lost), /There is no run no/);
      assert.deepEqual(await store.receive(delivery("a", "h1"), NOTHING), { runIds: [] });
    });

    on(
      "F01: deliveries that arrive together get each its own answer, as if it had come alone",
      async (store) => {
        await store.createRun(runRequest("r1"));
        const lease = await store.claim("r1", "w1", 60_000);
        assert.ok(lease);
        const fact = (runId: string, key: string): Receipt => ({
          kind: "facts",
          facts: [{ runId, key, event: closed(key) }],
        });
        const run: Receipt = { kind: "run", request: runRequest("r2", 2) };
        const calls: readonly (readonly [Promise<unknown>, unknown])[] = [
          [store.receive(delivery("a", "h1"), fact("r1", "k1")), { runIds: ["r1"] }],
          [store.receive(delivery("b", "h2"), fact("no", "k2")), /There is no run no/],
          [store.receive(delivery("a", "h1"), fact("r1", "k3")), "duplicate"],
          [store.receive(delivery("c", "h1"), fact("r1", "k4")), "duplicate"],
          [
            store.receive(delivery("d", "h4"), {
              kind: "facts",
              facts: ["r1", "no"].map((runId) => ({ runId, key: "k5", event: closed("k5") })),
            }),
            /There is no run no/,
          ],
          [store.receive(delivery("e", "h5"), run), { runIds: ["r2"] }],
          [
            store.createRun(runRequest("r3", 2), "r1").then((made) => made.ok || made.error),
            { activeRunId: "r2" },
          ],
          [store.latestRun(7, 2).then((latest) => latest?.runId), "r2"],
          [
            store.putBlob({ ...lease, fence: 99 }, "x", new Uint8Array([1])),
            { ok: false, error: "stale_lease" },
          ],
          [store.receive(delivery("f", "h6"), fact("r1", "k6")), { runIds: ["r1"] }],
          [store.knownDeliveries(["a", "b", "c", "d", "e", "f"]), new Set(["a", "e", "f"])],
        ];
        for (const [call, wanted] of calls)
          await (wanted instanceof RegExp
            ? assert.rejects(call, wanted)
            : call.then((is) => assert.deepEqual(is, wanted)));
        assert.deepEqual(
          (await store.events("r1", 1)).map(
            ({ event, seq }) => event.type === "issue_closed" && [event.by, seq],
          ),
          [
            ["k1", 2],
            ["k6", 3],
          ],
        );
        assert.deepEqual(await store.receive(delivery("b", "h2"), fact("r1", "k2")), { runIds: ["r1"] });
      },
    );

    on("F01: only the newest 10,000 deliveries are kept", async (store) => {
      for (let n = 1; n <= 10_002; n += 1_667)
        await Promise.all(
          Array.from({ length: 1_667 }, (_, at) =>
            store.receive(delivery(`d${n + at}`, `h${n + at}`), NOTHING),
          ),
        );
      assert.equal(await store.receive(delivery("d3", "h3"), NOTHING), "duplicate");
      assert.deepEqual(await store.receive(delivery("d2", "h2"), NOTHING), { runIds: [] });
    });
  });
}
