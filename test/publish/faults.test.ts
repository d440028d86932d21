/** Every call of publishing failing before and after its effect, and a process that dies at every record: one branch, one pull request, or a clean refusal. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { FaultKind } from "#src/github/sim/faults.ts";
import { publishPullRequest } from "#src/publish/pull-request.ts";
import type { Proposal } from "#src/run/proposal.ts";
import { FULL, sample } from "#test/support/tier.ts";
import { type Journal, memoryJournal, type PublishRig, publishRig, REPO } from "./rig.ts";

const CHANGE = { "src/add.js": "export const add = (a, b) => a + b;\n", "old.txt": null };

const FAULTS: Readonly<Record<string, FaultKind>> = {
  "connection cut before": { kind: "drop_before" },
  "connection cut after": { kind: "drop_after" },
  "answer 500": { kind: "status", status: 500, body: { message: "Server Error" } },
  "answer 403": {
    kind: "status",
    status: 403,
    body: { message: "Resource not accessible by integration" },
    headers: { "x-accepted-github-permissions": "contents=write" },
  },
  "answer 422": { kind: "status", status: 422, body: { message: "Validation Failed" } },
};

/** One GitHub for all cases; each has a run, and so a branch, of its own. */
let rig: PublishRig;
let proposal: Proposal;
let calls: readonly string[];
let cases = 0;

before(async () => {
  rig = await publishRig();
  proposal = await rig.propose(CHANGE);
  // The first publishing also asks for the token; it is kept afterwards.
  const start = rig.hub.calls().length;
  await publishPullRequest(rig.request(nextCase()));
  calls = rig.hub
    .calls()
    .slice(start)
    .map(({ method, path }) => `${method} ${path.split("/").slice(4).join("/")}`);
});

after(() => rig[Symbol.asyncDispose]());

function nextCase(): Proposal {
  return { ...proposal, runId: `case${++cases}` };
}

/** Fails the calls that `fails` names by their number, counted over all methods from 1. */
function failCalls(fails: (call: number) => boolean, fault: FaultKind): void {
  let count = 0;
  class Counting extends RegExp {
    override test(): boolean {
      return fails(++count);
    }
  }
  for (const method of ["GET", "POST", "PATCH", "DELETE"])
    rig.hub.fault({ method, path: new Counting("x"), times: Number.POSITIVE_INFINITY, fault });
}

type Outcome = Awaited<ReturnType<typeof publishPullRequest>>;

/** Either one branch at the approved tree with one open pull request, or neither. */
async function assertWhole(published: Proposal, outcome: Outcome, what: string): Promise<void> {
  const head = await rig.head(published);
  const pulls = rig.pulls(published);
  if (!outcome.ok) {
    assert.equal(head, null, `${what}: a branch was left`);
    assert.deepEqual(
      pulls.filter((pull) => pull.state === "open"),
      [],
      `${what}: a pull request was left`,
    );
    return;
  }
  assert.equal(pulls.length, 1, `${what}: ${pulls.length} pull requests`);
  assert.deepEqual([pulls[0]?.number, pulls[0]?.state], [outcome.value.pullRequest, "open"], what);
  assert.deepEqual([head, pulls[0]?.pull?.headSha], [outcome.value.commitSha, head], what);
  const commit = await rig.origin.readCommit(outcome.value.commitSha);
  assert.deepEqual([commit?.tree, commit?.parents], [published.treeId, [published.baseSha]], what);
}

async function attempt(published: Proposal, journal: Journal): Promise<Outcome> {
  return publishPullRequest(rig.request(published, { journal }));
}

test("the calls are those of one publishing, each once", () => {
  assert.deepEqual(
    calls.map((call) => call.replace(/[0-9a-f]{40}/, "SHA").replace(/case\d+/, "RUN")),
    [
      "POST access_tokens",
      "GET git/commits/SHA",
      "POST git/blobs",
      "POST git/trees",
      "POST git/commits",
      "POST git/refs",
      "POST pulls",
    ],
  );
});

const CALLS = [1, 2, 3, 4, 5, 6];
const KINDS = Object.keys(FAULTS);
const SINGLE = CALLS.flatMap((call) => KINDS.map((kind) => ({ call, kind, lasting: false })));
const LASTING = CALLS.flatMap((call) => KINDS.map((kind) => ({ call, kind, lasting: true })));

for (const { call, kind, lasting } of [...sample(SINGLE, 3), ...sample(LASTING, 2)])
  test(`call ${call} meets ${kind}${lasting ? " and so does every later one" : ""}; said again with the same journal, all is whole`, async () => {
    const published = nextCase();
    const journal = memoryJournal();
    failCalls((number) => (lasting ? number >= call : number === call), FAULTS[kind] as FaultKind);
    const first = await attempt(published, journal);
    rig.hub.clearFaults();
    if (!lasting) await assertWhole(published, first, "at first");
    const second = await attempt(published, journal);
    await assertWhole(published, second, "said again");
    if (first.ok) assert.deepEqual(second, first);
    const passing = kind !== "answer 403" && kind !== "answer 422";
    if (passing) assert.ok(second.ok, JSON.stringify(second));
    else if (!first.ok)
      assert.equal(first.error.code, kind === "answer 403" ? "permission" : "publish_refused");
  });

test("whatever goes wrong, the refusal is a sentence with a remedy", async () => {
  for (const kind of sample(KINDS, 1)) {
    failCalls((number) => number >= 2, FAULTS[kind] as FaultKind);
    const outcome = await attempt(nextCase(), memoryJournal());
    rig.hub.clearFaults();
    if (outcome.ok) continue;
    assert.match(outcome.error.message, /GitHub .*\/retry|delete it/i, kind);
  }
});

test("a pull request whose answers were all lost is found again, and its branch is not deleted under it", async () => {
  const published = nextCase();
  const journal = memoryJournal();
  // From the opening of the pull request on nothing comes back, not even to looking.
  failCalls((number) => number >= 6, { kind: "drop_after" });
  const first = await attempt(published, journal);
  assert.ok(!first.ok && first.error.code === "github_failed", JSON.stringify(first));
  assert.match(first.error.message, /may have been left behind/);
  assert.equal(first.error.certain, false, "nobody can say that it failed");
  rig.hub.clearFaults();
  assert.equal(rig.pulls(published)[0]?.state, "open");
  await assertWhole(published, await attempt(published, journal), "said again");
});

test("a failure is certain only when GitHub has said that nothing stands", async () => {
  const broken = FAULTS["answer 500"] as FaultKind;
  // The creation of the branch and all that follows; the looking after it answers in one case and not in the other.
  for (const looks of [true, false]) {
    rig.hub.fault({ method: "POST", path: /\/git\/refs$/, times: Number.POSITIVE_INFINITY, fault: broken });
    if (!looks)
      rig.hub.fault({ method: "GET", path: /\/git\/ref/, times: Number.POSITIVE_INFINITY, fault: broken });
    const outcome = await attempt(nextCase(), memoryJournal());
    rig.hub.clearFaults();
    assert.ok(!outcome.ok && outcome.error.code === "github_failed", JSON.stringify(outcome));
    assert.equal(outcome.error.certain, looks);
  }
});

class Died extends Error {}

const RECORDS = ["intend branch", "complete branch", "intend pull-request", "complete pull-request"];
const DEATHS = RECORDS.flatMap((record) => [
  { record, side: "before" },
  { record, side: "after" },
]);

for (const { record, side } of sample(DEATHS, 2))
  test(`a process that dies right ${side} "${record}" is made up for`, async () => {
    const published = nextCase();
    let dying = true;
    const die = (entry: string) => {
      if (dying && entry === record) throw new Died();
    };
    const journal = memoryJournal(side === "before" ? { before: die } : { after: die });
    await assert.rejects(attempt(published, journal), Died);
    dying = false;
    const again = await attempt(published, journal);
    assert.ok(again.ok, JSON.stringify(again));
    await assertWhole(published, again, "said again");
    assert.deepEqual(await attempt(published, journal), again);
  });

test("two processes that publish the same at once make one branch and one pull request", async () => {
  const published = nextCase();
  const outcomes = await Promise.all([
    attempt(published, memoryJournal()),
    attempt(published, memoryJournal()),
  ]);
  const good = outcomes.filter((outcome) => outcome.ok);
  assert.ok(good.length >= 1);
  assert.equal(rig.pulls(published).length, 1);
  for (const outcome of good) assert.equal(outcome.ok && outcome.value.commitSha, await rig.head(published));
});

test("no request of all these broke GitHub's published contract, and no foreign branch was touched", async () => {
  assert.deepEqual(rig.violations(), []);
  assert.equal(await rig.origin.refSha("refs/heads/main"), rig.headSha);
  assert.ok(rig.hub.pullRequests(REPO).every(({ pull }) => pull?.head.startsWith("agent-fix/issue-12-case")));
  if (FULL) assert.ok(cases > 60);
});
