/** Every prefix of a valid log is a state that a crash can leave: it reduces, and goes on to the same end. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isEnded, type Run, type RunEvent } from "#src/run/run.ts";
import { reduce, transition } from "#src/run/transition.ts";
import { FULL } from "#test/support/tier.ts";
import { STATES } from "./sample.ts";
import { VALID_LOG } from "./valid-logs.ts";

const RUNS = { numRuns: FULL ? 10_000 : 600 };

function reduced(log: readonly RunEvent[]): Run {
  const result = reduce(log);
  assert.ok(result.ok, `${JSON.stringify(result)} after ${log.map((event) => event.type).join(" ")}`);
  return result.value;
}

test("every prefix of a valid log reduces, and each is one step from the next", () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(VALID_LOG, (log) => {
      let run = reduced(log.slice(0, 1));
      for (let length = 1; length < log.length; length++) {
        const event = log[length];
        assert.ok(event !== undefined);
        const stepped = transition(run, event);
        assert.ok(stepped.ok, JSON.stringify(stepped));
        run = reduced(log.slice(0, length + 1));
        assert.deepEqual(stepped.value, run);
        reached.add(run.state);
      }
    }),
    RUNS,
  );
  assert.deepEqual(
    STATES.filter((state) => state !== "queued" && !reached.has(state)),
    [],
    "the generator should reach every state",
  );
});

test("a log that went through the store as JSON reduces to the same run", () => {
  fc.assert(
    fc.property(VALID_LOG, (log) => {
      assert.deepEqual(reduced(JSON.parse(JSON.stringify(log)) as RunEvent[]), reduced(log));
    }),
    RUNS,
  );
});

test("once ended, a run stays ended the same way whatever else is recorded", () => {
  fc.assert(
    fc.property(VALID_LOG, VALID_LOG, (log, other) => {
      const run = reduced(log);
      if (!isEnded(run)) return;
      for (const event of other.slice(1)) {
        const next = transition(run, event);
        if (event.type === "outcome" && run.state === "published")
          assert.ok(next.ok && next.value.state === "published");
        else if (next.ok) assert.equal(next.value, run);
        else assert.ok(next.error === "event_after_end" || next.error === "outcome_before_publication");
      }
    }),
    RUNS,
  );
});

test("a log with one event left out never reduces to a run past what was left out", () => {
  // Nothing is published that was not proposed and approved, whichever line of the log is lost.
  fc.assert(
    fc.property(VALID_LOG, fc.nat(), (log, pick) => {
      const at = pick % log.length;
      const result = reduce(log.toSpliced(at, 1));
      if (!result.ok || result.value.state !== "published") return;
      const kinds = new Set(log.toSpliced(at, 1).map((event) => event.type));
      for (const needed of ["requested", "proposed", "approved", "publish_started", "published"] as const)
        assert.ok(kinds.has(needed), `published without ${needed}`);
    }),
    RUNS,
  );
});
