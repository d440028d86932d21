/** Every call of the GitHub port, on a real socket against the embedded GitHub, with GitHub's published contracts as a second judge. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { APP_ID, githubRig, value } from "#test/support/github.ts";

test("an issue is read with its state, labels, author and time", async () => {
  await using rig = await githubRig();
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Sum is wrong 🐛", body: "1+1=0" });
  rig.hub.label("acme/widget", number, "acme", "bug");
  rig.hub.lock("acme/widget", number, "acme");
  assert.deepEqual(await value(rig.github().issue(number)), {
    open: true,
    locked: true,
    labels: ["bug"],
    title: "Sum is wrong 🐛",
    body: "1+1=0",
    createdAt: rig.clock.now(),
    updatedAt: rig.clock.now(),
    author: "maria",
  });
  const missing = await rig.github().issue(99);
  assert.equal(missing.ok ? "" : missing.error.code, "not_found");
  assert.deepEqual(rig.violations(), []);
});

test("an issue without a body reads as an empty one, and a deleted issue is not found", async () => {
  await using rig = await githubRig();
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "No words" });
  assert.equal((await value(rig.github().issue(number))).body, "");
  rig.hub.deleteIssue("acme/widget", number, "acme");
  const gone = await rig.github().issue(number);
  assert.deepEqual(gone.ok || [gone.error.code, gone.error.status], ["not_found", 410]);
  assert.deepEqual(rig.violations(), []);
});

test("120 comments are read over several pages, oldest first, and only the app's own count as ours", async () => {
  await using rig = await githubRig();
  const { hub } = rig;
  const number = hub.openIssue("acme/widget", "maria", { title: "Talk" });
  for (let index = 0; index < 119; index++) hub.comment("acme/widget", number, "maria", `comment ${index}`);
  const own = await value(rig.github("read").createComment(number, "<!-- agent-fix --> héllo 👩‍👩‍👧‍👦"));
  const comments = await value(rig.github("read").comments(number));
  assert.equal(comments.length, 120);
  assert.equal(comments[0]?.body, "comment 0");
  assert.deepEqual(
    comments.filter((comment) => comment.ours),
    [own],
  );
  assert.equal(own.body, "<!-- agent-fix --> héllo 👩‍👩‍👧‍👦");
  assert.equal(own.login, "agent-fix-test[bot]");
  assert.match(own.url, /\/acme\/widget\/issues\/1#issuecomment-\d+$/);
  const pages = hub.calls().filter((call) => call.method === "GET" && call.path.endsWith("/comments"));
  assert.deepEqual(
    pages.map((call) => call.query.page),
    ["1", "2"],
  );
  assert.deepEqual(rig.violations(), []);
});

test("a person whose name looks like the app's is not the app", async () => {
  await using rig = await githubRig();
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Talk" });
  rig.hub.comment("acme/widget", number, "agent-fix-test", "<!-- agent-fix run=x kind=plan -->");
  const comments = await value(rig.github("read").comments(number));
  assert.deepEqual(
    comments.map((comment) => comment.ours),
    [false],
  );
});

test("comments are edited, reactions counted once, labels added", async () => {
  await using rig = await githubRig();
  const { hub } = rig;
  const number = hub.openIssue("acme/widget", "maria", { title: "Work" });
  const github = rig.github("read");
  const comment = await value(github.createComment(number, "first"));
  await value(github.editComment(comment.id, "second"));
  await value(github.reactToIssue(number, "eyes"));
  await value(github.reactToIssue(number, "eyes"));
  await value(github.reactToComment(comment.id, "+1"));
  await value(github.addLabels(number, ["in work", "bug/🐛"]));
  assert.deepEqual(hub.issue("acme/widget", number).reactions, ["eyes"]);
  assert.deepEqual(hub.issue("acme/widget", number).labels, ["in work", "bug/🐛"]);
  assert.deepEqual(hub.comments("acme/widget", number), [
    { id: comment.id, login: "agent-fix-test[bot]", body: "second", reactions: ["+1"] },
  ]);
  assert.deepEqual(rig.violations(), []);
});

test("a person's permission is the exact role; a custom role counts as its base; strangers have none", async () => {
  await using rig = await githubRig();
  const { hub } = rig;
  for (const role of ["admin", "maintain", "write", "triage", "read", "none"] as const)
    hub.setPermission("acme/widget", `with-${role}`, role);
  hub.setPermission("acme/widget", "security-team", "write", "Security engineer");
  hub.setPermission("acme/widget", "helpers", "triage", "admin-ish helper");
  hub.setPermission("acme/widget", "upkeep", "maintain", "Upkeep");
  const github = rig.github("read");
  for (const role of ["admin", "maintain", "write", "triage", "read", "none"] as const)
    assert.equal(await value(github.permission(`with-${role}`)), role);
  assert.equal(await value(github.permission("security-team")), "write");
  assert.equal(await value(github.permission("helpers")), "triage");
  assert.equal(await value(github.permission("upkeep")), "maintain");
  assert.equal(await value(github.permission("acme")), "admin");
  assert.equal(await value(github.permission("nobody-at-all")), "none");
  assert.equal(await value(github.permission("agent-fix-test[bot]")), "none");
  assert.deepEqual(rig.violations(), []);
});

test("blob, tree, commit and branch make one verified commit with exactly the tree that was meant", async () => {
  await using rig = await githubRig();
  const { hub, headSha } = rig;
  const github = rig.github();
  const base = await value(github.commitTree(headSha));
  const text = await value(github.createBlob(Buffer.from("export const add = (a, b) => a + b;\n")));
  const binary = await value(github.createBlob(Uint8Array.from([0, 255, 10, 13, 0])));
  const tree = await value(
    github.createTree(base.treeSha, [
      { path: "src/add.js", mode: "100644", sha: text },
      { path: 'src/ünï "côde" 🧪.bin', mode: "100755", sha: binary },
      { path: "README.md", mode: "100644", sha: null },
    ]),
  );
  const commit = await value(github.createCommit("Fix add\n\nIt subtracted. ✅", tree, headSha));
  await value(github.createBranch("agent-fix/issue-1-abc", commit));
  assert.equal(await value(github.branchSha("agent-fix/issue-1-abc")), commit);
  assert.deepEqual(await value(github.commitTree(commit)), { treeSha: tree, parents: [headSha] });

  const git = hub.git("acme/widget");
  const items = await git.readTree(commit, true);
  assert.deepEqual(
    items?.map((item) => [item.mode, item.path]),
    [
      ["040000", "src"],
      ["100644", "src/add.js"],
      ["100755", 'src/ünï "côde" 🧪.bin'],
    ],
  );
  assert.deepEqual(await git.readBlob(binary), Buffer.from([0, 255, 10, 13, 0]));
  const stored = await git.readCommit(commit);
  assert.equal(stored?.author.name, "agent-fix-test[bot]");
  assert.equal(stored?.message, "Fix add\n\nIt subtracted. ✅");
  const posted = hub.calls().find((call) => call.path.endsWith("/git/commits") && call.method === "POST");
  const answer = posted?.responseBody as { verification: { verified: boolean } };
  assert.equal(answer.verification.verified, true);
  assert.deepEqual(rig.violations(), []);
});

test("a branch that is absent, empty or gone is null, not a failure; deleting it twice is fine", async () => {
  await using rig = await githubRig();
  const github = rig.github();
  assert.equal(await value(github.branchSha("no/such/branch")), null);
  // A name that another one begins with.
  assert.equal(await value(github.branchSha("mai")), null);
  await value(github.createBranch("tmp/ü#%41&", rig.headSha));
  assert.equal(await value(github.branchSha("tmp/ü#%41&")), rig.headSha);
  await value(github.deleteBranch("tmp/ü#%41&"));
  await value(github.deleteBranch("tmp/ü#%41&"));
  assert.equal(await value(github.branchSha("tmp/ü#%41&")), null);
  assert.deepEqual(rig.violations(), []);
});

test("E13: in a repository without commits the branch is null and git writes are a conflict", async () => {
  await using rig = await githubRig({ repository: { files: {}, defaultBranch: "trunk" } });
  const github = rig.github();
  assert.equal(await value(github.defaultBranch()), "trunk");
  assert.equal(await value(github.branchSha("trunk")), null);
  const blob = await github.createBlob(Buffer.from("x"));
  assert.deepEqual(blob.ok || [blob.error.code, blob.error.status], ["conflict", 409]);
  assert.match(blob.ok ? "" : blob.error.message, /Git Repository is empty/);
  assert.deepEqual(rig.violations(), []);
});

test("a pull request is opened once and found by its branch, open ones before closed ones", async () => {
  await using rig = await githubRig();
  const { hub } = rig;
  const github = rig.github();
  await hub.pushCommit("acme/widget", { by: "maria", branch: "fix", files: { "a.txt": "1" } });
  assert.equal(await value(github.pullRequestOf("fix")), null);
  const request = { title: "Fix it", body: "Fixes #1 🎉", head: "fix", base: "main", draft: true };
  const opened = await value(github.createPullRequest(request));
  assert.equal(opened.state, "open");
  assert.equal(opened.headSha, await value(github.branchSha("fix")));
  assert.deepEqual(await value(github.pullRequestOf("fix")), opened);
  const again = await github.createPullRequest(request);
  assert.equal(again.ok ? "" : again.error.code, "conflict");
  hub.closeIssue("acme/widget", opened.number, "maria");
  assert.equal((await value(github.pullRequestOf("fix")))?.state, "closed");
  const second = await value(github.createPullRequest({ ...request, draft: false }));
  assert.equal((await value(github.pullRequestOf("fix")))?.number, second.number);
  assert.equal(hub.pullRequests("acme/widget").length, 2);
  await value(github.addLabels(second.number, ["agent-fix"]));
  await value(github.createComment(second.number, "on the pull request"));
  assert.deepEqual(rig.violations(), []);
});

test("the app knows its own name and owner, and asks for them once", async () => {
  await using rig = await githubRig();
  const expected = { appId: APP_ID, slug: "agent-fix-test", botLogin: "agent-fix-test[bot]", owner: "acme" };
  assert.deepEqual(await value(rig.app.identity()), expected);
  assert.deepEqual(await value(rig.app.identity()), expected);
  assert.equal(rig.hub.calls().length, 1);
  assert.deepEqual(rig.violations(), []);
});

test("an installation's permissions are looked up without making a token", async () => {
  await using rig = await githubRig();
  const { app, installation } = rig;
  assert.deepEqual(await value(app.permissions(installation)), {
    metadata: "read",
    contents: "write",
    issues: "write",
    pull_requests: "write",
    checks: "read",
    statuses: "read",
  });
  assert.deepEqual(rig.hub.tokens(), []);
});
