/** Every write of a run is a place to be killed at: wherever that is, the next worker brings the run to the same end. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FULL, inTurn, sample, testPart } from "#test/support/tier.ts";
import { crashWorld, type Kill, type LivingWorker } from "./crash-world.ts";
import { assertTheOneEnd, begin, nextWorkerEndsIt, see } from "./one-end.ts";

async function killedAt(kill: Kill, intent = false): Promise<void> {
  await using world = await crashWorld(intent);
  await begin(world);
  const first = await world.startWorker(kill);
  try {
    if (!(await see(world, first))) {
      // The run that was counted edited its status once more, as a slow one does.
      assert.ok(first.writes() < kill.write, "it was killed");
      return await assertTheOneEnd(world);
    }
  } finally {
    await first.gone();
  }
  await nextWorkerEndsIt(world);
}

/** How many writes a run has that nobody kills; effects that are added later are counted by themselves. */
async function countWrites(): Promise<number> {
  await using world = await crashWorld();
  await begin(world);
  const worker = await world.startWorker(null);
  try {
    await see(world, worker);
  } finally {
    await worker.gone();
  }
  await assertTheOneEnd(world);
  return worker.writes();
}

/** In the quick tier it takes turns with the matrix of calls. */
const count = inTurn(0, 2) ? await countWrites() : 0;
const writes = Array.from({ length: count }, (_, index) => index + 1);
const kills = writes.flatMap((write): Kill[] => [
  { write, when: "before" },
  { write, when: "after" },
]);

describe("F17: a run killed at any write comes to the same end", { concurrency: 2 }, () => {
  for (const kill of sample(kills, 1))
    test(`killed ${kill.when} write ${kill.write} of ${writes.length}`, () => killedAt(kill));
});

/** Every write up to the plan, about; later ones are the matrix's above. */
const INTENT_WRITES = 40;
const early = Array.from({ length: INTENT_WRITES }, (_, index) => index + 1).flatMap((write): Kill[] => [
  { write, when: "before" },
  { write, when: "after" },
]);

describe("F17: a run that posts an intent first, killed at any write", { concurrency: 2 }, () => {
  for (const kill of FULL ? early : [])
    test(`killed ${kill.when} write ${kill.write}`, () => killedAt(kill, true));
});

testPart(0.5)(
  "two workers on one store: the lease decides who works, and the run comes to the same one end",
  async () => {
    await using world = await crashWorld();
    const workers = [await world.startWorker(null, false), await world.startWorker(null, false)];
    const [first, second] = workers;
    assert.ok(first !== undefined && second !== undefined);
    try {
      await begin(world);
      await Promise.all(workers.map((worker) => worker.push(world.request.runId)));
      // Each hears of the approval too, whoever is at work.
      const both: LivingWorker = {
        ...first,
        push: async (runId) => void (await Promise.all(workers.map((worker) => worker.push(runId)))),
        until: (done) => Promise.race(workers.map((worker) => worker.until(done))),
      };
      assert.equal(await see(world, both), false);
    } finally {
      await Promise.all(workers.map((worker) => worker.gone()));
    }
    await assertTheOneEnd(world);
  },
);
