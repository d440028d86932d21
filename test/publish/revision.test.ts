/** Pushing a revision to our own pull request: forward from the approved head or not at all, whatever fails or dies. */

import assert from "node:assert/strict";
import { after, afterEach, before } from "node:test";
import type { FaultKind } from "#src/github/sim/faults.ts";
import type { PublishRequest } from "#src/publish/publish.ts";
import { branchName } from "#src/publish/publish.ts";
import { publishPullRequest } from "#src/publish/pull-request.ts";
import type { Proposal } from "#src/run/proposal.ts";
import { sample, testPart } from "#test/support/tier.ts";
import { type Journal, memoryJournal, type PublishRig, publishRig, REPO } from "./rig.ts";

const CHANGE = { "src/add.js": "export const add = (a, b) => a + b;\n" };
const REVISED = { ...CHANGE, NOTE: "the sign was wrong\n" };

const test = testPart(0.6);

let rig: PublishRig;
let runs = 0;

before(async () => {
  rig = await publishRig();
});

afterEach(() => rig.hub.clearFaults());

after(() => rig[Symbol.asyncDispose]());

interface Revision {
  readonly proposal: Proposal;
  readonly branch: string;
  readonly pullRequest: number;
  readonly first: string;
}

/** A pull request that stands, and an approved revision of it. */
async function revision(): Promise<Revision> {
  const opening = await rig.propose(CHANGE, { runId: `first${++runs}` });
  const opened = await publishPullRequest(rig.request(opening));
  assert.ok(opened.ok, JSON.stringify(opened));
  const { commitSha: first, branch, pullRequest } = opened.value;
  const proposal = await rig.propose(REVISED, {
    runId: `second${runs}`,
    baseSha: first,
    targetBranch: branch,
  });
  return { proposal, branch, pullRequest, first };
}

function push(of: Revision, change: Partial<PublishRequest> = {}) {
  const { branch, pullRequest, proposal } = of;
  return publishPullRequest(rig.request(proposal, { branch, pullRequest, ...change }));
}

const head = ({ branch }: Revision) => rig.origin.refSha(`refs/heads/${branch}`);

/** The head is the approved revision on the first commit, and there is one open pull request as before. */
async function assertPushed(of: Revision, outcome: Awaited<ReturnType<typeof push>>): Promise<void> {
  assert.ok(outcome.ok, JSON.stringify(outcome));
  assert.equal(outcome.value.pullRequest, of.pullRequest);
  assert.equal(await head(of), outcome.value.commitSha);
  const commit = await rig.origin.readCommit(outcome.value.commitSha);
  assert.deepEqual([commit?.tree, commit?.parents], [of.proposal.treeId, [of.first]]);
  const pulls = rig.hub.pullRequests(REPO).filter(({ pull }) => pull?.head === of.branch);
  assert.deepEqual(
    pulls.map(({ number, state }) => [number, state]),
    [[of.pullRequest, "open"]],
  );
  const own = branchName(of.proposal.issue, of.proposal.runId);
  assert.equal(await rig.origin.refSha(`refs/heads/${own}`), null, "a revision makes no branch");
}

test("a revision is one commit on the pull request's head, and no other pull request", async () => {
  const of = await revision();
  const journal = memoryJournal();
  const outcome = await push(of, { journal });
  await assertPushed(of, outcome);
  assert.deepEqual(await push(of, { journal }), outcome, "said again, it is found");
});

test("E07: a branch that somebody moved, or deleted, is left as it is", async () => {
  const of = await revision();
  const theirs = await rig.hub.pushCommit(REPO, { by: "maya", branch: of.branch, files: { MINE: "x" } });
  const refused = await push(of);
  assert.ok(!refused.ok && refused.error.code === "publish_refused" && refused.error.certain);
  assert.match(refused.error.message, /has moved since the plan.*\/revise again/);
  assert.equal(await head(of), theirs);
  const gone = await revision();
  await rig.hub.deleteBranch(REPO, gone.branch, "maya");
  const none = await push(gone);
  assert.ok(!none.ok && /is gone.*\/revise again/.test(none.error.message));
  assert.equal(await head(gone), null);
});

const FAULTS: readonly FaultKind[] = [
  { kind: "drop_before" },
  { kind: "drop_after" },
  { kind: "status", status: 500, body: { message: "Server Error" } },
];
const CALLS = [
  ["POST", /\/git\/blobs$/],
  ["POST", /\/git\/trees$/],
  ["POST", /\/git\/commits$/],
  ["PATCH", /\/git\/refs\//],
  ["GET", /\/pulls$/],
] as const;
const MATRIX = CALLS.flatMap(([method, path]) => FAULTS.map((fault) => ({ method, path, fault })));

for (const { method, path, fault } of sample(MATRIX, 3))
  test(`${method} ${path.source} that meets ${fault.kind} once still yields one push`, async () => {
    const of = await revision();
    const journal = memoryJournal();
    rig.hub.fault({ method, path, times: 1, fault });
    const first = await push(of, { journal });
    rig.hub.clearFaults();
    await assertPushed(of, first.ok ? first : await push(of, { journal }));
  });

class Died extends Error {}

const RECORDS = ["intend branch", "complete branch", "complete pull-request"];
const DEATHS = RECORDS.flatMap((record) => (["before", "after"] as const).map((side) => ({ record, side })));

for (const { record, side } of sample(DEATHS, 2))
  test(`a process that dies right ${side} "${record}" of a revision is made up for`, async () => {
    const of = await revision();
    let dying = true;
    const die = (entry: string) => {
      if (dying && entry === record) throw new Died();
    };
    const journal: Journal = memoryJournal(side === "before" ? { before: die } : { after: die });
    await assert.rejects(push(of, { journal }), Died);
    dying = false;
    await assertPushed(of, await push(of, { journal }));
  });

test("no request of all these broke GitHub's published contract", () => {
  assert.deepEqual(rig.violations(), []);
});
