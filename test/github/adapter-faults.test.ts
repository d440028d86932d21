/** What the adapter does when tokens end, limits bite, permissions lack, and connections break. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { TIME_LIMIT_MS } from "#src/github/requests.ts";
import { failure, type GitHubRig, githubRig, value } from "#test/support/github.ts";

function mints(rig: GitHubRig) {
  return rig.hub.calls().filter((call) => call.path.endsWith("/access_tokens"));
}

function posts(rig: GitHubRig, end: string) {
  return rig.hub.calls().filter((call) => call.method === "POST" && call.path.endsWith(end));
}

const SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";

test("H15: every token is made for one repository and one phase, and no call uses a wider one", async () => {
  await using rig = await githubRig();
  const { hub, app, installation, repo, headSha } = rig;
  const other = await hub.createRepository({
    owner: "acme",
    name: "secret",
    private: true,
    files: { a: "b" },
  });
  const number = hub.openIssue("acme/widget", "maria", { title: "Read acme/secret for me" });
  await value(rig.github("read").comments(number));
  await value(rig.github("write").createBranch("x", headSha));
  await value(app.gitToken(installation, repo, false));
  assert.deepEqual(
    mints(rig).map((call) => call.requestBody),
    [
      {
        repository_ids: [repo.id],
        permissions: { metadata: "read", contents: "read", issues: "write" },
      },
      {
        repository_ids: [repo.id],
        permissions: { metadata: "read", contents: "write", issues: "write", pull_requests: "write" },
      },
      { repository_ids: [repo.id], permissions: { metadata: "read", contents: "read" } },
    ],
  );
  for (const call of hub.calls())
    if (call.caller.kind === "installation") assert.deepEqual(call.caller.repositoryIds, [repo.id]);
  const stray = app.repository(installation, { owner: "acme", name: "secret", id: repo.id }, "read");
  assert.equal((await failure(stray.defaultBranch())).code, "not_found");
  const outside = app.repository(installation, { owner: "acme", name: "secret", id: other.id }, "read");
  assert.equal((await failure(outside.defaultBranch())).code, "not_found");
  assert.deepEqual(rig.violations(), []);
});

test("a token is kept for ten minutes per repository and phase, then made anew", async () => {
  await using rig = await githubRig();
  const github = rig.github("read");
  await value(github.defaultBranch());
  await rig.clock.advance(9 * 60_000);
  await value(github.defaultBranch());
  assert.equal(mints(rig).length, 1);
  await rig.clock.advance(61_000);
  await value(github.defaultBranch());
  assert.equal(mints(rig).length, 2);
});

test("many calls at the same time share one token", async () => {
  await using rig = await githubRig();
  const github = rig.github("read");
  const branches = await Promise.all(Array.from({ length: 8 }, () => value(github.defaultBranch())));
  assert.deepEqual(new Set(branches), new Set(["main"]));
  assert.equal(mints(rig).length, 1);
});

test("F09: a token that ends within a minute is never kept beyond its end", async () => {
  await using rig = await githubRig({ tokenLifetimeMs: 30_000 });
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Long run" });
  for (let round = 0; round < 3; round++) {
    await value(rig.github("read").createComment(number, `after ${round} minutes`));
    await rig.clock.advance(60_000);
  }
  assert.equal(rig.hub.comments("acme/widget", number).length, 3);
  assert.ok(rig.hub.calls().every((call) => call.status !== 401));
});

test("F09: a token refused before its end is replaced once, and the write happens once", async () => {
  await using rig = await githubRig();
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Long run" });
  await value(rig.github("read").issue(number));
  rig.hub.revokeTokens();
  await value(rig.github("read").createComment(number, "still here"));
  assert.equal(rig.hub.comments("acme/widget", number).length, 1);
  assert.deepEqual(
    posts(rig, "/comments").map((call) => call.status),
    [401, 201],
  );
  assert.equal(mints(rig).length, 2);
});

test("F09: a credential refused again after one renewal is reported, not tried for ever", async () => {
  await using rig = await githubRig();
  const body = { message: "Bad credentials" };
  rig.hub.fault({
    method: "GET",
    path: /widget$/,
    times: Infinity,
    fault: { kind: "status", status: 401, body },
  });
  const refused = await failure(rig.github("read").defaultBranch());
  assert.deepEqual([refused.code, refused.status], ["unauthorized", 401]);
  assert.equal(mints(rig).length, 2);
});

test("E14: git gets a fresh token when it asks to renew, and the kept one otherwise", async () => {
  await using rig = await githubRig();
  const { app, installation, repo } = rig;
  const first = await value(app.gitToken(installation, repo, false));
  assert.equal(await value(app.gitToken(installation, repo, false)), first);
  const renewed = await value(app.gitToken(installation, repo, true));
  assert.notEqual(renewed, first);
  assert.equal(await value(app.gitToken(installation, repo, false)), renewed);
});

test("F13: a secondary limit with Retry-After is waited out and the comment is posted once", async () => {
  await using rig = await githubRig({ impatient: true });
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Busy" });
  rig.hub.fault({
    method: "POST",
    path: /comments$/,
    times: 2,
    fault: { kind: "status", status: 403, body: { message: SECONDARY }, headers: { "retry-after": "2" } },
  });
  await value(rig.github("read").createComment(number, "the plan"));
  assert.deepEqual(rig.slept, [2000, 2000]);
  assert.equal(rig.hub.comments("acme/widget", number).length, 1);
});

test("F13: without the header the waits grow and stay below two minutes", async () => {
  await using rig = await githubRig({ impatient: true });
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Busy" });
  const fault = { kind: "status", status: 429, body: { message: SECONDARY } } as const;
  rig.hub.fault({ method: "POST", path: /comments$/, times: Infinity, fault });
  const limited = await failure(rig.github("read").createComment(number, "the plan"));
  assert.equal(limited.code, "rate_limited");
  assert.deepEqual(rig.slept, [15_000, 30_000, 60_000]);
  assert.equal(rig.hub.comments("acme/widget", number).length, 0);
});

test("F13: a wait longer than the bound is reported at once with the time GitHub named", async () => {
  await using rig = await githubRig({ impatient: true });
  const reset = Math.floor(rig.clock.now() / 1000) + 1800;
  rig.hub.fault({
    method: "GET",
    path: /widget$/,
    times: 1,
    fault: {
      kind: "status",
      status: 403,
      body: { message: "API rate limit exceeded for installation ID 1." },
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(reset) },
    },
  });
  const limited = await failure(rig.github("read").defaultBranch());
  assert.deepEqual([limited.code, limited.retryAfterMs], ["rate_limited", 1_800_000]);
  assert.deepEqual(rig.slept, []);
});

test("F13: a cancel ends the wait", async () => {
  await using rig = await githubRig();
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Busy" });
  const fault = { kind: "status", status: 429, body: { message: SECONDARY } } as const;
  rig.hub.fault({ method: "POST", path: /comments$/, times: 1, fault });
  const controller = new AbortController();
  const pending = rig.github("read", controller.signal).createComment(number, "the plan");
  for (let call = await rig.nextExchange(); !call.path.endsWith("/comments"); )
    call = await rig.nextExchange();
  controller.abort();
  assert.equal((await failure(pending)).code, "cancelled");
  assert.equal(rig.hub.comments("acme/widget", number).length, 0);
});

for (const [name, body, code] of [
  ["70,000 characters", "x".repeat(70_000), "too_long"],
  ["70,000 emoji", "🐛".repeat(70_000), "too_long"],
  ["65,536 emoji, which are 262,144 bytes", "🐛".repeat(65_536), null],
  ["nothing but blanks", " \n", "invalid"],
] as const)
  test(`F07: a comment of ${name} ${code === null ? "is taken" : `is refused as ${code}`}`, async () => {
    await using rig = await githubRig();
    const number = rig.hub.openIssue("acme/widget", "maria", { title: "Long" });
    const result = await rig.github("read").createComment(number, body);
    assert.equal(result.ok ? null : result.error.code, code);
    assert.equal(posts(rig, "/comments").length, 1);
    if (code !== null) assert.deepEqual(rig.violations(), []);
  });

test("F07: a pull request's body that is too long is refused as too_long", async () => {
  await using rig = await githubRig();
  await rig.hub.pushCommit("acme/widget", { by: "maria", branch: "fix", files: { a: "1" } });
  const request = { title: "t", body: "x".repeat(65_537), head: "fix", base: "main", draft: false };
  assert.equal((await failure(rig.github().createPullRequest(request))).code, "too_long");
});

test("F10: a pull request without commits is invalid, in GitHub's words", async () => {
  await using rig = await githubRig();
  const github = rig.github();
  await value(github.createBranch("same", rig.headSha));
  const request = { title: "t", body: "b", head: "same", base: "main", draft: false };
  const refused = await failure(github.createPullRequest(request));
  assert.equal(refused.code, "invalid");
  assert.match(refused.message, /No commits between acme:main and acme:same/);
  assert.deepEqual(rig.violations(), []);
});

test("F19: an installation without pull_requests and contents is named before any work", async () => {
  const granted = { issues: "write", contents: "read" };
  await using rig = await githubRig({ permissions: granted });
  assert.deepEqual(await rig.app.permissions(rig.installation), { ok: true, value: granted });
  const missing = await failure(rig.github("write").branchSha("main"));
  assert.equal(missing.code, "permission_missing");
  assert.match(missing.message, /contents: write, pull_requests: write/);
  assert.ok((await rig.github("read").branchSha("main")).ok);
  assert.deepEqual(rig.violations(), []);
});

test("F19: a 403 names what GitHub says would be accepted, and is not tried again", async () => {
  await using rig = await githubRig();
  await rig.hub.pushCommit("acme/widget", { by: "maria", branch: "fix", files: { a: "1" } });
  const pull = await value(
    rig.github().createPullRequest({ title: "t", body: "b", head: "fix", base: "main", draft: false }),
  );
  // The read phase may comment on issues, but a pull request wants another permission.
  const refused = await failure(rig.github("read").createComment(pull.number, "hello"));
  assert.equal(refused.code, "permission_missing");
  assert.match(refused.message, /pull_requests=write/);
  assert.equal(posts(rig, "/comments").length, 1);
  assert.deepEqual(rig.violations(), []);
});

test("F12: a workflow file without the workflows permission is refused as a missing permission", async () => {
  await using rig = await githubRig();
  const github = rig.github();
  const blob = await value(github.createBlob(Buffer.from("on: push\n")));
  const entries = [{ path: ".github/workflows/ci.yml", mode: "100644", sha: blob }] as const;
  const refused = await failure(github.createTree(rig.headSha, entries));
  assert.equal(refused.code, "permission_missing");
  assert.match(refused.message, /workflows=write/);
});

test("E07: a branch that exists is a conflict and stays what it was", async () => {
  await using rig = await githubRig();
  const theirs = await rig.hub.pushCommit("acme/widget", {
    by: "maria",
    branch: "agent/issue-1",
    files: { a: "1" },
  });
  const github = rig.github();
  assert.equal((await failure(github.createBranch("agent/issue-1", rig.headSha))).code, "conflict");
  assert.equal(await value(github.branchSha("agent/issue-1")), theirs);
  assert.deepEqual(rig.violations(), []);
});

test("a locked issue, a suspended and a removed installation each have their own code", async () => {
  await using rig = await githubRig();
  const { hub, installation } = rig;
  const number = hub.openIssue("acme/widget", "maria", { title: "Heated" });
  hub.lock("acme/widget", number, "acme");
  const github = rig.github("read");
  assert.equal((await failure(github.createComment(number, "hello"))).code, "locked");
  hub.setSuspended(installation, true);
  assert.equal((await failure(github.issue(number))).code, "suspended");
  hub.setSuspended(installation, false);
  hub.uninstall(installation);
  const gone = await failure(rig.github("write").issue(number));
  assert.deepEqual([gone.code, gone.status], ["not_found", 404]);
});

test("a write whose answer is lost is reported as unreachable and exists exactly once", async () => {
  await using rig = await githubRig({ impatient: true });
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Cut" });
  rig.hub.fault({ method: "POST", path: /comments$/, times: 1, fault: { kind: "drop_after" } });
  const lost = await failure(rig.github("read").createComment(number, "once"));
  assert.deepEqual([lost.code, lost.status], ["unreachable", null]);
  assert.equal(rig.hub.comments("acme/widget", number).length, 1);
  assert.equal(posts(rig, "/comments").length, 1);
});

for (const [name, fault, code] of [
  ["500", { kind: "status", status: 500 }, "server_error"],
  ["502 with a page", { kind: "status", status: 502, body: "<html>bad gateway</html>" }, "server_error"],
  ["a cut connection", { kind: "drop_before" }, "unreachable"],
] as const) {
  test(`a write that meets ${name} is sent once`, async () => {
    await using rig = await githubRig({ impatient: true });
    const number = rig.hub.openIssue("acme/widget", "maria", { title: "Cut" });
    rig.hub.fault({ method: "POST", path: /comments$/, times: 1, fault });
    assert.equal((await failure(rig.github("read").createComment(number, "x"))).code, code);
    assert.equal(rig.hub.comments("acme/widget", number).length, 0);
    assert.deepEqual(rig.slept, []);
  });

  test(`a read that meets ${name} twice succeeds at the third try`, async () => {
    await using rig = await githubRig({ impatient: true });
    rig.hub.fault({ method: "GET", path: /widget$/, times: 2, fault });
    assert.equal(await value(rig.github("read").defaultBranch()), "main");
    assert.deepEqual(rig.slept, [1000, 3000]);
  });

  test(`a read that meets ${name} three times is given up as ${code}`, async () => {
    await using rig = await githubRig({ impatient: true });
    rig.hub.fault({ method: "GET", path: /widget$/, times: Infinity, fault });
    assert.equal((await failure(rig.github("read").defaultBranch())).code, code);
    assert.equal(rig.hub.calls().filter((call) => call.path.endsWith("/widget")).length, 3);
  });
}

test("a request without an answer ends after its time limit", async () => {
  await using rig = await githubRig();
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Silence" });
  rig.hub.fault({ method: "POST", path: /comments$/, times: 1, fault: { kind: "hang" } });
  const pending = rig.github("read").createComment(number, "x");
  for (let call = await rig.nextExchange(); !call.path.endsWith("/comments"); )
    call = await rig.nextExchange();
  await rig.clock.advance(TIME_LIMIT_MS);
  const silent = await failure(pending);
  assert.equal(silent.code, "unreachable");
  assert.match(silent.message, /within 30 s/);
});

test("a cancelled call says so, before it is sent, while it runs and while its token is made", async () => {
  await using rig = await githubRig();
  const aborted = await failure(rig.github("read", AbortSignal.abort()).defaultBranch());
  assert.equal(aborted.code, "cancelled");
  assert.equal(rig.hub.calls().length, 0);
  for (const path of [/access_tokens$/, /widget$/]) {
    rig.hub.fault({
      method: path.source.startsWith("w") ? "GET" : "POST",
      path,
      times: 1,
      fault: { kind: "hang" },
    });
    const controller = new AbortController();
    const pending = rig
      .github(path.source.startsWith("w") ? "write" : "read", controller.signal)
      .defaultBranch();
    for (let call = await rig.nextExchange(); !path.test(call.path); ) call = await rig.nextExchange();
    controller.abort();
    assert.equal((await failure(pending)).code, "cancelled");
  }
});

test("a server that is not there is unreachable", async () => {
  const rig = await githubRig({ impatient: true });
  await rig[Symbol.asyncDispose]();
  const gone = await failure(rig.github("read").defaultBranch());
  assert.deepEqual([gone.code, gone.status], ["unreachable", null]);
});

test("a proxy's page in place of JSON is no success", async () => {
  await using rig = await githubRig({ impatient: true });
  const fault = { kind: "status", status: 200, body: "log in to the hotel network" } as const;
  rig.hub.fault({ method: "GET", path: /widget$/, times: Infinity, fault });
  assert.equal((await failure(rig.github("read").defaultBranch())).code, "unreachable");
});

test("an answer of another shape is a server_error, not an exception", async () => {
  await using rig = await githubRig({ impatient: true });
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Odd" });
  rig.hub.fault({
    method: "GET",
    path: /issues/,
    times: Infinity,
    fault: { kind: "status", status: 200, body: { id: 1 } },
  });
  const odd = await failure(rig.github("read").issue(number));
  assert.equal(odd.code, "server_error");
});
