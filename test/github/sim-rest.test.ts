/** The embedded GitHub's own rules: who may, what is refused, and that it keeps to GitHub's published contract. */

import assert from "node:assert/strict";
import { test } from "node:test";
import signAppJwt from "universal-github-app-jwt";
import type { Json } from "#src/base/canonical-json.ts";
import { contractViolations, webhookViolations } from "#test/support/contract.ts";
import { APP_ID, appKeys, type GitHubRig, githubRig } from "#test/support/github.ts";

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: never;
}

async function ask(
  rig: GitHubRig,
  method: string,
  path: string,
  options: { token?: string; body?: Json } = {},
) {
  const answer = await fetch(`${rig.hub.apiUrl}${path}`, {
    method,
    ...(options.token === undefined ? {} : { headers: { authorization: `Bearer ${options.token}` } }),
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await answer.text();
  const reply: Reply = {
    status: answer.status,
    headers: answer.headers,
    body: (text === "" ? null : JSON.parse(text)) as never,
  };
  return reply;
}

async function jwt(rig: GitHubRig, shiftMs = 0, privateKey = appKeys().privateKey): Promise<string> {
  const now = Math.floor((rig.clock.now() + shiftMs) / 1000);
  return (await signAppJwt({ id: APP_ID, privateKey, now })).token;
}

async function installationToken(rig: GitHubRig, body: Json = {}): Promise<string> {
  const path = `/app/installations/${rig.installation}/access_tokens`;
  const reply = await ask(rig, "POST", path, { token: await jwt(rig), body });
  assert.equal(reply.status, 201);
  return (reply.body as { token: string }).token;
}

test("the app's JWT must be ours, in time and signed with our key", async () => {
  await using rig = await githubRig();
  const { createAppKeys } = await import("#src/github/sim/manifest.ts");
  const good = await ask(rig, "GET", "/app", { token: await jwt(rig) });
  assert.equal(good.status, 200);
  const bad = [
    await jwt(rig, -11 * 60_000),
    await jwt(rig, 5 * 60_000),
    await jwt(rig, 0, createAppKeys().privateKey),
    "a.b.c",
  ];
  for (const token of bad) assert.equal((await ask(rig, "GET", "/app", { token })).status, 401);
  assert.equal((await ask(rig, "GET", "/app")).status, 401);
  assert.deepEqual(rig.violations(), []);
});

test("a token ends when its time is over, and an unknown one is refused", async () => {
  await using rig = await githubRig({ tokenLifetimeMs: 60_000 });
  const token = await installationToken(rig);
  assert.equal((await ask(rig, "GET", "/repos/acme/widget", { token })).status, 200);
  await rig.clock.advance(60_000);
  assert.equal((await ask(rig, "GET", "/repos/acme/widget", { token })).status, 401);
  assert.equal((await ask(rig, "GET", "/repos/acme/widget", { token: "ghs_nonsense" })).status, 401);
  assert.deepEqual(rig.violations(), []);
});

test("a private repository outside the token's scope does not exist; a public one can be read and not written", async () => {
  await using rig = await githubRig();
  const { hub } = rig;
  await hub.createRepository({ owner: "acme", name: "secret", private: true, files: { a: "b" } });
  await hub.createRepository({ owner: "acme", name: "open", files: { a: "b" } });
  const number = hub.openIssue("acme/open", "maria", { title: "Hello" });
  const token = await installationToken(rig);
  const comments = `/repos/acme/open/issues/${number}/comments`;
  assert.equal((await ask(rig, "GET", "/repos/acme/secret", { token })).status, 404);
  assert.equal((await ask(rig, "GET", "/repos/acme/secret")).status, 404);
  assert.equal((await ask(rig, "GET", "/repos/acme/nothing", { token })).status, 404);
  assert.equal((await ask(rig, "GET", "/repos/acme/open")).status, 200);
  assert.equal((await ask(rig, "GET", comments, { token })).status, 200);
  const written = await ask(rig, "POST", comments, { token, body: { body: "x" } });
  assert.equal(written.status, 403);
  assert.equal((await ask(rig, "POST", comments, { body: { body: "x" } })).status, 401);
  assert.deepEqual(rig.violations(), []);
});

test("a token without the permission is refused with the permissions that would do", async () => {
  await using rig = await githubRig();
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Hello" });
  const token = await installationToken(rig, { permissions: { contents: "read" } });
  const reply = await ask(rig, "GET", `/repos/acme/widget/issues/${number}`, { token });
  assert.equal(reply.status, 403);
  assert.equal(reply.headers.get("x-accepted-github-permissions"), "issues=read; pull_requests=read");
  const write = await ask(rig, "POST", "/repos/acme/widget/git/blobs", { token, body: { content: "x" } });
  assert.equal(write.headers.get("x-accepted-github-permissions"), "contents=write");
  assert.deepEqual(rig.violations(), []);
});

test("a token cannot be made for more than the installation has", async () => {
  await using rig = await githubRig({ permissions: { contents: "read" } });
  const other = await rig.hub.createRepository({ owner: "acme", name: "secret", private: true });
  const path = `/app/installations/${rig.installation}/access_tokens`;
  const token = await jwt(rig);
  for (const body of [
    { permissions: { contents: "write" } },
    { repository_ids: [other.id] },
    { repositories: ["secret"] },
  ])
    assert.equal((await ask(rig, "POST", path, { token, body })).status, 422);
  assert.equal((await ask(rig, "POST", "/app/installations/77/access_tokens", { token })).status, 404);
  assert.deepEqual(rig.violations(), []);
});

test("lists are paged with Link headers, 30 by default and 100 at most", async () => {
  await using rig = await githubRig();
  const { hub } = rig;
  const number = hub.openIssue("acme/widget", "maria", { title: "Talk" });
  for (let index = 0; index < 101; index++) hub.comment("acme/widget", number, "maria", String(index));
  const token = await installationToken(rig);
  const path = `/repos/acme/widget/issues/${number}/comments`;
  const sizes: Record<string, number> = {};
  for (const query of ["", "?per_page=500", "?per_page=100&page=2", "?per_page=100&page=9"])
    sizes[query] = ((await ask(rig, "GET", path + query, { token })).body as unknown[]).length;
  assert.deepEqual(sizes, {
    "": 30,
    "?per_page=500": 100,
    "?per_page=100&page=2": 1,
    "?per_page=100&page=9": 0,
  });
  const first = await ask(rig, "GET", `${path}?per_page=100`, { token });
  assert.match(first.headers.get("link") ?? "", /page=2>; rel="next"/);
});

test("every route keeps to GitHub's description", async () => {
  await using rig = await githubRig();
  const { hub, headSha } = rig;
  const number = hub.openIssue("acme/widget", "maria", { title: "Round trip", body: "x" });
  hub.label("acme/widget", number, "maria", "agent-fix");
  hub.unlabel("acme/widget", number, "maria", "agent-fix");
  const commentId = hub.comment("acme/widget", number, "maria", "hello");
  const token = await installationToken(rig);
  const app = await jwt(rig);
  const repo = "/repos/acme/widget";
  const issue = `${repo}/issues/${number}`;
  const steps: readonly (readonly [string, string, Json?])[] = [
    ["GET", "/installation/repositories"],
    ["GET", "/users/maria"],
    ["GET", repo],
    ["GET", `${repo}/issues?labels=agent-fix&state=all&per_page=5`],
    ["PATCH", issue, { title: "Renamed", state: "closed" }],
    ["PATCH", issue, { state: "open" }],
    ["GET", `${issue}/timeline`],
    ["POST", `${issue}/labels`, { labels: ["one", "two"] }],
    ["GET", `${issue}/labels`],
    ["DELETE", `${issue}/labels/one`],
    ["POST", `${issue}/reactions`, { content: "rocket" }],
    ["GET", `${issue}/reactions`],
    ["GET", `${repo}/issues/comments/${commentId}`],
    ["PATCH", `${repo}/issues/comments/${commentId}`, { body: "edited" }],
    ["POST", `${repo}/issues/comments/${commentId}/reactions`, { content: "eyes" }],
    ["DELETE", `${repo}/issues/comments/${commentId}`],
    ["POST", `${repo}/git/blobs`, { content: "aGk=", encoding: "base64" }],
    [
      "POST",
      `${repo}/git/trees`,
      { base_tree: headSha, tree: [{ path: "n.txt", mode: "100644", type: "blob", content: "n" }] },
    ],
    ["GET", `${repo}/git/trees/main?recursive=1`],
    ["GET", `${repo}/git/commits/${headSha}`],
    ["POST", `${repo}/git/refs`, { ref: "refs/heads/topic", sha: headSha }],
    ["GET", `${repo}/git/ref/heads/topic`],
    ["PATCH", `${repo}/git/refs/heads/topic`, { sha: headSha }],
    ["DELETE", `${repo}/git/refs/heads/topic`],
  ];
  for (const [method, path, body] of steps) {
    const reply = await ask(rig, method, path, { token, ...(body === undefined ? {} : { body }) });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  }
  const head = await hub.pushCommit("acme/widget", { by: "maria", branch: "fix", files: { a: "1" } });
  const blob = (await hub.git("acme/widget").readTree(head, true))?.[0]?.sha;
  const pull = { title: "Fix", head: "fix", base: "main", body: `Fixes #${number}` };
  for (const [method, path, body] of [
    ["GET", `${repo}/git/blobs/${blob}`],
    ["POST", `${repo}/pulls`, pull],
    ["GET", `${repo}/pulls?head=acme:fix&state=all`],
    ["GET", `${repo}/pulls/2`],
    ["PATCH", `${repo}/pulls/2`, { body: "new words" }],
    ["PATCH", `${repo}/pulls/2`, { state: "closed" }],
  ] as const) {
    const reply = await ask(rig, method, path, { token, ...(body === undefined ? {} : { body }) });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  }
  for (const path of [
    "/app",
    "/app/installations",
    `/app/installations/${rig.installation}`,
    `${repo}/installation`,
  ])
    assert.equal((await ask(rig, "GET", path, { token: app })).status, 200);
  assert.deepEqual(rig.violations(), []);
});

test("the contract check finds a wrong answer, a wrong request and an unknown query parameter", async () => {
  await using rig = await githubRig();
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "Check" });
  const token = await installationToken(rig);
  await ask(rig, "POST", `/repos/acme/widget/issues/${number}/comments`, {
    token,
    body: { body: "x", boddy: "y" },
  });
  await ask(rig, "GET", `/repos/acme/widget/issues/${number}/comments?perpage=3`, { token });
  const found = contractViolations(rig.hub.calls());
  assert.equal(found.length, 2);
  assert.match(found[0] ?? "", /unknown member boddy/);
  assert.match(found[1] ?? "", /unknown query parameter perpage/);
  const call = rig.hub.calls().at(-1);
  assert.ok(call);
  assert.match(
    contractViolations([{ ...call, query: {}, responseBody: [{ id: "not a number" }] }])[0] ?? "",
    /answer\/0/,
  );
  const delivery = rig.hub.webhooks.deliveries().find((entry) => entry.event === "issues");
  assert.ok(delivery);
  const broken = JSON.stringify({ ...JSON.parse(delivery.body), issue: {} });
  assert.match(webhookViolations([{ ...delivery, body: broken }])[0] ?? "", /payload\/issue/);
});

test("broken JSON is a 400 and an unknown address a 404", async () => {
  await using rig = await githubRig();
  const token = await installationToken(rig);
  const number = rig.hub.openIssue("acme/widget", "maria", { title: "x" });
  const answer = await fetch(`${rig.hub.apiUrl}/repos/acme/widget/issues/${number}/comments`, {
    method: "POST",
    headers: { authorization: `token ${token}` },
    body: '{"body": ',
  });
  assert.equal(answer.status, 400);
  await answer.text();
  assert.equal((await ask(rig, "GET", "/repos/acme/widget/nonsense", { token })).status, 404);
});

test("the git endpoints refuse what GitHub refuses", async () => {
  await using rig = await githubRig();
  const { headSha, hub } = rig;
  const token = await installationToken(rig);
  const side = await hub.pushCommit("acme/widget", { by: "maria", branch: "side", files: { s: "1" } });
  await hub.pushCommit("acme/widget", { by: "maria", files: { m: "1" } });
  const git = "/repos/acme/widget/git";
  const nowhere = "0123456789012345678901234567890123456789";
  const refusals: readonly (readonly [string, string, Json, RegExp])[] = [
    ["POST", `${git}/refs`, { ref: "refs/heads/main", sha: headSha }, /Reference already exists/],
    ["POST", `${git}/refs`, { ref: "heads/x", sha: headSha }, /must start with/],
    ["POST", `${git}/refs`, { ref: "refs/heads/a..b", sha: headSha }, /not a valid ref name/],
    ["POST", `${git}/refs`, { ref: "refs/heads/x", sha: nowhere }, /Object does not exist/],
    ["PATCH", `${git}/refs/heads/main`, { sha: side }, /not a fast forward/],
    ["DELETE", `${git}/refs/heads/nothing`, null, /Reference does not exist/],
    ["POST", `${git}/trees`, { base_tree: nowhere, tree: [] }, /base_tree/],
    [
      "POST",
      `${git}/trees`,
      { tree: [{ path: ".git/config", mode: "100644", type: "blob", content: "x" }] },
      /malformed path/,
    ],
    [
      "POST",
      `${git}/trees`,
      { tree: [{ path: "x", mode: "100644", type: "blob", sha: nowhere }] },
      /not a valid blob/,
    ],
    [
      "POST",
      `${git}/trees`,
      { base_tree: headSha, tree: [{ path: "no", mode: "100644", type: "blob", sha: null }] },
      /BadObjectState/,
    ],
    ["POST", `${git}/commits`, { message: "m", tree: nowhere, parents: [] }, /Tree SHA/],
    ["POST", `${git}/commits`, { message: "", tree: nowhere, parents: [] }, /blank/],
  ];
  for (const [method, path, body, words] of refusals) {
    const reply = await ask(rig, method, path, { token, ...(body === null ? {} : { body }) });
    assert.equal(reply.status, 422, `${method} ${path} ${JSON.stringify(body)}`);
    assert.match(JSON.stringify(reply.body), words);
  }
  assert.deepEqual(rig.violations(), []);
});
