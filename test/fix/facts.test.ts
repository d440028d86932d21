/** What a lease holder makes of what others recorded: decided once, in order, and with a consequence where there is one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Consequence, handleFact, openFacts } from "#src/fix/facts.ts";
import { sendReplies } from "#src/fix/replies.ts";
import { instructionsSoFar } from "#src/fix/rounds.ts";
import type { Command, RunEvent } from "#src/run/run.ts";
import { samplePendingIntent, samplePlan, sampleRequest } from "#test/run/sample.ts";
import { type FixRig, fixRig } from "./rig.ts";

const PLAN = samplePlan();

async function toPlan(rig: FixRig, planCommentAt = PLAN.planCommentAt): Promise<void> {
  for (const phase of ["preparing", "solving", "verifying"] as const)
    await rig.append({ type: "phase_entered", phase });
  await rig.append({ type: "proposed", ...PLAN, planCommentAt });
}

async function toPublishing(rig: FixRig): Promise<void> {
  await toPlan(rig);
  const { digest } = PLAN;
  await rig.append({ type: "approved", by: "maya", digest, commentId: 1_001, unverified: false });
  await rig.append({ type: "publish_started" });
}

function said(
  command: Command,
  change: Partial<{ by: string; commentId: number; at: number }> = {},
): RunEvent {
  const issue = { title: "New title", body: "new body" };
  return { type: "command_received", fact: { command, by: "maya", commentId: 2_000, issue, ...change } };
}

/** Handles every open fact as the watch does, until one asks for something. */
async function handleAll(rig: FixRig): Promise<Consequence> {
  for (const fact of openFacts(rig.context)) {
    const consequence = await handleFact(rig.context, fact);
    if (consequence.kind !== "none") return consequence;
  }
  return { kind: "none" };
}

function decisions(rig: FixRig): readonly string[] {
  return rig.context.events().flatMap(({ event }) => (event.type === "fact_handled" ? [event.decision] : []));
}

test("a label taken off cancels the run; one that was set again meanwhile makes the removal out of date", async () => {
  for (const labelledAgain of [false, true]) {
    await using rig = await fixRig();
    rig.talk.labelledAgain = labelledAgain;
    await rig.fact({ type: "label_removed", by: "tom", issueUpdatedAt: 5 });
    const consequence = await handleAll(rig);
    if (labelledAgain) {
      assert.deepEqual(consequence, { kind: "none" });
      assert.deepEqual(decisions(rig), ["out_of_date"]);
      assert.deepEqual(openFacts(rig.context), []);
    } else {
      assert.ok(consequence.kind === "cancel");
      assert.deepEqual(consequence.event, { type: "cancelled", by: "tom", why: "unlabeled" });
      assert.equal(consequence.reply, null);
      assert.deepEqual(decisions(rig), [], "it is recorded only once the work has stopped");
    }
  }
});

test("closing the issue withdraws a plan that waits; once it is approved it is only recorded", async () => {
  await using waiting = await fixRig();
  await toPlan(waiting);
  await waiting.fact({ type: "issue_closed", by: "maya" });
  assert.equal((await handleAll(waiting)).kind, "cancel");
  await using publishing = await fixRig();
  await toPublishing(publishing);
  await publishing.fact({ type: "issue_closed", by: "maya" });
  await publishing.fact({ type: "label_removed", by: "maya", issueUpdatedAt: 5 });
  assert.deepEqual(await handleAll(publishing), { kind: "none" });
  assert.deepEqual(decisions(publishing), ["recorded", "recorded"]);
});

test("the end of the pull request is its outcome; before its opening is on record the fact waits", async () => {
  await using rig = await fixRig();
  await toPublishing(rig);
  await rig.fact({ type: "pull_request_closed", merged: true, by: "maya" });
  assert.deepEqual(await handleAll(rig), { kind: "none" });
  assert.equal(openFacts(rig.context).length, 1);
  await rig.append({
    type: "published",
    pullRequest: 40,
    url: "https://x",
    branch: "b",
    commitSha: "4".repeat(40),
  });
  await handleAll(rig);
  const run = rig.context.run();
  assert.ok(run.state === "published" && run.outcome === "merged");
  assert.deepEqual(openFacts(rig.context), []);
  await rig.fact({ type: "pull_request_closed", merged: false, by: "maya" });
  await handleAll(rig);
  const after = rig.context.run();
  assert.ok(after.state === "published" && after.outcome === "closed");
});

test("an approval is recorded with its decision in one step, and answered once", async () => {
  await using rig = await fixRig();
  await toPlan(rig);
  await rig.fact(said({ verb: "approve", digest: null, unverified: false }));
  await handleAll(rig);
  const run = rig.context.run();
  assert.ok(run.state === "approved" && run.approval.by === "maya" && run.approval.digest === PLAN.digest);
  assert.deepEqual(decisions(rig), ["approve"]);
  await sendReplies(rig.context);
  await sendReplies(rig.context);
  assert.deepEqual(
    rig.talk.calls.filter((call) => call.startsWith("answer")),
    ["answer 2000 +1 null"],
  );
});

test("F06: whoever may not decide changes nothing; with triage rights they are told why, else they get a reaction", async () => {
  for (const [permission, answered] of [
    ["read", false],
    ["none", false],
    ["unknown", false],
    ["triage", true],
  ] as const) {
    await using rig = await fixRig();
    await toPlan(rig);
    rig.talk.permission = permission;
    await rig.fact(said({ verb: "approve", digest: null, unverified: false }, { by: "eve" }));
    await handleAll(rig);
    assert.equal(rig.context.run().state, "awaiting_approval");
    await sendReplies(rig.context);
    const answer = rig.talk.calls.find((call) => call.startsWith("answer")) ?? "";
    assert.ok(answer.startsWith("answer 2000 confused"));
    assert.equal(answer.includes("needs write access"), answered, answer);
  }
});

test("a permission that could not be asked for because the worker stops leaves the command open", async () => {
  await using rig = await fixRig();
  await toPlan(rig);
  const stopped = rig.context.during(AbortSignal.abort());
  await rig.fact(said({ verb: "approve", digest: null, unverified: false }));
  for (const fact of openFacts(stopped)) assert.deepEqual(await handleFact(stopped, fact), { kind: "none" });
  assert.equal(openFacts(rig.context).length, 1);
  assert.deepEqual(decisions(rig), []);
});

test("H01: a retry works from the issue as it stood at the command, and keeps who asked and for how much", async () => {
  await using rig = await fixRig();
  await toPlan(rig);
  await rig.fact(said({ verb: "retry", budgetUsd: 5 }, { by: "tom" }));
  const consequence = await handleAll(rig);
  assert.ok(consequence.kind === "new_run");
  const { request } = consequence;
  assert.notEqual(request.runId, rig.context.runId);
  assert.deepEqual(
    { ...request, runId: "" },
    {
      ...sampleRequest(),
      runId: "",
      issue: { ...sampleRequest().issue, title: "New title", body: "new body" },
      askedBy: "tom",
      trigger: "retry",
      parent: { runId: rig.context.runId, instruction: "", goesOn: "checkpoint" },
      budgetUsd: 5,
    },
  );
});

test("a revision goes on from the patch, a plain retry from the base alone", async () => {
  const goesOn = async (command: Command) => {
    await using rig = await fixRig();
    await toPlan(rig);
    await rig.fact(said(command));
    const consequence = await handleAll(rig);
    assert.ok(consequence.kind === "new_run");
    return consequence.request.parent?.goesOn;
  };
  assert.equal(await goesOn({ verb: "revise", text: "shorter" }), "patch");
  assert.equal(await goesOn({ verb: "retry", budgetUsd: null }), undefined);
});

/** Another run of the same issue, which has ended, with what it did. */
async function otherRun(rig: FixRig, ...did: readonly RunEvent[]): Promise<void> {
  const request = sampleRequest({ runId: "01k0000000aaaaaa" });
  assert.ok((await rig.store.createRun(request, rig.context.runId)).ok);
  const lease = await rig.store.claim(request.runId, "other", 1_000);
  assert.ok(lease !== null);
  await rig.store.append(lease, did, { state: "cancelled", ended: true });
}

const BARE: Command = { verb: "approve", digest: null, unverified: false };

test("H03: when another run of the issue has shown a plan, a bare approval counts only after a minute", async () => {
  await using rig = await fixRig();
  await otherRun(rig, { type: "effect_intended", effect: "plan-comment" });
  await toPlan(rig, rig.clock.now());
  await rig.fact(said(BARE));
  await handleAll(rig);
  assert.deepEqual(decisions(rig), ["refuse"]);
  await rig.clock.advance(60_000);
  await rig.fact(said(BARE, { commentId: 2_001 }));
  await handleAll(rig);
  assert.equal(rig.context.run().state, "approved");
});

test("H03: an approval that was said before the newest plan was a minute old counts no more for coming late", async () => {
  await using rig = await fixRig();
  await otherRun(rig, { type: "effect_intended", effect: "plan-comment" });
  const posted = rig.clock.now();
  await toPlan(rig, posted);
  await rig.clock.advance(3_600_000);
  await rig.fact(said(BARE, { at: posted + 10_000 }));
  await handleAll(rig);
  assert.deepEqual(decisions(rig), ["refuse"]);
  await rig.fact(said(BARE, { commentId: 2_001, at: posted + 60_000 }));
  await handleAll(rig);
  assert.equal(rig.context.run().state, "approved");
});

test("H01: a revision keeps to the issue as it was asked for, whatever its author has written into it since", async () => {
  await using rig = await fixRig();
  await toPlan(rig);
  await rig.fact(said({ verb: "revise", text: "shorter" }));
  const consequence = await handleAll(rig);
  assert.ok(consequence.kind === "new_run");
  assert.deepEqual(consequence.request.issue, sampleRequest().issue);
});

test("H03: an earlier run that never showed a plan leaves no doubt what is meant", async () => {
  await using rig = await fixRig();
  await otherRun(rig, { type: "effect_intended", effect: "status-comment" });
  await toPlan(rig, rig.clock.now());
  await rig.fact(said(BARE));
  await handleAll(rig);
  assert.equal(rig.context.run().state, "approved");
});

test("a revision is taken as an instruction while the result is checked, and waits while the plan is posted", async () => {
  await using rig = await fixRig();
  for (const phase of ["preparing", "solving", "verifying"] as const)
    await rig.append({ type: "phase_entered", phase });
  await rig.fact(said({ verb: "revise", text: "use padStart" }));
  await handleAll(rig);
  assert.deepEqual(decisions(rig), ["instruct"]);
  assert.deepEqual(instructionsSoFar(rig.context), ["use padStart"]);
  rig.context.progress.stepStarted("propose");
  await rig.fact(said({ verb: "revise", text: "and a test" }, { commentId: 2_001 }));
  await handleAll(rig);
  assert.equal(openFacts(rig.context).length, 1, "neither refused nor promised");
  await rig.append({ type: "proposed", ...PLAN });
  const consequence = await handleAll(rig);
  assert.ok(consequence.kind === "new_run" && consequence.request.parent?.instruction === "and a test");
});

test("facts are decided in their order, and what comes after a cancel waits for it", async () => {
  await using rig = await fixRig();
  await rig.fact(said({ verb: "status" }));
  await rig.fact(said({ verb: "cancel" }, { commentId: 2_001 }));
  await rig.fact(said({ verb: "help" }, { commentId: 2_002 }));
  const consequence = await handleAll(rig);
  assert.ok(consequence.kind === "cancel" && consequence.event.why === "command");
  assert.deepEqual(decisions(rig), ["answer"]);
  assert.equal(openFacts(rig.context).length, 2);
});

test("the log of all this reduces again after a restart, fact by fact", async () => {
  await using rig = await fixRig();
  await toPlan(rig);
  await rig.fact(said({ verb: "revise", text: "differently" }));
  const consequence = await handleAll(rig);
  assert.ok(consequence.kind === "new_run" && consequence.request.parent?.instruction === "differently");
  const stored = await rig.store.events(rig.context.runId);
  assert.deepEqual(stored, rig.context.events());
});

test("an intent is approved with its decision in one step; a bare approval of the plan that follows it waits a minute", async () => {
  await using rig = await fixRig();
  await rig.append({ type: "phase_entered", phase: "preparing" });
  await rig.context.journal.intend("intent-comment");
  const intent = samplePendingIntent();
  await rig.append({ type: "intended", ...intent });
  await rig.fact(said(BARE));
  await handleAll(rig);
  assert.deepEqual(decisions(rig), ["approve_intent"]);
  assert.equal(rig.context.run().state, "preparing");
  await rig.fact(said({ ...BARE, digest: intent.digest.slice(0, 12) }, { commentId: 2_001 }));
  await handleAll(rig);
  assert.equal(decisions(rig)[1], "acknowledge", "a second maintainer has what they want");
  await rig.append(
    { type: "phase_entered", phase: "solving" },
    { type: "phase_entered", phase: "verifying" },
  );
  await rig.append({ type: "proposed", ...PLAN, planCommentAt: rig.clock.now() });
  await rig.fact(said(BARE, { commentId: 2_002 }));
  await handleAll(rig);
  assert.equal(decisions(rig)[2], "refuse", "it could have been meant for the intent");
});

const CHECK = {
  name: "ci",
  conclusion: "failure",
  title: "1 failed",
  summary: "expected 2.05",
  annotations: [],
};

test("a revision of the pull request carries what its checks say as data, with words or without; without either it is refused", async () => {
  for (const [text, failing] of [
    ["", true],
    ["shorter", true],
    ["", false],
  ] as const) {
    await using rig = await fixRig();
    await toPublishing(rig);
    const commitSha = "4".repeat(40);
    await rig.append({ type: "published", pullRequest: 40, url: "https://x", branch: "b", commitSha });
    rig.talk.failedChecks = failing ? [{ ...CHECK, summary: "x".repeat(9_000) }] : [];
    await rig.fact({
      type: "command_received",
      fact: {
        ...{ by: "maya", commentId: 2_000, issue: null, pullRequest: 40 },
        command: { verb: "revise", text },
      },
    });
    const consequence = await handleAll(rig);
    if (!failing) {
      assert.deepEqual(decisions(rig), ["refuse"]);
      continue;
    }
    assert.ok(consequence.kind === "new_run");
    const { checks = [], parent } = consequence.request;
    assert.equal(parent?.goesOn, undefined, "the branch holds the patch");
    assert.equal(parent?.instruction, text, "what the checks say never becomes a maintainer's word");
    assert.equal(checks[0]?.name, "ci");
    assert.ok((checks[0]?.summary.length ?? 0) < 2_300, "bounded");
  }
});

test("H03: an approval and a revision in the same moment: the first in the log wins, and the other is told", async () => {
  const revise = said({ verb: "revise", text: "shorter" }, { by: "tom", commentId: 2_001 });
  await using approvedFirst = await fixRig();
  await toPlan(approvedFirst);
  await approvedFirst.fact(said(BARE));
  await approvedFirst.fact(revise);
  assert.deepEqual(await handleAll(approvedFirst), { kind: "none" });
  assert.equal(approvedFirst.context.run().state, "approved");
  assert.deepEqual(decisions(approvedFirst), ["approve", "refuse"]);
  await using revisedFirst = await fixRig();
  await toPlan(revisedFirst);
  await revisedFirst.fact(revise);
  await revisedFirst.fact(said(BARE));
  assert.equal((await handleAll(revisedFirst)).kind, "new_run");
  assert.equal(revisedFirst.context.run().state, "awaiting_approval", "nothing is approved meanwhile");
  const seq = openFacts(revisedFirst.context)[0]?.seq ?? 0;
  const superseded = { type: "cancelled", by: "tom", why: "superseded" } as const;
  await revisedFirst.append({ type: "fact_handled", seq, decision: "new_run" }, superseded);
  await handleAll(revisedFirst);
  assert.deepEqual(decisions(revisedFirst), ["new_run", "refuse"]);
});
