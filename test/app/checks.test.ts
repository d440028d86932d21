/** Suites of checks on our pull request: recorded with the run that pushed the commit, once, and no run follows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { branchName } from "#src/publish/publish.ts";
import { appRig, REPO } from "./rig.ts";

test("a check suite or commit status on the commit that a run pushed is a fact of that run, once; on any other commit it is nobody's", async () => {
  await using rig = await appRig({ commits: true });
  const { hub, store } = rig;
  const issue = hub.openIssue(REPO, "ravi", { title: "Cents are wrong" });
  hub.label(REPO, issue, "maya", LABEL);
  await rig.settled();
  const [run] = await rig.runs();
  assert.ok(run !== undefined);
  const branch = branchName(issue, run.runId);
  const commitSha = await hub.pushCommit(REPO, { by: "maya", branch, files: { x: "y" } });
  const number = await hub.openPullRequest(REPO, "maya", { title: "x", body: null, branch });
  const lease = await store.claim(run.runId, "test", 60_000);
  assert.ok(lease !== null);
  const published = { type: "published", pullRequest: number, url: "u", branch, commitSha } as const;
  await store.append(lease, [published], { state: "published", ended: true });
  await store.release(lease);
  await hub.checkRan(REPO, commitSha, { name: "test", conclusion: "failure" });
  const [suite] = hub.webhooks.deliveries().filter(({ event }) => event === "check_suite");
  await rig.settled();
  assert.ok(suite !== undefined && hub.webhooks.redeliver(suite.id));
  for (const state of ["pending", "failure", "failure", "success"] as const)
    await hub.setStatus(REPO, commitSha, { context: "ci/jenkins", state });
  const later = await hub.pushCommit(REPO, { by: "maya", branch, files: { x: "z" } });
  await hub.checkRan(REPO, later, { name: "test", conclusion: "success" });
  await hub.checkRan(REPO, rig.headSha, { name: "test", conclusion: "failure" });
  await hub.setStatus(REPO, later, { context: "ci/jenkins", state: "failure" });
  await hub.setStatus(REPO, rig.headSha, { context: "ci/jenkins", state: "failure" });
  await rig.settled();
  const heard = (await store.events(run.runId)).map(({ event }) => event);
  assert.deepEqual(
    heard.filter(({ type }) => type === "checks_concluded"),
    [
      { type: "checks_concluded", headSha: commitSha, name: "agent-fix-test", conclusion: "failure" },
      { type: "checks_concluded", headSha: commitSha, name: "ci/jenkins", conclusion: "failure" },
      { type: "checks_concluded", headSha: commitSha, name: "ci/jenkins", conclusion: "success" },
    ],
  );
  assert.equal((await rig.runs()).length, 1, "a failing check starts nothing by itself");
  assert.deepEqual(rig.violations(), []);
});
