/** Two commands before the first is decided, and one that is decided again after a crash: each is heard once, and none is lost. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import type { RunRequest } from "#src/run/run.ts";
import { type DeskRig, deskRig } from "./desk-rig.ts";
import { REPO } from "./rig.ts";

/** A run that has failed; `say` is heard while nobody looks at it. */
async function whileNobodyLooks(
  rig: DeskRig,
  say: (request: RunRequest) => Promise<void>,
): Promise<RunRequest> {
  const { hub, store } = rig;
  const number = hub.openIssue(REPO, "ravi", { title: "Cents are wrong" });
  hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  const run = await store.latestRun(rig.repo.id, number);
  assert.ok(run !== null);
  await rig.put(run.runId, { type: "failed", code: "no_changes", message: "Nothing was changed." });
  const lease = await store.claim(run.runId, "another", 60_000);
  assert.ok(lease !== null);
  await say(run.request);
  await rig.settled();
  await store.release(lease);
  await rig.put(run.runId);
  await rig.settled();
  return run.request;
}

async function decisions(rig: DeskRig, runId: string): Promise<readonly string[]> {
  return (await rig.events(runId)).flatMap((event) =>
    event.type === "fact_handled" ? [event.decision] : [],
  );
}

test("H03: of two who ask for a new plan in the same moment neither is lost: the second speaks to the run that the first began", async () => {
  await using rig = await deskRig();
  const asked: number[] = [];
  const { runId, issue } = await whileNobodyLooks(rig, async ({ issue: { number } }) => {
    for (const words of ["/revise shorter", "/revise and a test", "/retry budget=5"])
      asked.push(rig.hub.comment(REPO, number, "maya", words));
  });
  const next = await rig.store.latestRun(rig.repo.id, issue.number);
  assert.equal(next?.request.parent?.instruction, "shorter");
  assert.deepEqual(await decisions(rig, runId), ["new_run", "passed_on", "passed_on"]);
  assert.deepEqual(await decisions(rig, next.runId), ["instruct", "refuse"]);
  const answers = asked.map((id) =>
    rig.said(issue.number, { to: id }).map(({ body }) => body.split("\n")[1]),
  );
  assert.deepEqual(answers, [
    [],
    ["Understood; I take it up at my next turn."],
    ["A run is at work on this issue. Say `/cancel` first."],
  ]);
  assert.equal((await rig.store.runsOf(rig.repo.id, issue.number)).length, 2);
});

test("a crash between the creation of a run and its record leads to the same decision again, and to no second run", async () => {
  await using rig = await deskRig();
  let comment = 0;
  const again = await whileNobodyLooks(rig, async (request) => {
    rig.hub.webhooks.dropNext(1);
    comment = rig.hub.comment(REPO, request.issue.number, "maya", "/retry");
    const parent = { runId: request.runId, instruction: "" };
    const made = { ...request, runId: "r0000000created", trigger: "retry" as const, parent };
    assert.ok((await rig.store.createRun(made, request.runId)).ok);
    // As its webhook had recorded it before.
    await rig.store.appendFact(request.runId, `comment-${comment}`, {
      type: "command_received",
      fact: { command: { verb: "retry", budgetUsd: null }, by: "maya", commentId: comment, issue: null },
    });
  });
  assert.deepEqual(await decisions(rig, again.runId), ["new_run"]);
  assert.equal((await rig.store.runsOf(rig.repo.id, again.issue.number)).length, 2);
  const said = rig.hub.comments(REPO, again.issue.number).find(({ id }) => id === comment);
  assert.deepEqual(said?.reactions, ["+1"]);
  assert.deepEqual(rig.violations(), []);
});
