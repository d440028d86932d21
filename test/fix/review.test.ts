/** Decisions on words that were said on the pull request, and on reviews: what follows, where it is answered, and how often. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { handleFact, openFacts } from "#src/fix/facts.ts";
import { sendReplies } from "#src/fix/replies.ts";
import { answerThreads, reviewInstruction } from "#src/fix/review.ts";
import { instructionsSoFar } from "#src/fix/rounds.ts";
import type { CommandFact, RunEvent, RunRequest } from "#src/run/run.ts";
import { samplePlan, sampleRequest } from "#test/run/sample.ts";
import { type FixRig, fixRig } from "./rig.ts";

const PLAN = samplePlan();
const PULL = { number: 40, branch: "agent-fix/issue-12-first" };

const fact = (change: Partial<CommandFact>): RunEvent => ({
  type: "command_received",
  fact: {
    command: { verb: "revise", text: "Please:" },
    by: "maya",
    commentId: 7,
    issue: null,
    pullRequest: PULL.number,
    ...change,
  },
});

async function publishedRig(request?: RunRequest): Promise<FixRig> {
  const rig = await fixRig(request);
  for (const phase of ["preparing", "solving", "verifying"] as const)
    await rig.append({ type: "phase_entered", phase });
  await rig.append({ type: "proposed", ...PLAN });
  const approved = { by: "maya", digest: PLAN.digest, commentId: 1_001, unverified: false };
  await rig.append({ type: "approved", ...approved }, { type: "publish_started" });
  const commitSha = "4".repeat(40);
  await rig.append({ type: "published", pullRequest: 40, url: "https://x", branch: PULL.branch, commitSha });
  return rig;
}

async function handle(rig: FixRig, event: RunEvent) {
  await rig.fact(event);
  const [open] = openFacts(rig.context);
  assert.ok(open !== undefined);
  return handleFact(rig.context, open);
}

test("a review's words become an instruction with the place of each comment", () => {
  const said = { ...(fact({ review: true }) as Extract<RunEvent, { type: "command_received" }>).fact };
  const comment = { id: 1, login: "maya", ours: false, review: 7, replyTo: null };
  const text = reviewInstruction(said, [
    { ...comment, path: "src/a b.ts", line: 12, body: "name it\n" },
    { ...comment, path: "b.ts", line: null, body: "gone?" },
  ]);
  assert.equal(
    text,
    'maya has reviewed the pull request and asks for changes.\n\nPlease:\n\nOn "src/a b.ts", line 12:\nname it\n\nOn "b.ts":\ngone?',
  );
  assert.ok(
    reviewInstruction(said, Array(40).fill({ ...comment, path: "x", line: 1, body: "y".repeat(9_000) }))
      .length < 21_000,
  );
});

test("a review makes a revision of that pull request, which remembers the lines to answer; a stranger's is passed over in silence", async () => {
  await using rig = await publishedRig();
  rig.talk.reviewComments = [
    { id: 71, login: "maya", ours: false, path: "a.ts", line: 3, body: "shorter", review: 7, replyTo: null },
  ];
  const [line] = rig.talk.reviewComments;
  assert.ok(line !== undefined);
  // A review may answer in an older thread, and twice in one.
  rig.talk.reviewComments = [line, { ...line, id: 72, replyTo: 50 }, { ...line, id: 73, replyTo: 50 }];
  const consequence = await handle(rig, fact({ review: true }));
  assert.ok(consequence.kind === "new_run");
  const { request } = consequence;
  assert.deepEqual(request.pullRequest, PULL);
  assert.deepEqual(request.review, { id: 7, comments: [71, 50] });
  assert.match(request.parent?.instruction ?? "", /Please:\n\nOn "a\.ts", line 3:\nshorter/);
  for (const permission of ["triage", "read", "none"] as const) {
    await using other = await publishedRig();
    other.talk.permission = permission;
    assert.deepEqual(await handle(other, fact({ review: true })), { kind: "none" });
    await sendReplies(other.context);
    assert.deepEqual(
      other.talk.calls.filter((call) => call.startsWith("answer")),
      ["answer 7 null null"],
    );
  }
});

test("a review while the revision works is told to the agent with its comments", async () => {
  await using rig = await fixRig({ ...sampleRequest(), pullRequest: PULL });
  rig.talk.reviewComments = [
    { id: 71, login: "maya", ours: false, path: "a.ts", line: 3, body: "shorter", review: 7, replyTo: null },
  ];
  await handle(rig, fact({ review: true }));
  assert.match(instructionsSoFar(rig.context)[0] ?? "", /asks for changes\.[\s\S]*line 3:\nshorter/);
});

test("closing on command is done before it is recorded, and waits while GitHub gives no answer", async () => {
  await using rig = await publishedRig();
  rig.talk.failure = { code: "server_error", status: 500, message: "no", retryAfterMs: null };
  const cancel = fact({ command: { verb: "cancel" } });
  await handle(rig, cancel);
  assert.equal(openFacts(rig.context).length, 1, "undecided");
  rig.talk.failure = null;
  const [open] = openFacts(rig.context);
  assert.ok(open !== undefined);
  await handleFact(rig.context, open);
  assert.deepEqual(openFacts(rig.context), []);
  assert.deepEqual(
    rig.talk.calls.filter((call) => call.startsWith("close")),
    ["close 40", "close 40"],
  );
});

test("the end of the pull request ends its revision; a revision tried again keeps what it was asked for", async () => {
  await using rig = await fixRig({ ...sampleRequest(), pullRequest: PULL });
  const ended = await handle(rig, { type: "pull_request_closed", merged: false, by: "maya" });
  assert.ok(ended.kind === "cancel" && ended.event.why === "pull_request_closed");
  const parent = { runId: "first", instruction: "shorter" };
  const review = { id: 7, comments: [71] };
  await using waiting = await fixRig({ ...sampleRequest(), pullRequest: PULL, parent, review });
  for (const phase of ["preparing", "solving", "verifying"] as const)
    await waiting.append({ type: "phase_entered", phase });
  await waiting.append({ type: "proposed", ...PLAN });
  const again = await handle(waiting, fact({ command: { verb: "retry", budgetUsd: null } }));
  assert.ok(again.kind === "new_run");
  const { pullRequest, review: kept } = again.request;
  assert.deepEqual([pullRequest, kept, again.request.parent?.instruction], [PULL, review, "shorter"]);
});

test("after a push each line of the review is answered; what GitHub refuses for good is not tried again", async () => {
  const request = { ...sampleRequest(), pullRequest: PULL, review: { id: 7, comments: [71, 72] } };
  await using rig = await publishedRig(request);
  assert.equal(await answerThreads(rig.context), true);
  assert.deepEqual(
    rig.talk.calls.filter((call) => call.startsWith("thread")),
    ["thread 71", "thread 72"],
  );
  rig.talk.failure = { code: "server_error", status: 500, message: "no", retryAfterMs: null };
  assert.equal(await answerThreads(rig.context), false);
  rig.talk.failure = { code: "not_found", status: 404, message: "no", retryAfterMs: null };
  assert.equal(await answerThreads(rig.context), true);
});
