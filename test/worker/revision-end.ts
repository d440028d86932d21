/** A revision that a review of our pull request asks for, and the one end it comes to, whatever happened on the way. */

import assert from "node:assert/strict";
import { parseMarker } from "#src/gate/marker.ts";
import type { Run } from "#src/run/run.ts";
import { reduce } from "#src/run/transition.ts";
import { leftBehind } from "#test/support/left-behind.ts";
import type { Story } from "./call-matrix.ts";
import { ADD_A_NOTE, type CrashWorld, type LivingWorker, MAINTAINER, REPO } from "./crash-world.ts";
import { begin, nextWorkerEndsIt } from "./one-end.ts";

/** A pull request stands, and a review that asks for changes is on record. */
async function prepare(world: CrashWorld): Promise<void> {
  await begin(world);
  await nextWorkerEndsIt(world);
  const { github, store, request } = world;
  const pullRequest = (await opened(world)).pullRequest;
  const review = github.review(REPO, pullRequest, MAINTAINER, {
    state: "changes_requested",
    body: ADD_A_NOTE,
    comments: [{ path: "add.js", line: 1, body: "Here." }],
  });
  await store.appendFact(request.runId, `review-${review.id}`, {
    type: "command_received",
    fact: {
      command: { verb: "revise", text: ADD_A_NOTE },
      by: MAINTAINER,
      commentId: review.id,
      issue: null,
      pullRequest,
      review: true,
    },
  });
}

type Opened = Extract<Run, { state: "published" }>;

async function opened({ store, request }: CrashWorld): Promise<Opened> {
  const events = (await store.events(request.runId)).map(({ event }) => event);
  const run = reduce(events);
  assert.ok(run.ok && run.value.state === "published");
  return run.value;
}

/** The run that revises; null: it has not been created. */
async function child({ store, request }: CrashWorld) {
  const runs = await store.runsOf(request.repository.id, request.issue.number);
  return runs.find(({ runId }) => runId !== request.runId) ?? null;
}

async function see(world: CrashWorld, worker: LivingWorker): Promise<boolean> {
  const { store, github, request } = world;
  const isWaiting = async () => {
    const run = await child(world);
    await worker.push(run === null || run.state === "published" ? request.runId : run.runId);
    return run?.state === "awaiting_approval" || run?.ended === true;
  };
  const isAnswered = async () => {
    const run = await child(world);
    const events = run === null ? [] : await store.events(run.runId);
    return events.some(({ event }) => event.type === "command_received");
  };
  if (!(await isAnswered())) {
    if (await worker.until(isWaiting)) return true;
    const run = await child(world);
    assert.equal(run?.state, "awaiting_approval");
    const proposed = (await store.events(run.runId)).findLast(({ event }) => event.type === "proposed");
    assert.ok(proposed?.event.type === "proposed");
    const { pullRequest } = await opened(world);
    const commentId = github.comment(REPO, pullRequest, MAINTAINER, "/approve");
    await store.appendFact(run.runId, `comment-${commentId}`, {
      type: "command_received",
      fact: {
        command: { verb: "approve", digest: proposed.event.digest, unverified: false },
        by: MAINTAINER,
        commentId,
        issue: null,
        pullRequest,
      },
    });
    await worker.push(run.runId);
  }
  return worker.until(async () => {
    if ((await store.leases()).length > 0) return false;
    const open = await store.openRuns();
    // What GitHub did not take is due in a minute; nobody wants to wait for that.
    for (const { runId } of open) await worker.push(runId);
    return open.length === 0;
  });
}

async function assertTheOneEnd(world: CrashWorld): Promise<void> {
  const { github, store, request } = world;
  const { pullRequest, branch, commitSha: first } = await opened(world);
  const runs = await store.runsOf(request.repository.id, request.issue.number);
  assert.deepEqual(
    runs.map(({ state }) => state),
    ["published", "published"],
  );
  const run = await child(world);
  assert.ok(run !== null);
  const events = (await store.events(run.runId)).map(({ event }) => event);
  const proposed = events.findLast((event) => event.type === "proposed");
  assert.ok(proposed?.type === "proposed");
  const refs = await github.git(REPO).refs();
  assert.deepEqual([...refs.keys()].toSorted(), [`refs/heads/${branch}`, "refs/heads/main"].toSorted());
  const head = await github.git(REPO).readCommit(refs.get(`refs/heads/${branch}`) ?? "");
  assert.deepEqual(head?.parents, [first], "one commit on top");
  assert.equal(head?.tree, proposed.proposal.treeId);
  assert.equal(github.pullRequests(REPO).length, 1);
  const kinds = (number: number) =>
    github
      .comments(REPO, number)
      .flatMap(({ body }) => parseMarker(body)?.kind ?? [])
      .toSorted();
  assert.deepEqual(kinds(pullRequest), ["plan", "status"]);
  assert.deepEqual(kinds(request.issue.number), ["plan", "status"]);
  const approval = github.comments(REPO, pullRequest).find(({ body }) => body === "/approve");
  assert.deepEqual(approval?.reactions, ["+1"]);
  const threads = github.reviewComments(REPO, pullRequest);
  assert.equal(threads.filter(({ replyTo }) => replyTo !== null).length, 1, "the thread is answered once");
  const told = github
    .comments(REPO, pullRequest)
    .map(({ body }) => body)
    .join("\n");
  assert.match(told, new RegExp(`Pushed to #${pullRequest}`), "the plan comment tells the end");
  assert.deepEqual(await leftBehind(world.dataDir, null), []);
}

export const revision: Story = { prepare, see, assertTheOneEnd };
