/** Which container a command gets: clean ones again, new ones for commands side by side, never one that was killed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { err, ok, type Result } from "#src/base/result.ts";
import { containerGroups } from "#src/sandbox/container/groups.ts";
import type { Lane } from "#src/sandbox/container/lane.ts";
import { createLanePool, MOST_LANES } from "#src/sandbox/container/lane-pool.ts";
import type { SandboxFailure } from "#src/sandbox/sandbox.ts";

interface Fake extends Lane {
  removed: number;
}

function fakes() {
  const made: Fake[] = [];
  const make = (): Fake => {
    let alive = true;
    const lane: Fake = {
      name: `lane-${made.length}`,
      groups: containerGroups(null),
      removed: 0,
      usable: async () => alive,
      settle: async () => undefined,
      kill: async () => {
        alive = false;
      },
      remove: async () => {
        alive = false;
        lane.removed += 1;
        return null;
      },
    };
    made.push(lane);
    return lane;
  };
  return { made, make };
}

const never = new AbortController().signal;

function laneOf(taken: Result<Lane, SandboxFailure> | null): Lane {
  assert.ok(taken?.ok);
  return taken.value;
}

test("a clean container is used again, a killed one never, and its successor starts ahead of time", async () => {
  const { made, make } = fakes();
  const pool = createLanePool(make(), async () => ok(make()));
  const first = laneOf(await pool.take(never));
  await pool.giveBack(first);
  assert.equal(laneOf(await pool.take(never)), first);
  await first.kill();
  await pool.giveBack(first);
  assert.equal(made.length, 2, "no successor was started");
  assert.equal(laneOf(await pool.take(never)).name, "lane-1");
  await pool.close();
  assert.deepEqual(
    made.map((lane) => lane.removed > 0),
    [true, true],
  );
});

test("commands side by side get a container each, up to a number; the next waits for its turn or its cancel", async () => {
  const { made, make } = fakes();
  const pool = createLanePool(make(), async () => ok(make()));
  const taken = await Promise.all(Array.from({ length: MOST_LANES }, () => pool.take(never)));
  assert.equal(new Set(taken.map((one) => laneOf(one).name)).size, MOST_LANES);
  const cancel = new AbortController();
  const cancelled = pool.take(cancel.signal);
  const waits = pool.take(never);
  cancel.abort();
  assert.equal(await cancelled, null);
  await pool.giveBack(laneOf(taken[0] ?? null));
  assert.equal(laneOf(await waits), laneOf(taken[0] ?? null));
  assert.equal(made.length, MOST_LANES);
  await pool.close();
});

test("a container that is still starting when the session closes is removed too", async () => {
  const { made, make } = fakes();
  const gate = Promise.withResolvers<void>();
  const pool = createLanePool(make(), async () => {
    await gate.promise;
    return ok(make());
  });
  await pool.take(never);
  const second = pool.take(never);
  const closing = pool.close();
  gate.resolve();
  assert.equal(await second, null);
  await closing;
  assert.deepEqual(
    made.map((lane) => lane.removed),
    [1, 1],
  );
  assert.equal(await pool.take(never), null);
});

test("a container that cannot be started is the next command's failure, and the session goes on", async () => {
  const { make } = fakes();
  let fails = true;
  const failure = { code: "unavailable", message: "the disk is full" } as const;
  const pool = createLanePool(make(), async () => (fails ? err(failure) : ok(make())));
  const first = laneOf(await pool.take(never));
  await first.kill();
  await pool.giveBack(first);
  const refused = await pool.take(never);
  assert.deepEqual(refused, err(failure));
  fails = false;
  laneOf(await pool.take(never));
  await pool.close();
});
