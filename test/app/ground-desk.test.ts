/** Ground that goes from under a run and comes back, with the lease holder behind the edge: what stands in the log and on the issue, and what a command then does. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { shortDigest } from "#src/run/proposal.ts";
import type { RunEvent, RunRequest } from "#src/run/run.ts";
import { type DeskRig, deskRig } from "./desk-rig.ts";
import { REPO } from "./rig.ts";

let rig: DeskRig;

before(async () => {
  rig = await deskRig();
});

after(async () => {
  const violations = rig.violations();
  await rig[Symbol.asyncDispose]();
  assert.deepEqual(violations, []);
});

const PHASES = ["preparing", "solving", "verifying"] as const;

async function labelled(): Promise<RunRequest> {
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents are wrong", body: "2.5 for 205" });
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  const run = await rig.store.latestRun(rig.repo.id, number);
  assert.ok(run !== null);
  return run.request;
}

async function working(): Promise<RunRequest> {
  const request = await labelled();
  await rig.put(
    request.runId,
    ...PHASES.slice(0, 2).map((phase) => ({ type: "phase_entered", phase }) as const),
  );
  return request;
}

/** A run whose plan waits, and the words that approve it. */
async function planned(): Promise<{ readonly request: RunRequest; readonly approve: string }> {
  const request = await labelled();
  const phases = PHASES.map((phase): RunEvent => ({ type: "phase_entered", phase }));
  const offer = await rig.offer(request, "plan");
  await rig.put(request.runId, ...phases, ...offer);
  const proposed = offer.find((event) => event.type === "proposed");
  assert.ok(proposed?.type === "proposed");
  return { request, approve: `/approve ${shortDigest(proposed.digest)}` };
}

async function suspend(suspended: boolean): Promise<void> {
  // Two deliveries with the same bytes would be one.
  await rig.clock.advance(1_000);
  rig.hub.setSuspended(rig.installation, suspended);
  await rig.settled();
}

async function say({ issue }: RunRequest, words: string): Promise<readonly string[]> {
  const comment = rig.hub.comment(REPO, issue.number, "maya", words);
  await rig.settled();
  return rig.said(issue.number, { to: comment }).map(({ body }) => body);
}

const state = async ({ runId }: RunRequest) => (await rig.store.run(runId))?.state;
const statusOf = ({ issue }: RunRequest) => rig.said(issue.number, { kind: "status" }).at(-1)?.body ?? "";

test("the installation is suspended while a run works and while a plan waits: both end by that, say so once it is back, and nothing is approved by then", async () => {
  const working_ = await working();
  const { request, approve } = await planned();
  await suspend(true);
  assert.deepEqual([await state(working_), await state(request)], ["cancelled", "cancelled"]);
  assert.match(statusOf(request), /waiting for a maintainer/, "nothing can be written meanwhile");
  await suspend(false);
  for (const one of [working_, request]) assert.match(statusOf(one), /suspended/);
  const [plan] = rig.said(request.issue.number, { kind: "plan" });
  assert.match(plan?.body ?? "", /Withdrawn/);
  const [refused] = await say(request, approve);
  assert.match(refused ?? "", /nothing to approve.*suspended/s);
  assert.equal(await state(request), "cancelled");
  await say(request, "/retry");
  const next = await rig.store.latestRun(rig.repo.id, request.issue.number);
  assert.equal(next?.request.parent?.runId, request.runId);
  assert.equal(next?.ended, false);
});

test("a suspension or an archiving that is told after it was taken back ends nothing: the plan still waits, and its approval is taken", async () => {
  const working_ = await working();
  const { request, approve } = await planned();
  for (const back of ["unsuspended", "unarchived"] as const) {
    await rig.clock.advance(1_000);
    rig.hub.webhooks.hold();
    for (const lost of [true, false]) {
      if (back === "unsuspended") rig.hub.setSuspended(rig.installation, lost);
      else rig.hub.setArchived(REPO, lost, "maya");
    }
    rig.hub.webhooks.release((held) => held.toReversed());
    await rig.settled();
    assert.deepEqual([await state(working_), await state(request)], ["solving", "awaiting_approval"], back);
  }
  const decisions = (await rig.events(request.runId)).flatMap((event) =>
    event.type === "fact_handled" ? [event.decision] : [],
  );
  assert.deepEqual(decisions, ["out_of_date", "out_of_date"]);
  await say(request, approve);
  assert.notEqual(await state(request), "awaiting_approval");
  assert.ok((await rig.events(request.runId)).some(({ type }) => type === "approved"));
});

test("a command that comes while the installation is suspended is refused, since nobody can be looked up; a reaction tells it when the installation is back, and the command works then", async () => {
  const { request, approve } = await planned();
  rig.hub.webhooks.hold();
  const comment = rig.hub.comment(REPO, request.issue.number, "maya", approve);
  rig.hub.setSuspended(rig.installation, true);
  rig.hub.webhooks.release((held) => held.filter(({ event }) => event === "issue_comment"));
  await rig.settled();
  assert.equal(await state(request), "awaiting_approval");
  assert.ok(!(await rig.events(request.runId)).some(({ type }) => type === "approved"));
  await suspend(false);
  const reactions = () =>
    rig.hub.comments(REPO, request.issue.number).find(({ id }) => id === comment)?.reactions;
  assert.deepEqual(reactions(), ["confused"]);
  await say(request, approve);
  assert.ok((await rig.events(request.runId)).some(({ type }) => type === "approved"));
  assert.deepEqual(reactions(), ["confused"]);
});
