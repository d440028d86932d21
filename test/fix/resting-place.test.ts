/** Where a run goes on from: in the files it was stopped in, at the last turn whose files are kept, or at the round's start; never at half of a turn (FAULTS I05). */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Checkpoints, openCheckpoints } from "#src/fix/checkpoints.ts";
import { findRestingPlace, keepRest, markStopped, stoppedWork } from "#src/fix/resting-place.ts";
import { addTallies, talliesIn } from "#src/fix/work-keeper.ts";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import type { Message } from "#src/model/model.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { blobs } from "./blobs.ts";

const SYSTEM: Message = { role: "system", content: "s" };
const said = (turns: number): readonly Message[] => [
  SYSTEM,
  ...Array.from({ length: turns }, (_, at): Message => ({ role: "user", content: `turn ${at + 1}` })),
];

async function opened(store: ReturnType<typeof blobs>, round: number): Promise<Checkpoints> {
  const checkpoints = await openCheckpoints(store, round);
  assert.ok(checkpoints.ok);
  return checkpoints.value;
}

/** Stores so many turns of a round. */
async function work(store: ReturnType<typeof blobs>, round: number, turns: number): Promise<void> {
  const checkpoints = await opened(store, round);
  for (let turn = 1; turn <= turns; turn++)
    await checkpoints.save({
      messages: said(turn),
      spent: { ...NOTHING_SPENT, turns: turn },
      dirty: ["a"],
    });
}

async function placeOf(store: ReturnType<typeof blobs>, round: number) {
  const place = await findRestingPlace(store, await opened(store, round), round);
  const { stored, ...rest } = place;
  return { ...rest, turns: Math.max(0, stored.messages.length - 1) };
}

const START = { directory: null, treeId: null, heard: null, midRound: false, turns: 0 };

test("a killed run goes on from the newest turn whose files are kept, and what came after it is not half there", async () => {
  const store = blobs();
  assert.deepEqual(await placeOf(store, 0), START);
  await work(store, 0, 3);
  assert.deepEqual(await placeOf(store, 0), START, "no files are kept: the round begins again");
  await keepRest(store, 1, { treeId: "t1", heard: 0 });
  await keepRest(store, 2, { treeId: null, heard: 1 });
  const second = { directory: null, treeId: null, heard: 1, midRound: true, turns: 2 };
  assert.deepEqual(await placeOf(store, 0), second);
  assert.equal((await opened(store, 0)).newest.spent.turns, 3, "what was paid stays paid");
  store.stored.set("rest-2", "{torn");
  assert.deepEqual(await placeOf(store, 0), { ...second, treeId: "t1", heard: 0, turns: 1 });
});

test("the files of another round are not this round's", async () => {
  const store = blobs();
  await work(store, 0, 2);
  await keepRest(store, 2, { treeId: "t2", heard: 0 });
  assert.deepEqual(await placeOf(store, 1), { ...START, turns: 2 });
});

test("a run that was stopped in order goes on in its directory, until it is gone or anything was done since", async () => {
  await using dir = await tempDir();
  const store = blobs();
  await work(store, 0, 2);
  await keepRest(store, 1, { treeId: "t1", heard: 0 });
  await markStopped(store, { checkpoint: 2, directory: dir.path, heard: 1 });
  assert.deepEqual(await placeOf(store, 0), {
    ...{ directory: dir.path, treeId: null, heard: 1, midRound: true, turns: 2 },
  });
  const fallBack = { directory: null, treeId: "t1", heard: 0, midRound: true, turns: 1 };
  await markStopped(store, { checkpoint: 2, directory: join(dir.path, "gone"), heard: 1 });
  assert.deepEqual(await placeOf(store, 0), fallBack);
  await markStopped(store, { checkpoint: 1, directory: dir.path, heard: 1 });
  assert.deepEqual(await placeOf(store, 0), fallBack, "a later turn was stored");
  await markStopped(store, null);
  assert.deepEqual(await placeOf(store, 0), fallBack);
  assert.equal(await stoppedWork(store, 2), null);
});

test("calls of an earlier sitting are counted from the transcript", () => {
  const result = (name: string, failed: boolean): Message => ({
    ...{ role: "tool", callId: "c", name, content: "" },
    ...(failed ? { failed: true } : {}),
  });
  const earlier = talliesIn([SYSTEM, result("search", false), result("search", true)]);
  assert.deepEqual(addTallies(earlier, { search: { ok: 1, errors: 0 }, x: { ok: 0, errors: 1 } }), {
    search: { ok: 2, errors: 1 },
    x: { ok: 0, errors: 1 },
  });
});
