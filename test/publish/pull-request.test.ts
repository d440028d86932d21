/** Publishing against the embedded GitHub through the real adapter: one commit of exactly the approved tree, and refusals that leave nothing. */

import assert from "node:assert/strict";
import { after, afterEach, before } from "node:test";
import type { PublishFailure } from "#src/publish/publish.ts";
import { branchName } from "#src/publish/publish.ts";
import { publishPullRequest } from "#src/publish/pull-request.ts";
import { testPart } from "#test/support/tier.ts";
import { memoryJournal, type PublishRig, publishRig, REPO } from "./rig.ts";

const test = testPart(0.5);

const CHANGE = { "src/add.js": "export const add = (a, b) => a + b;\n" };

/** One GitHub for all but those that need another installation; each test has a run, and so a branch, of its own. */
let rig: PublishRig;
let runs = 0;

before(async () => {
  rig = await publishRig();
});

afterEach(() => rig.hub.clearFaults());

after(() => rig[Symbol.asyncDispose]());

function ownRun(): { readonly runId: string } {
  return { runId: `run${++runs}` };
}

async function refused(rig: PublishRig, ...args: Parameters<PublishRig["request"]>): Promise<PublishFailure> {
  const result = await publishPullRequest(rig.request(...args));
  assert.ok(!result.ok, JSON.stringify(result));
  return result.error;
}

test("one commit stands on the approved base with the approved tree, verified as the app's, and the pull request carries the approved words", async () => {
  const proposal = await rig.propose(CHANGE, ownRun());
  const result = await publishPullRequest(rig.request(proposal));
  assert.ok(result.ok, JSON.stringify(result));
  const { commitSha, branch, pullRequest, url } = result.value;
  assert.equal(branch, `agent-fix/issue-12-${proposal.runId}`);
  assert.equal(await rig.head(proposal), commitSha);
  const commit = await rig.origin.readCommit(commitSha);
  assert.deepEqual([commit?.parents, commit?.tree], [[rig.headSha], proposal.treeId]);
  assert.equal(commit?.message, "Pad cents to two digits\n\nFixes #12\n");
  assert.equal(await rig.origin.countCommits(rig.headSha, commitSha), 1);
  assert.match(commit?.author.name ?? "", /\[bot\]$/);
  const [pull, ...more] = rig.pulls(proposal);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [pull?.number, pull?.title, pull?.body, pull?.pull?.draft, pull?.pull?.base, pull?.pull?.headSha],
    [pullRequest, proposal.title, `${proposal.body}\n\nApproved by maya`, false, "main", commitSha],
  );
  assert.match(url, new RegExp(`/pull/${pullRequest}$`));
  assert.deepEqual(rig.violations(), []);
});

test("modes, deletions, links, odd names, empty and binary files arrive byte for byte", async () => {
  const binary = Uint8Array.from({ length: 2_000 }, (_, index) => (index * 7) % 256);
  const changes = {
    "run.sh": { mode: "100644", content: Buffer.from("echo no longer executable\n") },
    "new.sh": { mode: "100755", content: Buffer.from("#!/bin/sh\n") },
    link: { mode: "120000", content: Buffer.from("src/add.js") },
    "to/new-link": { mode: "120000", content: Buffer.from("../../outside") },
    "old.txt": null,
    "naïve/日本/😀 emoji.txt": "héllo 🌍\n",
    'quote"back\\slash\ttab.txt': "odd\n",
    "-dash": "x",
    empty: "",
    "binary.bin": binary,
    "no-final-newline": "a\r\nb",
  } as const;
  const proposal = await rig.propose(changes, ownRun());
  const result = await publishPullRequest(rig.request(proposal));
  assert.ok(result.ok, JSON.stringify(result));
  const items = await rig.origin.readTree(result.value.commitSha, true);
  const found = new Map(items?.map((item) => [item.path, item]));
  assert.ok(!found.has("old.txt"));
  for (const [path, wanted] of Object.entries(changes)) {
    if (wanted === null) continue;
    const [mode, content] =
      typeof wanted === "string"
        ? ["100644", Buffer.from(wanted)]
        : wanted instanceof Uint8Array
          ? ["100644", Buffer.from(wanted)]
          : [wanted.mode, wanted.content];
    // The listing quotes nothing, since it is separated by NUL.
    const item = found.get(path);
    assert.equal(item?.mode, mode, path);
    assert.deepEqual(await rig.origin.readBlob(item?.sha ?? ""), Buffer.from(content), path);
  }
  assert.deepEqual(rig.violations(), []);
});

test("a plan that is not proven becomes a draft", async () => {
  const proposal = await rig.propose(CHANGE, { ...ownRun(), draft: true });
  assert.ok((await publishPullRequest(rig.request(proposal))).ok);
  assert.equal(rig.pulls(proposal)[0]?.pull?.draft, true);
});

test("where GitHub has no drafts, a plain pull request is opened, also when an answer is lost meanwhile", async () => {
  const body = {
    message: "Validation Failed",
    errors: [{ resource: "PullRequest", code: "custom", message: "Draft pull requests are not supported." }],
  };
  rig.hub.fault({ method: "POST", path: /\/pulls$/, times: 1, fault: { kind: "status", status: 422, body } });
  rig.hub.fault({ method: "POST", path: /\/pulls$/, times: 1, fault: { kind: "drop_before" } });
  const proposal = await rig.propose(CHANGE, { ...ownRun(), draft: true });
  assert.ok((await publishPullRequest(rig.request(proposal))).ok);
  assert.deepEqual(
    rig.pulls(proposal).map(({ pull }) => pull?.draft),
    [false],
  );
});

test("an approved draft is never opened as anything else because GitHub was out of order", async () => {
  rig.hub.fault({ method: "POST", path: /\/pulls$/, times: 3, fault: { kind: "status", status: 502 } });
  const proposal = await rig.propose(CHANGE, { ...ownRun(), draft: true });
  assert.ok((await publishPullRequest(rig.request(proposal))).ok);
  assert.deepEqual(
    rig.pulls(proposal).map(({ pull }) => pull?.draft),
    [true],
  );
});

for (const draft of [false, true])
  test(`E07, E08: a branch of that name with other content is refused and never touched (draft: ${draft})`, async () => {
    const proposal = await rig.propose(CHANGE, { ...ownRun(), draft });
    const branch = branchName(proposal.issue, proposal.runId);
    const foreign = await rig.hub.pushCommit(REPO, { by: "eve", branch, files: { foreign: "x" } });
    for (const journal of [memoryJournal(), await intendedJournal()]) {
      const failure = await refused(rig, proposal, { journal });
      assert.equal(failure.code, "publish_refused");
      assert.match(failure.message, /exists with other content/);
      assert.equal(await rig.head(proposal), foreign);
      assert.deepEqual(rig.pulls(proposal), []);
    }
  });

async function intendedJournal() {
  const journal = memoryJournal();
  await journal.intend("branch");
  return journal;
}

test("E08: a branch with the approved tree on another base, or with one commit more, counts as foreign", async () => {
  const proposal = await rig.propose(CHANGE, ownRun());
  const branch = branchName(proposal.issue, proposal.runId);
  const first = await rig.hub.pushCommit(REPO, { by: "eve", branch, files: { extra: "x" } });
  const second = await rig.hub.pushCommit(REPO, { by: "eve", branch, files: { extra: null, ...CHANGE } });
  assert.equal((await rig.origin.readCommit(second))?.tree, proposal.treeId);
  const failure = await refused(rig, proposal, { journal: await intendedJournal() });
  assert.equal(failure.code, "publish_refused");
  assert.equal(await rig.head(proposal), second);
  assert.notEqual(first, second);
});

test("F10: what the base already holds is no change to propose, and no branch stays", async () => {
  const proposal = await rig.propose(CHANGE, { ...ownRun(), targetBranch: "release" });
  // The same commit has landed on the target branch meanwhile.
  const landed = await publishPullRequest(rig.request({ ...proposal, ...ownRun(), targetBranch: "main" }));
  assert.ok(landed.ok);
  await rig.origin.updateRef("refs/heads/release", landed.value.commitSha, null);
  const failure = await refused(rig, proposal);
  assert.equal(failure.code, "no_changes");
  assert.equal(await rig.head(proposal), null);
  assert.deepEqual(rig.pulls(proposal), []);
});

test("F12: a workflow file without its permission is refused with what to grant, and no branch stays", async () => {
  const proposal = await rig.propose({ ".github/workflows/ci.yml": "on: push\n" }, ownRun());
  const failure = await refused(rig, proposal);
  assert.equal(failure.code, "permission");
  assert.match(failure.message, /Grant the app workflows, contents and pull requests write access.*\/retry/);
  assert.equal(await rig.head(proposal), null);
});

for (const [missing, permissions] of [
  ["contents", { metadata: "read", issues: "write", contents: "read", pull_requests: "write" }],
  ["pull_requests", { metadata: "read", issues: "write", contents: "write", pull_requests: "read" }],
] as const)
  test(`F19: without ${missing}: write the refusal says what to grant, once, and nothing is left`, async () => {
    await using rig = await publishRig({ permissions });
    const proposal = await rig.propose(CHANGE);
    const failure = await refused(rig, proposal);
    assert.equal(failure.code, "permission");
    assert.match(failure.message, /Grant the app/);
    assert.equal(await rig.head(proposal), null);
    assert.deepEqual(rig.pulls(proposal), []);
    assert.ok(rig.hub.calls().filter((call) => call.status === 422 || call.status === 403).length <= 2);
  });

test("a tree that GitHub builds differently from the approved one is never published", async () => {
  const proposal = await rig.propose(CHANGE, ownRun());
  const tampered = { content: async () => Buffer.from("something else\n") };
  const failure = await refused(rig, proposal, tampered);
  assert.equal(failure.code, "publish_refused");
  assert.match(failure.message, /not the approved/);
  const gone = await refused(rig, proposal, { content: async () => null });
  assert.match(gone.message, /src\/add\.js is gone/);
  assert.equal(await rig.head(proposal), null);
});

test("a base commit that is gone, and a target branch that is gone, are refused without leftovers", async () => {
  const proposal = await rig.propose(CHANGE, ownRun());
  const noBase = { ...proposal, baseSha: "9".repeat(40) };
  assert.equal((await refused(rig, noBase)).code, "publish_refused");
  const noTarget = { ...proposal, targetBranch: "gone" };
  assert.equal((await refused(rig, noTarget)).code, "publish_refused");
  assert.equal(await rig.head(proposal), null);
});

for (const [path, message] of [
  [/git\/refs$/, "Object does not exist"],
  [/git\/trees$/, "tree.sha 1234 is not a valid blob"],
  [/pulls$/, "Validation Failed (Head sha can't be blank; No commits between main and x)"],
] as const)
  test(`what GitHub does not know yet of a moment ago is asked for again: ${message}`, async () => {
    const proposal = await rig.propose(CHANGE, ownRun());
    const fault = { kind: "status", status: 422, body: { message, documentation_url: "x" } } as const;
    rig.hub.fault({ method: "POST", path, times: 2, fault });
    const published = await publishPullRequest(rig.request(proposal));
    assert.ok(published.ok, JSON.stringify(published));
    assert.equal(rig.pulls(proposal).length, 1);
  });

test("a base that moved on does not move the parent: the approved base stays the base", async () => {
  const proposal = await rig.propose(CHANGE, ownRun());
  await rig.hub.pushCommit(REPO, { by: "maya", files: { "other.txt": "x" } });
  const result = await publishPullRequest(rig.request(proposal));
  assert.ok(result.ok);
  const commit = await rig.origin.readCommit(result.value.commitSha);
  assert.deepEqual([commit?.parents, commit?.tree], [[rig.headSha], proposal.treeId]);
});

test("labels of the proposal are set on the pull request", async () => {
  const proposal = await rig.propose(CHANGE, { ...ownRun(), labels: ["automated"] });
  assert.ok((await publishPullRequest(rig.request(proposal))).ok);
  assert.deepEqual(rig.pulls(proposal)[0]?.labels, ["automated"]);
});
