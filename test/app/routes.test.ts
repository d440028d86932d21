/** Webhooks to facts, with the real middleware and signed payloads: what starts a run, what is recorded, and what is not heard at all. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { appRig, REPO } from "./rig.ts";

const ISSUE = { title: "Cents are wrong", body: "2.5 for 205" };

test("the label starts one run with the issue as it stands in the payload, and nothing else is written", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  const [run, ...more] = await rig.runs();
  assert.deepEqual(more, []);
  assert.deepEqual(
    { ...run?.request, runId: "" },
    {
      runId: "",
      repository: {
        id: rig.repo.id,
        owner: "acme",
        name: "widget",
        cloneUrl: `${rig.hub.url}/acme/widget.git`,
        defaultBranch: "main",
        private: true,
      },
      installationId: rig.installation,
      issue: { number, ...ISSUE, author: "ravi", updatedAt: rig.clock.now() },
      askedBy: "maya",
      trigger: "label",
      parent: null,
      budgetUsd: null,
    },
  );
  assert.deepEqual(rig.pushed, [{ runId: run?.runId, lane: "desk" }]);
  assert.deepEqual(rig.hub.comments(REPO, number), []);
  assert.deepEqual(await rig.facts(), []);
});

test("H01: what is asked is the text at the label, not what the issue became before the webhook came", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.webhooks.hold();
  rig.hub.label(REPO, number, "maya", LABEL);
  rig.hub.editIssue(REPO, number, "ravi", { title: "Other", body: "run evil" });
  rig.hub.webhooks.release();
  await rig.settled();
  const [run] = await rig.runs();
  assert.deepEqual([run?.request.issue.title, run?.request.issue.body], [ISSUE.title, ISSUE.body]);
});

test("an issue without a body, and one with a long one, are taken as they are", async () => {
  await using rig = await appRig();
  const body = "😀".repeat(30_000);
  for (const content of [{ title: "Empty" }, { title: "Null", body: null }, { title: "Long", body }]) {
    const number = rig.hub.openIssue(REPO, "ravi", content);
    rig.hub.label(REPO, number, "maya", LABEL);
  }
  await rig.settled();
  const bodies = (await rig.runs()).map(({ request }) => request.issue.body).toReversed();
  assert.deepEqual(bodies, ["", "", body]);
});

test("another label starts nothing, also one that merely looks alike", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  for (const name of ["bug", "Agent-Fix", "agent-fix ", "agent-fix-2", "agent\u2010fix"])
    rig.hub.label(REPO, number, "maya", name);
  await rig.settled();
  assert.deepEqual(await rig.runs(), []);
  assert.deepEqual(rig.pushed, []);
});

test("F05: a label set by a bot starts nothing", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.webhooks.hold();
  rig.hub.label(REPO, number, "maya", LABEL);
  const labeled = rig.hub.webhooks.deliveries().find(({ action }) => action === "labeled");
  const payload = JSON.parse(labeled?.body ?? "");
  payload.sender.type = "Bot";
  assert.equal((await rig.post(JSON.stringify(payload))).status, 200);
  assert.deepEqual(await rig.runs(), []);
  rig.hub.webhooks.release(() => []);
});

test("a repository of another account starts nothing, and the log says what to set", async () => {
  await using rig = await appRig({ allowedOwners: ["somebody-else"] });
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.label(REPO, number, "maya", LABEL);
  rig.hub.comment(REPO, number, "maya", "/status");
  await rig.settled();
  assert.deepEqual(await rig.runs(), []);
  assert.deepEqual(
    rig.hub.comments(REPO, number).map(({ login }) => login),
    ["maya"],
  );
  assert.ok(rig.logged.some(({ msg }) => String(msg).includes("ALLOWED_OWNERS")));
});

test("allowed owners are compared without regard to case; unset, the app's own account is served", async () => {
  for (const allowedOwners of [["acme"], null]) {
    await using rig = await appRig({ allowedOwners });
    const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
    rig.hub.label(REPO, number, "maya", LABEL);
    await rig.settled();
    assert.equal((await rig.runs()).length, 1);
  }
});

test("a look-up of the app's own account that fails is a no, and the delivery is answered", async () => {
  await using rig = await appRig();
  const fault = { kind: "status", status: 500 } as const;
  rig.hub.fault({ method: "GET", path: /^\/app$/, times: Number.POSITIVE_INFINITY, fault });
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  assert.deepEqual(await rig.runs(), []);
  assert.ok(rig.logged.some(({ msg }) => String(msg).includes("set ALLOWED_OWNERS")));
});

test("while PAUSED a label starts nothing and gets a reaction that says so", async () => {
  await using rig = await appRig({ paused: true });
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  assert.deepEqual(await rig.runs(), []);
  assert.deepEqual(rig.hub.issue(REPO, number).reactions, ["confused"]);
});

test("the label again while a run is active is no second run; after its end it is a new one", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  const again = async () => {
    await rig.clock.advance(5_000);
    rig.hub.unlabel(REPO, number, "maya", LABEL);
    await rig.clock.advance(5_000);
    rig.hub.label(REPO, number, "maya", LABEL);
    await rig.settled();
  };
  rig.hub.label(REPO, number, "maya", LABEL);
  await again();
  const [only, ...more] = await rig.runs();
  assert.deepEqual(more, []);
  assert.ok(rig.pushed.every(({ runId }) => runId === only?.runId));
  await rig.endRun();
  await again();
  const runs = await rig.runs();
  assert.equal(runs.length, 2);
  assert.equal(runs[0]?.ended, false);
});

test("runs of two issues and of two repositories do not get in each other's way", async () => {
  await using rig = await appRig();
  const numbers = [rig.hub.openIssue(REPO, "ravi", ISSUE), rig.hub.openIssue(REPO, "ravi", ISSUE)];
  for (const number of numbers) rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  const runs = await rig.runs();
  assert.deepEqual(new Set(runs.map(({ request }) => request.issue.number)), new Set(numbers));
});

test("taking the label off, closing and deleting the issue are facts of its active run", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  const before = rig.pushed.length;
  await rig.clock.advance(2_000);
  const unlabeledAt = rig.clock.now();
  rig.hub.unlabel(REPO, number, "tom", LABEL);
  rig.hub.label(REPO, number, "tom", "bug");
  rig.hub.unlabel(REPO, number, "tom", "bug");
  rig.hub.closeIssue(REPO, number, "maya");
  rig.hub.deleteIssue(REPO, number, "acme");
  await rig.settled();
  assert.deepEqual(await rig.facts(), [
    { type: "label_removed", by: "tom", issueUpdatedAt: unlabeledAt },
    { type: "issue_closed", by: "maya" },
    { type: "ground_lost", why: "issue_deleted", by: "acme" },
  ]);
  assert.equal(rig.pushed.length, before + 3);
});

test("an issue that moves to another repository, or is closed by a bot, is a fact as well", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.label(REPO, number, "maya", LABEL);
  rig.hub.closeIssue(REPO, number, "maya");
  await rig.settled();
  const closed = rig.hub.webhooks.deliveries().find(({ action }) => action === "closed");
  const payload = JSON.parse(closed?.body ?? "");
  payload.sender = { ...payload.sender, login: "stale[bot]", type: "Bot" };
  await rig.post(JSON.stringify(payload));
  await rig.post(JSON.stringify({ ...payload, action: "transferred" }));
  assert.deepEqual(
    (await rig.facts()).map((event) => `${event.type} ${"by" in event ? event.by : ""}`),
    ["issue_closed maya", "issue_closed stale[bot]", "ground_lost stale[bot]"],
  );
});

test("nothing is recorded for an issue without a run, or whose run has ended", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.closeIssue(REPO, number, "maya");
  rig.hub.reopenIssue(REPO, number, "maya");
  await rig.settled();
  assert.deepEqual(await rig.runs(), []);
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  await rig.endRun();
  rig.hub.unlabel(REPO, number, "maya", LABEL);
  rig.hub.closeIssue(REPO, number, "maya");
  await rig.settled();
  assert.deepEqual(
    (await rig.facts()).map(({ type }) => type),
    ["cancelled"],
  );
});
