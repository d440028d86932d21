/** What stands around an issue and a commit, over a real socket: who else fixes it, teams, failing checks, comments folded away. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { claimsToClose } from "#src/github/related-calls.ts";
import { failure, githubRig, value } from "#test/support/github.ts";

const REPO = "acme/widget";

test("only the words that GitHub acts on claim to close an issue, and only that one", () => {
  const issue = { repository: "acme/widget", number: 12 };
  const address = "https://github.example/Acme/widget/issues/12";
  for (const text of [
    "Fixes #12",
    "closes: #12",
    "x\nresolved acme/Widget#12.",
    "FIX #12",
    `Fixes ${address}`,
  ])
    assert.equal(claimsToClose(text, issue), true, text);
  const others = [
    "fixes other/widget#12",
    "closes https://github.example/acme/lib/issues/12",
    `see ${address}`,
  ];
  for (const text of [
    "see #12",
    "fixes #123",
    "prefixes #12x",
    "fixes 12",
    "unfixed #12",
    "fixes\u200b #12",
    ...others,
  ])
    assert.equal(claimsToClose(text, issue), false, text);
});

test("open and merged pull requests and commits of others that say so are claims; closed ones, our own and mere mentions are not", async () => {
  await using rig = await githubRig();
  const { hub, clock } = rig;
  const issue = hub.openIssue(REPO, "ravi", { title: "Cents are wrong" });
  const createdAt = clock.now();
  const claims = () => value(rig.github("look").fixClaims({ number: issue, createdAt }, "main"));
  assert.deepEqual(await claims(), []);
  const pull = async (branch: string, body: string) => {
    await hub.pushCommit(REPO, { by: "tom", branch, files: { [branch]: "x" } });
    return hub.openPullRequest(REPO, "tom", { title: branch, body, branch });
  };
  await pull("mention", `About #${issue}`);
  const open = await pull("open", `Fixes #${issue}`);
  const shut = await pull("shut", `Closes #${issue}`);
  hub.closeIssue(REPO, shut, "tom");
  await hub.pushCommit(REPO, { by: "us", branch: "ours", files: { ours: "x" } });
  const ends = { head: "ours", base: "main", draft: false };
  await value(rig.github("write").createPullRequest({ title: "x", body: `Fixes #${issue}`, ...ends }));
  await hub.pushCommit(REPO, { by: "tom", files: { c: "c" }, message: `Pad\n\nfixes #${issue}` });
  const [first, commit, ...more] = await claims();
  assert.ok(first?.kind === "pull_request" && first.number === open && first.state === "open");
  assert.equal(first.by, "tom");
  assert.equal(first.accepted, false);
  assert.equal(commit?.kind, "commit");
  assert.deepEqual(more, []);
  await hub.mergePullRequest(REPO, open, "maya");
  const merged = (await claims())[0];
  assert.ok(merged?.kind === "pull_request" && merged.state === "merged" && merged.accepted);
  await clock.advance(5_000);
  hub.reopenIssue(REPO, issue, "ravi");
  assert.deepEqual(await claims(), [], "what was tried before it was opened again did not fix it");
  assert.deepEqual(rig.violations(), []);
});

test("a member of a team is one by GitHub's word at that moment; without the permission there is no answer", async () => {
  const permissions = { metadata: "read", contents: "write", issues: "write", pull_requests: "write" };
  await using rig = await githubRig({ organization: true, permissions: { ...permissions, members: "read" } });
  rig.hub.setTeam("big-org/core", ["Maya"]);
  const member = (team: string, login: string) => rig.github("team").isTeamMember(team, login);
  assert.equal(await value(member("core", "maya")), true);
  assert.equal(await value(member("core", "eve")), false);
  assert.equal(await value(member("gone", "maya")), false);
  rig.hub.setTeam("big-org/core", []);
  assert.equal(await value(member("core", "maya")), false);
  assert.deepEqual(rig.violations(), []);
  await using poor = await githubRig({ organization: true, permissions });
  const refused = await failure(poor.github("team").isTeamMember("core", "maya"));
  assert.match(refused.message, /members: read/);
});

test("of a commit's check runs those that did not pass are told, with their annotations, to a token that reads checks alone", async () => {
  await using rig = await githubRig({ permissions: { metadata: "read", contents: "read", checks: "read" } });
  const { hub, headSha } = rig;
  await hub.checkRan(REPO, headSha, { name: "lint", conclusion: "success" });
  await hub.checkRan(REPO, headSha, {
    ...{ name: "test", conclusion: "failure", title: "1 failed", summary: "expected 2.05" },
    annotations: [{ path: "src/add.js", line: 1, message: "wrong" }],
  });
  await hub.checkRan(REPO, headSha, { name: "slow", conclusion: "timed_out" });
  assert.deepEqual(await value(rig.github("checks").failedChecks(headSha)), [
    {
      ...{ name: "test", conclusion: "failure", title: "1 failed", summary: "expected 2.05" },
      annotations: [{ path: "src/add.js", line: 1, message: "wrong" }],
    },
    { name: "slow", conclusion: "timed_out", title: "", summary: "", annotations: [] },
  ]);
  const scopes = hub.tokens().map(({ permissions }) => permissions);
  assert.deepEqual(scopes, [{ metadata: "read", checks: "read" }]);
  assert.deepEqual(rig.violations(), []);
});

test("of a commit's statuses the newest of each context counts, and those that did not pass are told; without the permission that is named", async () => {
  await using rig = await githubRig({
    permissions: { metadata: "read", contents: "read", statuses: "read" },
  });
  const { hub, headSha } = rig;
  const failed = () => value(rig.github("statuses").failedStatuses(headSha));
  assert.deepEqual(await failed(), []);
  const set = (context: string, state: "pending" | "success" | "failure" | "error", description?: string) =>
    hub.setStatus(REPO, headSha, { context, state, ...(description === undefined ? {} : { description }) });
  await set("ci/old", "pending");
  await set("ci/old", "failure", "2 of 9 failed");
  await set("ci/mended", "error");
  await set("ci/mended", "success");
  await set("ci/broken", "error");
  await set("ci/slow", "pending");
  assert.deepEqual(await failed(), [
    { name: "ci/old", conclusion: "failure", title: "", summary: "2 of 9 failed", annotations: [] },
    { name: "ci/broken", conclusion: "error", title: "", summary: "", annotations: [] },
  ]);
  const scopes = hub.tokens().map(({ permissions }) => permissions);
  assert.deepEqual(scopes, [{ metadata: "read", statuses: "read" }]);
  assert.deepEqual(rig.violations(), []);
  await using poor = await githubRig({ permissions: { metadata: "read", checks: "read" } });
  const refused = await failure(poor.github("statuses").failedStatuses(poor.headSha));
  assert.equal(refused.code, "permission_missing");
  assert.match(refused.message, /statuses: read/);
});

test("a comment is folded away as outdated; one that is gone, or a token that may not, is a failure and not an exception", async () => {
  await using rig = await githubRig();
  const issue = rig.hub.openIssue(REPO, "ravi", { title: "x" });
  const github = rig.github("read");
  const { id } = await value(github.createComment(issue, "old"));
  const { nodeId } = await value(github.editComment(id, "older"));
  await value(github.minimize(nodeId));
  await value(github.minimize(nodeId));
  assert.equal(rig.hub.comments(REPO, issue)[0]?.minimized, true);
  assert.equal((await failure(github.minimize("nobody"))).status, 404);
  await failure(rig.github("look").minimize(nodeId));
});
