/** What every queue must do inside one process; each adapter's test file calls this with a way to make a fresh one. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import type { Attention, Lane, Queue } from "#src/queue/queue.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { FULL } from "#test/support/tier.ts";

export type MakeQueue = (options: {
  readonly concurrency: Readonly<Record<Lane, number>>;
  readonly clock: Clock;
  readonly log: Log;
}) => Queue;

interface Visit {
  readonly runId: string;
  readonly lane: Lane;
  readonly attention: Attention;
  end(): void;
  fail(error: Error): void;
}

/** A queue whose handler does what the test says, and everything it logged as an error. */
function rig(make: MakeQueue, concurrency: Readonly<Record<Lane, number>> = { work: 2, desk: 2 }) {
  const clock = createManualClock();
  const errors: object[] = [];
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (fields) => void errors.push(fields),
  };
  const queue = make({ concurrency, clock, log });
  const visits: Visit[] = [];
  const open = new Set<Visit>();
  const start = () =>
    queue.start((runId, lane, attention) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const visit = { runId, lane, attention, end: resolve, fail: reject };
      visits.push(visit);
      open.add(visit);
      return promise.finally(() => open.delete(visit));
    });
  const names = () => visits.map((visit) => `${visit.lane} ${visit.runId}`);
  return { queue, clock, errors, visits, open, start, names };
}

/** Lets everything that is ready run; nothing here waits on time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export function queueConformance(name: string, make: MakeQueue): void {
  suite(`${name}: queue`, () => {
    test("a hint that is taken back is not handled, and those behind it move up", async () => {
      const { queue, start, visits, names } = rig(make, { work: 1, desk: 1 });
      for (const runId of ["a", "b", "c"]) await queue.push(runId, "work");
      start();
      await settle();
      await queue.drop("b", "work");
      await queue.drop("b", "work");
      await queue.drop("never pushed", "desk");
      assert.deepEqual(queue.waiting("work"), ["c"]);
      visits[0]?.end();
      await settle();
      assert.deepEqual(names(), ["work a", "work c"]);
      visits[1]?.end();
      await queue.push("b", "work");
      await settle();
      assert.deepEqual(names(), ["work a", "work c", "work b"]);
      visits[2]?.end();
      await queue.stop(1_000);
    });

    test("hints given before the start are handled after it, in order and up to the lane's limit", async () => {
      const { queue, start, visits, names } = rig(make, { work: 2, desk: 1 });
      for (const runId of ["a", "b", "c"]) await queue.push(runId, "work");
      assert.deepEqual(queue.waiting("work"), ["a", "b", "c"]);
      assert.equal(await queue.ready(), false);
      start();
      await settle();
      assert.equal(await queue.ready(), true);
      assert.deepEqual(names(), ["work a", "work b"]);
      assert.deepEqual(queue.waiting("work"), ["c"]);
      visits[0]?.end();
      await settle();
      assert.deepEqual(names(), ["work a", "work b", "work c"]);
      assert.deepEqual(queue.waiting("work"), []);
    });

    test("a hint for a run that waits in the same lane is merged and keeps its place", async () => {
      const { queue, start, visits, names } = rig(make, { work: 1, desk: 1 });
      start();
      await queue.push("a", "work");
      await settle();
      for (const runId of ["b", "c", "b"]) await queue.push(runId, "work");
      assert.deepEqual(queue.waiting("work"), ["b", "c"]);
      for (let turn = 0; turn < 3; turn++) {
        visits.at(-1)?.end();
        await settle();
      }
      assert.deepEqual(names(), ["work a", "work b", "work c"]);
    });

    test("the desk does not wait behind long work", async () => {
      const { queue, start, names } = rig(make, { work: 1, desk: 1 });
      start();
      await queue.push("a", "work");
      await queue.push("b", "work");
      await queue.push("c", "desk");
      await settle();
      assert.deepEqual(names(), ["work a", "desk c"]);
    });

    test("hints for a run being handled nudge its listeners each time and give one later visit", async () => {
      const { queue, start, visits, names } = rig(make);
      start();
      await queue.push("a", "work");
      await settle();
      let heard = 0;
      const unsubscribe = visits[0]?.attention.onNudge(() => heard++);
      await queue.push("a", "work");
      await queue.push("a", "work");
      await queue.push("b", "work");
      await settle();
      assert.equal(heard, 2);
      assert.deepEqual(names(), ["work a", "work b"]);
      unsubscribe?.();
      await queue.push("a", "work");
      assert.equal(heard, 2, "no nudge after unsubscribing");
      visits[0]?.end();
      await settle();
      assert.deepEqual(names(), ["work a", "work b", "work a"]);
      visits[2]?.end();
      await settle();
      assert.equal(visits.length, 3);
    });

    test("a run is not handled in both lanes at once, and its waiting hint holds no slot meanwhile", async () => {
      const { queue, start, visits, names } = rig(make, { work: 1, desk: 1 });
      await queue.push("a", "work");
      await queue.push("a", "desk");
      await queue.push("b", "desk");
      start();
      await settle();
      assert.deepEqual(names(), ["work a", "desk b"]);
      assert.deepEqual(queue.waiting("desk"), ["a"]);
      visits[0]?.end();
      await settle();
      assert.deepEqual(names(), ["work a", "desk b"], "the desk's only slot is taken by b");
      visits[1]?.end();
      await settle();
      assert.deepEqual(names(), ["work a", "desk b", "desk a"]);
    });

    test("a rejecting or throwing handler is logged with its run and frees its slot", async () => {
      const { queue, start, visits, names, errors } = rig(make, { work: 1, desk: 1 });
      start();
      await queue.push("a", "work");
      await queue.push("b", "work");
      await settle();
      visits[0]?.fail(new Error("boom"));
      await settle();
      assert.deepEqual(names(), ["work a", "work b"]);
      assert.deepEqual(errors, [{ runId: "a", lane: "work", error: "boom" }]);

      const throwing = rig(make);
      throwing.queue.start(() => {
        throw new Error("at once");
      });
      await throwing.queue.push("a", "desk");
      await settle();
      assert.deepEqual(throwing.errors, [{ runId: "a", lane: "desk", error: "at once" }]);
    });

    test("a throwing listener stops neither the hint nor the other listeners", async () => {
      const { queue, start, visits, errors } = rig(make);
      start();
      await queue.push("a", "work");
      await settle();
      let heard = 0;
      visits[0]?.attention.onNudge(() => {
        throw new Error("deaf");
      });
      visits[0]?.attention.onNudge(() => heard++);
      await queue.push("a", "work");
      assert.equal(heard, 1);
      assert.equal(errors.length, 1);
      assert.deepEqual(queue.waiting("work"), ["a"]);
    });

    test("stopping aborts what runs, starts nothing more, and resolves when handlers have settled", async () => {
      const { queue, clock, start, visits, names } = rig(make, { work: 1, desk: 1 });
      start();
      await queue.push("a", "work");
      await queue.push("b", "work");
      await settle();
      let stopped = false;
      const stopping = queue.stop(10_000).then(() => {
        stopped = true;
      });
      assert.equal(visits[0]?.attention.signal.aborted, true);
      await queue.push("c", "desk");
      await settle();
      assert.equal(stopped, false);
      assert.equal(await queue.ready(), false);
      visits[0]?.end();
      await stopping;
      assert.deepEqual(names(), ["work a"]);
      assert.deepEqual([queue.waiting("work"), queue.waiting("desk")], [[], []]);
      assert.equal(clock.pending(), 0, "the deadline's timer is gone");
    });

    test("F18: a handler that ignores the stop holds it up only until the deadline", async () => {
      const { queue, clock, start } = rig(make);
      start();
      await queue.push("a", "work");
      await settle();
      const stopping = queue.stop(10_000);
      await clock.waitForTimers(1);
      await clock.advance(10_000);
      await stopping;
      const again = queue.stop(5);
      await clock.advance(5);
      await again;
    });

    test("a queue that never started, or has nothing to do, stops at once; a second start is refused", async () => {
      const idle = rig(make);
      await idle.queue.push("a", "work");
      await idle.queue.stop(10_000);
      const { queue, start } = rig(make);
      start();
      assert.throws(start, /started before/);
      await queue.stop(10_000);
    });

    test("no order of hints and endings handles a run twice at once, exceeds a limit, or loses a hint", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(action, { maxLength: 60 }), (actions) => check(make, actions)),
        {
          numRuns: FULL ? 3000 : 150,
        },
      );
    });
  });
}

type Action =
  | { readonly do: "push"; readonly runId: string; readonly lane: Lane }
  | { readonly do: "end"; readonly pick: number; readonly failing: boolean }
  | { readonly do: "settle" };

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    do: fc.constant("push"),
    runId: fc.constantFrom("a", "b", "c", "d"),
    lane: fc.constantFrom("work", "desk"),
  }),
  fc.record({ do: fc.constant("end"), pick: fc.nat(3), failing: fc.boolean() }),
  fc.record({ do: fc.constant("settle") }),
);

async function check(make: MakeQueue, actions: readonly Action[]): Promise<void> {
  const limits = { work: 2, desk: 1 };
  const { queue, start, visits, open } = rig(make, limits);
  start();
  /** For each hint: how many visits had begun when it was given. */
  const hints: { runId: string; lane: Lane; after: number }[] = [];
  const inspect = () => {
    const running = [...open];
    assert.equal(new Set(running.map((visit) => visit.runId)).size, running.length, "a run twice at once");
    for (const lane of ["work", "desk"] as const)
      assert.ok(
        running.filter((visit) => visit.lane === lane).length <= limits[lane],
        `${lane} is over its limit`,
      );
  };
  for (const step of actions) {
    if (step.do === "push") {
      hints.push({ runId: step.runId, lane: step.lane, after: visits.length });
      await queue.push(step.runId, step.lane);
    } else if (step.do === "end") {
      const visit = [...open][step.pick];
      if (step.failing) visit?.fail(new Error("scripted"));
      else visit?.end();
    } else await settle();
    inspect();
  }
  await settle();
  while (open.size > 0) {
    inspect();
    for (const visit of open) visit.end();
    await settle();
  }
  for (const hint of hints) {
    const later = visits.slice(hint.after);
    assert.ok(
      later.some((visit) => visit.runId === hint.runId && visit.lane === hint.lane),
      `a hint for ${hint.runId} in ${hint.lane} was lost`,
    );
  }
  await queue.stop(0);
}
