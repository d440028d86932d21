/** A store compared with a model of it under random operations: part of the conformance suite. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RunEvent } from "#src/run/run.ts";
import type { Lease, Store } from "#src/store/store.ts";
import { createManualClock, type ManualClock } from "#test/support/manual-clock.ts";
import { FULL } from "#test/support/tier.ts";
import type { WithStore } from "./conformance.ts";
import { runRequest } from "./requests.ts";

const TTL_MS = 10_000;
const closed = (by: string): RunEvent => ({ type: "issue_closed", by });

export function storeModelProperty(name: string, withStore: WithStore): void {
  test(`${name}: no order of claims, appends, facts and time breaks numbering or fencing`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 40 }), (operations) => {
        const clock = createManualClock();
        return withStore(clock, (store) => checkOperations(store, clock, operations));
      }),
      { numRuns: FULL ? 1000 : 60 },
    );
  });
}

type Operation =
  | { readonly do: "claim" | "append" | "renew" | "release"; readonly worker: string }
  | { readonly do: "fact"; readonly key: string }
  | { readonly do: "wait"; readonly ms: number };

const worker = fc.constantFrom("w1", "w2", "w3");
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ do: fc.constantFrom("claim", "append", "renew", "release"), worker }),
  fc.record({ do: fc.constant("fact"), key: fc.constantFrom("k1", "k2", "k3") }),
  fc.record({ do: fc.constant("wait"), ms: fc.integer({ min: 1, max: TTL_MS }) }),
);

interface Holder {
  readonly worker: string;
  readonly until: number;
  readonly fence: number;
}

/** Compares the store with a model of three variables: the last fence, who holds it until when, and the next number. */
async function checkOperations(
  store: Store,
  clock: ManualClock,
  operations: readonly Operation[],
): Promise<void> {
  await store.createRun(runRequest("r1"));
  const leases = new Map<string, Lease>();
  const keys = new Set<string>();
  let holder: Holder | null = null as Holder | null;
  let fence = 0;
  let events = 1;
  for (const step of operations) {
    if (step.do === "wait") {
      await clock.advance(step.ms);
    } else if (step.do === "fact") {
      const stored = await store.appendFact("r1", step.key, closed(step.key));
      assert.equal(stored?.seq ?? null, keys.has(step.key) ? null : events + 1);
      if (stored) events++;
      keys.add(step.key);
    } else if (step.do === "claim") {
      const free: boolean = holder === null || holder.worker === step.worker || holder.until <= clock.now();
      const lease = await store.claim("r1", step.worker, TTL_MS);
      assert.equal(lease !== null, free);
      if (lease === null) continue;
      assert.ok(lease.fence > fence);
      fence = lease.fence;
      holder = { worker: step.worker, until: clock.now() + TTL_MS, fence };
      leases.set(step.worker, lease);
    } else {
      const lease = leases.get(step.worker);
      if (lease === undefined) continue;
      const holds: boolean = holder?.fence === lease.fence;
      if (step.do === "append") {
        const appended = await store.append(lease, [closed(step.worker)], {
          state: "preparing",
          ended: false,
        });
        assert.equal(appended.ok, holds);
        if (appended.ok) assert.equal(appended.value[0]?.seq, ++events);
      } else if (step.do === "renew") {
        assert.equal(await store.renew(lease, TTL_MS), holds);
        if (holds && holder) holder = { ...holder, until: clock.now() + TTL_MS };
      } else {
        await store.release(lease);
        if (holds) holder = null;
      }
    }
  }
  assert.deepEqual(
    (await store.events("r1")).map(({ seq }) => seq),
    Array.from({ length: events }, (_, index) => index + 1),
  );
}
