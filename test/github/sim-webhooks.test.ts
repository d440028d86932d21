/** The embedded GitHub's webhooks: signed, shaped as published, and lost, doubled, held or sent again when a test wants it. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { test } from "node:test";
import { type GitHubRig, githubRig, WEBHOOK_SECRET } from "#test/support/github.ts";

interface Received {
  readonly event: string;
  readonly guid: string;
  readonly signature: string;
  readonly body: string;
}

/** A receiver that answers 202 to everything and remembers it. */
async function receiver(status = 202) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const header = (name: string) => String(request.headers[name]);
    received.push({
      event: header("x-github-event"),
      guid: header("x-github-delivery"),
      signature: header("x-hub-signature-256"),
      body: Buffer.concat(chunks).toString("utf8"),
    });
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    received,
    url: `http://127.0.0.1:${address.port}/api/github/webhooks`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function kinds(received: readonly Received[]): readonly string[] {
  return received.map((entry) => `${entry.event}.${JSON.parse(entry.body).action}`);
}

async function story(rig: GitHubRig): Promise<void> {
  const { hub } = rig;
  const repo = `${rig.repo.owner}/${rig.repo.name}`;
  const number = hub.openIssue(repo, "maria", { title: "Story ✍", body: "body" });
  hub.editIssue(repo, number, "maria", { title: "Story, told", body: "more" });
  hub.label(repo, number, "acme", "agent-fix");
  hub.unlabel(repo, number, "acme", "agent-fix");
  const comment = hub.comment(repo, number, "maria", "/approve");
  hub.editComment(repo, comment, "maria", "/cancel");
  hub.deleteComment(repo, comment, "maria");
  hub.lock(repo, number, "acme");
  hub.unlock(repo, number, "acme");
  hub.closeIssue(repo, number, "maria");
  hub.reopenIssue(repo, number, "maria");
  await hub.pushCommit(repo, { by: "maria", branch: "fix", files: { a: "1" } });
  const request = { title: "Fix", body: `Fixes #${number}`, head: "fix", base: "main", draft: false };
  const pull = await rig.github().createPullRequest(request);
  assert.ok(pull.ok);
  await hub.pushCommit(repo, { by: "maria", branch: "fix", files: { a: "2" } });
  hub.label(repo, pull.value.number, "maria", "ready");
  hub.comment(repo, pull.value.number, "maria", "merging");
  await hub.mergePullRequest(repo, pull.value.number, "acme");
  hub.deleteIssue(repo, number, "acme");
  hub.setSuspended(rig.installation, true);
  hub.setSuspended(rig.installation, false);
  hub.uninstall(rig.installation);
}

const STORY = [
  "issues.opened",
  "issues.edited",
  "issues.labeled",
  "issues.unlabeled",
  "issue_comment.created",
  "issue_comment.edited",
  "issue_comment.deleted",
  "issues.locked",
  "issues.unlocked",
  "issues.closed",
  "issues.reopened",
  "pull_request.opened",
  "pull_request.synchronize",
  "pull_request.labeled",
  "issue_comment.created",
  "pull_request.closed",
  "issues.closed",
  "issues.deleted",
  "installation.suspend",
  "installation.unsuspend",
  "installation.deleted",
];

for (const organization of [false, true])
  test(`everything that happens in ${organization ? "an organization's" : "a person's"} repository is announced in order, signed, as published`, async () => {
    await using inbox = await receiver();
    await using rig = await githubRig({ organization });
    rig.hub.setWebhookUrl(inbox.url);
    await story(rig);
    await rig.hub.settled();
    assert.deepEqual(kinds(inbox.received), STORY);
    for (const { body, signature } of inbox.received) {
      const expected = createHmac("sha256", WEBHOOK_SECRET).update(body).digest("hex");
      assert.equal(signature, `sha256=${expected}`);
    }
    const labeled = JSON.parse(inbox.received[2]?.body ?? "");
    assert.equal(labeled.installation.id, rig.installation);
    assert.equal(labeled.label.name, "agent-fix");
    assert.equal(labeled.sender.login, "acme");
    assert.deepEqual(rig.violations(), []);
  });

test("an organization's repository carries the organization, and the app's own writes are announced as the bot's", async () => {
  await using inbox = await receiver();
  await using rig = await githubRig();
  const { hub } = rig;
  hub.createOrganization("big-org");
  const made = await hub.createRepository({ owner: "big-org", name: "tool", files: { a: "1" } });
  hub.setWebhookUrl(inbox.url);
  const installation = hub.install({ repositories: ["big-org/tool"] });
  const number = hub.openIssue("big-org/tool", "maria", { title: "x" });
  const github = rig.app.repository(installation, { owner: "big-org", name: "tool", id: made.id }, "read");
  const comment = await github.createComment(number, "from the app");
  assert.ok(comment.ok);
  await github.addLabels(number, ["in work"]);
  await hub.settled();
  assert.deepEqual(kinds(inbox.received), [
    "installation.created",
    "issues.opened",
    "issue_comment.created",
    "issues.labeled",
  ]);
  const announced = JSON.parse(inbox.received[2]?.body ?? "");
  assert.equal(announced.organization.login, "big-org");
  assert.deepEqual([announced.sender.login, announced.sender.type], ["agent-fix-test[bot]", "Bot"]);
  assert.equal(announced.comment.performed_via_github_app.slug, "agent-fix-test");
  assert.deepEqual(rig.violations(), []);
});

test("F01: deliveries are doubled, lost, held and reordered on demand, and sent again with the same id and bytes", async () => {
  await using inbox = await receiver();
  await using rig = await githubRig();
  const { hub } = rig;
  const number = hub.openIssue("acme/widget", "maria", { title: "x" });
  hub.setWebhookUrl(inbox.url);
  hub.webhooks.duplicateNext(1);
  hub.label("acme/widget", number, "acme", "a");
  await hub.settled();
  assert.equal(inbox.received.length, 2);
  assert.deepEqual(inbox.received[0], inbox.received[1]);

  hub.webhooks.dropNext(1);
  hub.label("acme/widget", number, "acme", "b");
  await hub.settled();
  assert.equal(inbox.received.length, 2);
  const lost = hub.webhooks.deliveries().at(-1);
  assert.ok(lost);
  assert.deepEqual([lost.statusCode, lost.status], [0, "lost on the way"]);
  assert.equal(hub.webhooks.redeliver(lost.id), true);
  await hub.settled();
  assert.equal(inbox.received[2]?.guid, lost.guid);

  hub.webhooks.hold();
  hub.unlabel("acme/widget", number, "acme", "a");
  hub.label("acme/widget", number, "acme", "c");
  await hub.settled();
  assert.equal(inbox.received.length, 3);
  hub.webhooks.release((held) => [...held].reverse());
  await hub.settled();
  assert.deepEqual(kinds(inbox.received.slice(3)), ["issues.labeled", "issues.unlabeled"]);
  assert.deepEqual(rig.violations(), []);
});

test("a receiver that is away or refuses is on record, and the app can ask for the delivery again", async () => {
  await using inbox = await receiver();
  await using refusing = await receiver(500);
  await using rig = await githubRig();
  const { hub } = rig;
  hub.setWebhookUrl(refusing.url);
  hub.openIssue("acme/widget", "maria", { title: "x" });
  await hub.settled();
  const failed = hub.webhooks.deliveries().at(-1);
  assert.equal(failed?.statusCode, 500);
  hub.setWebhookUrl(inbox.url);
  const { default: signAppJwt } = await import("universal-github-app-jwt");
  const { APP_ID, appKeys } = await import("#test/support/github.ts");
  const now = Math.floor(rig.clock.now() / 1000);
  const { token } = await signAppJwt({ id: APP_ID, privateKey: appKeys().privateKey, now });
  const ask = async (method: string, path: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${hub.apiUrl}${path}`, { method, headers });
    const body = (await answer.json()) as never;
    return { status: answer.status, body };
  };
  const listed = await ask("GET", "/app/hook/deliveries?per_page=10");
  const [newest] = listed.body as readonly { readonly id: number; readonly status_code: number }[];
  assert.equal(newest?.status_code, 500);
  const whole = await ask("GET", `/app/hook/deliveries/${newest?.id}`);
  assert.equal((whole.body as { readonly guid: string }).guid, failed?.guid);
  assert.equal((await ask("POST", `/app/hook/deliveries/${newest?.id}/attempts`)).status, 202);
  await hub.settled();
  assert.deepEqual(kinds(inbox.received), ["issues.opened"]);
  assert.equal(inbox.received[0]?.guid, failed?.guid);
  assert.deepEqual(rig.violations(), []);
});
