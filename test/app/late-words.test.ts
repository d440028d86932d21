/** Labels and words that arrive late: they are for what stood when they were set or said, and start or stop nothing that was asked for since. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { type DeskRig, deskRig } from "./desk-rig.ts";
import { appRig, REPO } from "./rig.ts";

test("F01: a label whose delivery was lost, and comes after a newer label has had its run, starts no second run", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents are wrong" });
  rig.hub.webhooks.hold();
  rig.hub.label(REPO, number, "maya", LABEL);
  const lost = rig.hub.webhooks.deliveries().find(({ action }) => action === "labeled")?.body ?? "";
  rig.hub.webhooks.release(() => []);
  await rig.clock.advance(5_000);
  rig.hub.unlabel(REPO, number, "maya", LABEL);
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  await rig.endRun();
  assert.equal((await rig.post(lost)).status, 200);
  assert.equal((await rig.runs()).length, 1);
});

async function failedRun(rig: DeskRig): Promise<{ readonly number: number; readonly runId: string }> {
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents are wrong" });
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  const run = await rig.store.latestRun(rig.repo.id, number);
  assert.ok(run !== null);
  await rig.put(run.runId, { type: "failed", code: "no_changes", message: "Nothing was changed." });
  await rig.clock.advance(5_000);
  return { number, runId: run.runId };
}

test("a /cancel and a closing from before a /retry, which arrive after it, are for the run of then", async () => {
  await using rig = await deskRig();
  const { number, runId } = await failedRun(rig);
  rig.hub.webhooks.hold();
  rig.hub.closeIssue(REPO, number, "maya");
  const cancel = rig.hub.comment(REPO, number, "maya", "/cancel");
  rig.hub.reopenIssue(REPO, number, "maya");
  await rig.clock.advance(5_000);
  rig.hub.comment(REPO, number, "maya", "/retry");
  rig.hub.webhooks.release((held) => held.toReversed());
  await rig.settled();
  const next = await rig.store.latestRun(rig.repo.id, number);
  assert.notEqual(next?.runId, runId);
  assert.equal(next?.ended, false);
  assert.ok(!(await rig.events(next?.runId ?? "")).some(({ type }) => type === "command_received"));
  assert.match(rig.said(number, { to: cancel })[0]?.body ?? "", /There is nothing to cancel/);
});

test("a repository that got a new name and default branch is worked on under those by the run that a command begins", async () => {
  await using rig = await deskRig();
  const { number } = await failedRun(rig);
  rig.hub.comment(REPO, number, "maya", "/retry");
  const held = rig.hub.webhooks.deliveries().findLast(({ action }) => action === "created");
  assert.ok(held !== undefined);
  await rig.settled();
  const first = await rig.store.latestRun(rig.repo.id, number);
  await rig.put(first?.runId ?? "", { type: "failed", code: "cannot_clone", message: "no such branch" });
  await rig.clock.advance(5_000);
  const payload = JSON.parse(held.body);
  payload.comment.id += 1_000;
  payload.comment.created_at = new Date(rig.clock.now()).toISOString();
  payload.repository.default_branch = "trunk";
  await rig.post(JSON.stringify(payload), { "x-github-event": "issue_comment" });
  await rig.settled();
  const next = await rig.store.latestRun(rig.repo.id, number);
  assert.notEqual(next?.runId, first?.runId);
  assert.equal(next?.request.repository.defaultBranch, "trunk");
});

test("after the app was taken away and installed anew, a command on an older run is answered, and begins a run of the new installation", async () => {
  await using rig = await deskRig();
  const { number, runId } = await failedRun(rig);
  rig.hub.uninstall(rig.installation);
  await rig.settled();
  await rig.clock.advance(5_000);
  const installation = rig.hub.install({ repositories: [REPO] });
  await rig.settled();
  await rig.clock.advance(5_000);
  const status = rig.hub.comment(REPO, number, "maya", "/status");
  rig.hub.comment(REPO, number, "maya", "/retry");
  await rig.settled();
  assert.match(rig.said(number, { to: status })[0]?.body ?? "", /ended without a pull request/);
  const next = await rig.store.latestRun(rig.repo.id, number);
  assert.notEqual(next?.runId, runId);
  assert.equal(next?.request.installationId, installation);
});
