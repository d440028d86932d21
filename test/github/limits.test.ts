/** F13: one rate limit for all runs of an installation: what one call meets holds back the others, for as long as a call may wait. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault } from "#src/github/sim/faults.ts";
import { failure, type GitHubRig, githubRig, value } from "#test/support/github.ts";

const REPO = "acme/widget";

function limited(headers: Readonly<Record<string, string>>, message = "API rate limit exceeded"): Fault {
  return {
    method: "POST",
    path: /comments$/,
    times: 1,
    fault: { kind: "status", status: 403, body: { message }, headers },
  };
}

function resetIn(rig: GitHubRig, seconds: number): Readonly<Record<string, string>> {
  const reset = String(Math.floor(rig.clock.now() / 1000) + seconds);
  return { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset, "x-ratelimit-resource": "core" };
}

async function withIssue(): Promise<{ readonly rig: GitHubRig; readonly number: number }> {
  const rig = await githubRig({ impatient: true });
  const number = rig.hub.openIssue(REPO, "maria", { title: "Busy" });
  await value(rig.github().issue(number));
  return { rig, number };
}

function sent(rig: GitHubRig): number {
  return rig.hub.calls().length;
}

test("F13: a used-up primary limit that one run meets holds back every call of that installation, and none is sent", async () => {
  const { rig, number } = await withIssue();
  await using _ = rig;
  rig.hub.fault(limited(resetIn(rig, 1_800)));
  const first = await failure(rig.github().createComment(number, "plan"));
  assert.deepEqual([first.code, first.retryAfterMs], ["rate_limited", 1_800_000]);
  const before = sent(rig);
  for (const phase of ["read", "discuss", "write"] as const) {
    const held = await failure(rig.github(phase).issue(number));
    assert.equal(held.code, "rate_limited");
    assert.match(held.message, /about 30 more minutes; nothing was sent/);
  }
  assert.equal(sent(rig), before);
  assert.deepEqual(rig.slept, []);
  await rig.clock.advance(1_800_000);
  await value(rig.github().createComment(number, "plan"));
  assert.equal(rig.hub.comments(REPO, number).length, 1);
});

test("F13: another installation has its own limit, and so has the app itself", async () => {
  const { rig, number } = await withIssue();
  await using _ = rig;
  await rig.hub.createRepository({ owner: "other", name: "tool", files: {} });
  const elsewhere = rig.hub.install({ repositories: ["other/tool"] });
  const there = rig.hub.openIssue("other/tool", "maria", { title: "Quiet" });
  rig.hub.fault(limited(resetIn(rig, 1_800)));
  await failure(rig.github().createComment(number, "plan"));
  const id = rig.hub.tokens().length;
  assert.ok(id > 0);
  await value(rig.app.permissions(rig.installation));
  const tool = await value(rig.app.repositories(elsewhere));
  const repo = tool[0];
  assert.ok(repo !== undefined);
  await value(rig.app.repository(elsewhere, repo, "read").createComment(there, "hello"));
});

for (const [name, headers, wait] of [
  ["with Retry-After", () => ({ "retry-after": "40" }), 40_000],
  ["with the time of its reset", (rig: GitHubRig) => resetIn(rig, 50), 50_000],
  ["with neither", () => ({}), 15_000],
] as const)
  test(`F13: a limit ${name} is waited out by the call that met it and by those that come meanwhile`, async () => {
    const { rig, number } = await withIssue();
    await using _ = rig;
    const message = "You have exceeded a secondary rate limit";
    rig.hub.fault(limited(headers(rig), message));
    const plan = rig.github().createComment(number, "plan");
    for (let call = await rig.nextExchange(); call.status !== 403; ) call = await rig.nextExchange();
    const other = rig.github("read").issue(number);
    await value(plan);
    await value(other);
    assert.equal(rig.slept[0], wait);
    assert.equal(rig.hub.comments(REPO, number).length, 1);
    const refused = rig.hub.calls().findIndex(({ status }) => status === 403);
    const after = rig.hub.calls().slice(refused + 1);
    assert.ok(after.length >= 2 && after.every(({ status }) => status < 300));
  });

test("F13: the last call of a budget is noticed by its answer, before GitHub has to refuse one", async () => {
  const { rig, number } = await withIssue();
  await using _ = rig;
  const body = { login: "maria" };
  rig.hub.fault({
    method: "GET",
    path: /collaborators/,
    times: 1,
    fault: {
      kind: "status",
      status: 200,
      body: { ...body, permission: "read", role_name: "read", user: null },
      headers: resetIn(rig, 600),
    },
  });
  assert.equal(await value(rig.github().permission("maria")), "read");
  const before = sent(rig);
  const held = await failure(rig.github().createComment(number, "plan"));
  assert.equal(held.code, "rate_limited");
  assert.equal(sent(rig), before);
});

test("F13: a reset that lies days away, as with a wrong clock, holds nothing back for more than an hour", async () => {
  const { rig, number } = await withIssue();
  await using _ = rig;
  rig.hub.fault(limited(resetIn(rig, 3 * 86_400)));
  await failure(rig.github().createComment(number, "plan"));
  await rig.clock.advance(3_600_000);
  await value(rig.github().createComment(number, "plan"));
});

test("F13: twenty calls at once that meet a limit are all sent once it is over, and none twice", async () => {
  const { rig, number } = await withIssue();
  await using _ = rig;
  rig.hub.fault({ ...limited({ "retry-after": "1" }, "secondary rate limit"), times: 5 });
  const all = Array.from({ length: 20 }, (_, at) => rig.github().createComment(number, `comment ${at}`));
  await Promise.all(all.map((one) => value(one)));
  const bodies = rig.hub.comments(REPO, number).map(({ body }) => body);
  assert.equal(new Set(bodies).size, 20);
  assert.equal(bodies.length, 20);
});
