/** The one end that a run comes to, whatever happened on the way: one reaction, one status comment, one plan comment, one branch, one pull request. */

import assert from "node:assert/strict";
import { parseMarker } from "#src/gate/marker.ts";
import { proposalDigest } from "#src/run/proposal.ts";
import { leftBehind } from "#test/support/left-behind.ts";
import { type CrashWorld, type LivingWorker, MAINTAINER, REPO } from "./crash-world.ts";

/** Brings the run as far as this worker lives; true when it was killed. */
export async function see(world: CrashWorld, worker: LivingWorker): Promise<boolean> {
  const { store, github, request } = world;
  const { runId, issue } = request;
  const answers = async () =>
    (await store.events(runId)).filter(({ event }) => event.type === "command_received").length;
  const answered = async () => (await answers()) > 0;
  const quiet = async () => {
    if ((await store.leases()).length > 0) return false;
    if ((await store.openRuns()).length === 0) return true;
    // What GitHub did not take is due in a minute; nobody wants to wait for that.
    await worker.push(runId);
    return false;
  };
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

export async function begin(world: CrashWorld): Promise<void> {
  assert.ok((await world.store.createRun(world.request)).ok);
}

/** A worker that nobody kills takes the run up and brings it to its one end. */
export async function nextWorkerEndsIt(world: CrashWorld): Promise<void> {
  const worker = await world.startWorker(null);
  try {
    assert.equal(await see(world, worker), false);
  } finally {
    await worker.gone();
  }
  await assertTheOneEnd(world);
}

export async function assertTheOneEnd(world: CrashWorld): Promise<void> {
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
