/** Every write of a run is a place to be killed at: wherever that is, the next worker brings the run to the same end. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseMarker } from "#src/gate/marker.ts";
import { proposalDigest } from "#src/run/proposal.ts";
import { leftBehind } from "#test/support/left-behind.ts";
import { FULL, sample, testPart } from "#test/support/tier.ts";
import {
  type CrashWorld,
  crashWorld,
  type Kill,
  type LivingWorker,
  MAINTAINER,
  REPO,
} from "./crash-world.ts";

/** Brings the run as far as this worker lives; true when it was killed. */
async function see(world: CrashWorld, worker: LivingWorker): Promise<boolean> {
  const { store, github, request } = world;
  const { runId, issue } = request;
  const answers = async () =>
    (await store.events(runId)).filter(({ event }) => event.type === "command_received").length;
  const answered = async () => (await answers()) > 0;
  const quiet = async () => (await store.leases()).length === 0 && (await store.openRuns()).length === 0;
  const waiting = (state: string) => async () => (await store.run(runId))?.state === state;
  const approve = async (digest: string | null) => {
    const commentId = github.comment(REPO, issue.number, MAINTAINER, "/approve");
    await store.appendFact(runId, `comment-${commentId}`, {
      type: "command_received",
      fact: {
        command: { verb: "approve", digest, unverified: false },
        by: MAINTAINER,
        commentId,
        issue: { title: issue.title, body: issue.body },
      },
    });
    await worker.push(runId);
  };
  const digests = async (type: "intended" | "proposed") =>
    (await store.events(runId)).flatMap(({ event }) => (event.type === type ? [event.digest] : []));
  if (world.intent && !(await answered())) {
    if (await worker.until(waiting("awaiting_intent"))) return true;
    await approve((await digests("intended"))[0] ?? null);
  }
  if ((await answers()) < (world.intent ? 2 : 1)) {
    if (await worker.until(waiting("awaiting_approval"))) return true;
    await approve(world.intent ? ((await digests("proposed"))[0] ?? null) : null);
  }
  return worker.until(quiet);
}

async function begin(world: CrashWorld): Promise<void> {
  assert.ok((await world.store.createRun(world.request)).ok);
}

async function assertTheOneEnd(world: CrashWorld): Promise<void> {
  const { github, store, request, baseSha } = world;
  const { runId, issue } = request;
  const events = (await store.events(runId)).map(({ event }) => event);
  assert.equal((await store.run(runId))?.state, "published");
  assert.deepEqual(github.issue(REPO, issue.number).reactions, ["eyes"]);
  const comments = github.comments(REPO, issue.number);
  const kinds = comments.flatMap(({ body }) => parseMarker(body)?.kind ?? []);
  assert.deepEqual(kinds.toSorted(), world.intent ? ["intent", "plan", "status"] : ["plan", "status"]);
  for (const { body, reactions } of comments) if (body === "/approve") assert.deepEqual(reactions, ["+1"]);
  const [pull, ...more] = github.pullRequests(REPO);
  assert.ok(pull?.pull);
  assert.deepEqual(more, []);
  const refs = await github.git(REPO).refs();
  const branch = `refs/heads/agent-fix/issue-${issue.number}-${runId}`;
  assert.deepEqual([...refs.keys()].toSorted(), [branch, "refs/heads/main"].toSorted());
  const proposed = events.findLast((event) => event.type === "proposed");
  const approved = events.findLast((event) => event.type === "approved");
  assert.ok(proposed?.type === "proposed" && approved?.type === "approved");
  assert.equal(events.filter((event) => event.type === "approved").length, 1);
  assert.equal(approved.digest, proposalDigest(proposed.proposal));
  const commit = await github.git(REPO).readCommit(refs.get(branch) ?? "");
  assert.deepEqual(commit?.parents, [baseSha]);
  assert.equal(commit?.tree, proposed.proposal.treeId);
  const told = comments.map(({ body }) => body).join("\n");
  assert.match(told, new RegExp(`done: pull request #${pull.number}`), "the status comment tells the end");
  assert.match(told, new RegExp(`Published as #${pull.number}`), "the plan comment tells the end");
  assert.deepEqual(await leftBehind(world.dataDir, null), []);
}

async function killedAt(kill: Kill, intent = false): Promise<void> {
  await using world = await crashWorld(intent);
  await begin(world);
  const first = await world.startWorker(kill);
  try {
    assert.equal(await see(world, first), true, "it was killed");
  } finally {
    await first.gone();
  }
  const second = await world.startWorker(null);
  try {
    assert.equal(await see(world, second), false);
  } finally {
    await second.gone();
  }
  await assertTheOneEnd(world);
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

const writes = Array.from({ length: await countWrites() }, (_, index) => index + 1);
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
