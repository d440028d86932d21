/** Words on our pull request: whose they are, and which run they are for. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { branchName } from "#src/publish/publish.ts";
import type { RunEvent, RunRequest } from "#src/run/run.ts";
import { type AppRig, appRig, REPO } from "./rig.ts";

/** A run that has published, by the store alone, to a pull request that is really there. */
async function rigWithPull() {
  const rig = await appRig({ commits: true });
  const issue = rig.hub.openIssue(REPO, "ravi", { title: "Cents are wrong" });
  rig.hub.label(REPO, issue, "maya", LABEL);
  await rig.settled();
  const [run] = await rig.runs();
  assert.ok(run !== undefined);
  const branch = branchName(issue, run.runId);
  await rig.hub.pushCommit(REPO, { by: "maya", branch, files: { x: "y" } });
  const content = { title: "x", body: "", head: branch, base: "main", draft: false };
  const opened = await rig.github("write").createPullRequest(content);
  assert.ok(opened.ok);
  const { number, url } = opened.value;
  await end(rig, run.runId, { type: "published", pullRequest: number, url, branch, commitSha: "c" });
  return { ...rig, issue, number, branch, request: run.request };
}

async function end(rig: AppRig, runId: string, event: RunEvent): Promise<void> {
  const lease = await rig.store.claim(runId, "test", 60_000);
  assert.ok(lease !== null);
  await rig.store.append(lease, [event], { state: event.type, ended: true });
  await rig.store.release(lease);
}

/** When and where it was said. */
function said({ clock, request, installation }: AppRig & { readonly request: RunRequest }) {
  return { at: clock.now(), from: { repository: request.repository, installationId: installation } };
}

/** Facts of a run, without the one that its end is. */
async function heard(rig: AppRig, runId: string): Promise<readonly RunEvent[]> {
  const events = await rig.store.events(runId, 1);
  return events.map(({ event }) => event).filter(({ type }) => type !== "published");
}

function revision(of: RunRequest, runId: string, pull: { number: number; branch: string }): RunRequest {
  return { ...of, runId, trigger: "revise", pullRequest: pull };
}

test("a command on our pull request is a fact of the run that opened it; on another one it is nobody's", async () => {
  await using rig = await rigWithPull();
  const id = rig.hub.comment(REPO, rig.number, "maya", "/revise shorter\nplease");
  await rig.hub.pushCommit(REPO, { by: "maya", branch: "other", files: { o: "o" } });
  const content = { title: "o", body: "", head: "other", base: "main", draft: false };
  const other = await rig.github("write").createPullRequest(content);
  assert.ok(other.ok);
  rig.hub.comment(REPO, other.value.number, "maya", "/revise shorter");
  rig.hub.review(REPO, other.value.number, "maya", { state: "changes_requested", body: "no" });
  await rig.settled();
  const command = { verb: "revise", text: "shorter\nplease" } as const;
  const fact = { command, by: "maya", commentId: id, ...said(rig), issue: null, pullRequest: rig.number };
  assert.deepEqual(await heard(rig, rig.request.runId), [{ type: "command_received", fact }]);
  assert.equal((await rig.runs()).length, 1);
  const logins = rig.hub.comments(REPO, other.value.number).map(({ login }) => login);
  assert.deepEqual(logins, ["maya"], "nobody is answered there");
});

test("a review that asks for changes is a /revise; approving, commenting and a bot's review ask for nothing", async () => {
  await using rig = await rigWithPull();
  const { id } = rig.hub.review(REPO, rig.number, "maya", {
    state: "changes_requested",
    body: "Not like this",
    comments: [{ path: "x", line: 1, body: "here" }],
  });
  rig.hub.review(REPO, rig.number, "maya", { state: "approved", body: "/revise nothing" });
  rig.hub.review(REPO, rig.number, "maya", { state: "commented", body: "/cancel" });
  await rig.settled();
  const sent = rig.hub.webhooks.deliveries().find(({ event }) => event === "pull_request_review");
  const byBot = JSON.parse(sent?.body ?? "") as { sender: object; review: { id: number } };
  byBot.sender = { login: "checker[bot]", type: "Bot" };
  byBot.review.id += 1;
  await rig.post(JSON.stringify(byBot), { "x-github-event": "pull_request_review" });
  const command = { verb: "revise", text: "Not like this" } as const;
  const place = { issue: null, pullRequest: rig.number, review: true } as const;
  const fact = { command, by: "maya", commentId: id, ...said(rig), ...place };
  assert.deepEqual(await heard(rig, rig.request.runId), [{ type: "command_received", fact }]);
  assert.deepEqual(rig.violations(), []);
});

test("while a revision is under way its words are for it; once it has failed, for the run that pushed last", async () => {
  await using rig = await rigWithPull();
  const pull = { number: rig.number, branch: rig.branch };
  await rig.store.createRun(revision(rig.request, "second", pull));
  rig.hub.comment(REPO, rig.number, "maya", "/approve 0123456789ab");
  await rig.settled();
  assert.equal((await heard(rig, "second")).length, 1);
  await end(rig, "second", { type: "failed", code: "refuted", message: "no" });
  rig.hub.comment(REPO, rig.number, "maya", "/revise again");
  await rig.settled();
  assert.equal((await heard(rig, rig.request.runId)).length, 1);
  await rig.store.createRun(revision(rig.request, "third", pull));
  const pushed = { pullRequest: rig.number, url: "u", branch: rig.branch, commitSha: "d" };
  await end(rig, "third", { type: "published", ...pushed });
  rig.hub.comment(REPO, rig.number, "maya", "/cancel");
  await rig.settled();
  assert.equal((await heard(rig, "third")).length, 1);
});

test("the end of the pull request, and its opening again, reach every run that pushed to it and the one under way", async () => {
  await using rig = await rigWithPull();
  const pull = { number: rig.number, branch: rig.branch };
  await rig.store.createRun(revision(rig.request, "second", pull));
  rig.hub.closeIssue(REPO, rig.number, "maya");
  rig.hub.reopenIssue(REPO, rig.number, "maya");
  await rig.settled();
  const told = ["pull_request_closed", "pull_request_reopened"];
  for (const runId of [rig.request.runId, "second"])
    assert.deepEqual(
      (await heard(rig, runId)).map(({ type }) => type),
      told,
      runId,
    );
});
