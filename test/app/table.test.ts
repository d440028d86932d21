/** What happens to a run, in each of its states, from outside: signed webhooks in, and what the log and GitHub then show. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { branchName } from "#src/publish/publish.ts";
import type { RunEvent, RunRequest, WorkPhase } from "#src/run/run.ts";
import { reduce } from "#src/run/transition.ts";
import type { StoredRun } from "#src/store/store.ts";
import { sample } from "#test/support/tier.ts";
import { type DeskRig, deskRig } from "./desk-rig.ts";
import { REPO } from "./rig.ts";
import { type Cell, GROUPS, type Group, type Happening, TABLE, type Where } from "./table.ts";

let rig: DeskRig;

before(async () => {
  rig = await deskRig();
});

after(async () => {
  const violations = rig.violations();
  await rig[Symbol.asyncDispose]();
  assert.deepEqual(violations, []);
});

const PHASES: readonly WorkPhase[] = ["preparing", "solving", "verifying"];

const ENDINGS: Partial<Record<Where, RunEvent>> = {
  cancelled: { type: "cancelled", by: "maya", why: "command" },
  failed: { type: "failed", code: "no_changes", message: "Nothing was changed." },
};

const PUBLISHED: RunEvent = {
  ...{ type: "published", pullRequest: 40, url: "https://github.example/pull/40" },
  ...{ branch: "agent-fix/issue-1-x", commitSha: "c".repeat(40) },
};

async function newRun(): Promise<RunRequest> {
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents are wrong", body: "2.5 for 205" });
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  const run = await rig.store.latestRun(rig.repo.id, number);
  assert.ok(run !== null);
  return run.request;
}

/** A run of a new issue, put into that state. */
async function runIn(where: Where): Promise<RunRequest> {
  const request = await newRun();
  if (where !== "queued") await rig.put(request.runId, ...(await cameTo(request, where)));
  assert.equal((await rig.store.run(request.runId))?.state, where);
  return request;
}

/** What leads a queued run there; its plan or intent is posted. */
async function cameTo(request: RunRequest, where: Where): Promise<readonly RunEvent[]> {
  const ending = ENDINGS[where];
  if (ending !== undefined) return [ending];
  const phases = PHASES.map((phase): RunEvent => ({ type: "phase_entered", phase }));
  const worked = (PHASES as readonly Where[]).indexOf(where);
  if (worked >= 0) return phases.slice(0, worked + 1);
  if (where === "awaiting_intent") return [...phases.slice(0, 1), ...(await rig.offer(request, "intent"))];
  const offer = await rig.offer(request, "plan");
  return [...phases, ...offer, ...sinceThePlan(where, offer)];
}

function sinceThePlan(where: Where, offer: readonly RunEvent[]): readonly RunEvent[] {
  const proposed = offer.find((event) => event.type === "proposed");
  if (where === "awaiting_approval" || proposed?.type !== "proposed") return [];
  if (where === "expired") return [{ type: "expired" }];
  const { digest } = proposed;
  const approved: RunEvent = { type: "approved", by: "maya", digest, commentId: 1, unverified: false };
  const begun: readonly RunEvent[] = [approved, { type: "publish_started" }];
  return where === "published" ? [...begun, PUBLISHED] : begun;
}

/** Does it, and returns the comment's id. */
function happen(what: Happening, issue: number): number | null {
  const { hub } = rig;
  if ("say" in what) return hub.comment(REPO, issue, "maya", what.say);
  switch (what.deed) {
    case "unlabel":
      hub.unlabel(REPO, issue, "maya", LABEL);
      break;
    case "close":
      hub.closeIssue(REPO, issue, "maya");
      break;
    case "delete":
      hub.deleteIssue(REPO, issue, "acme");
      break;
    case "label again":
      // Off and on in the same moment: neither has arrived before both are done.
      hub.webhooks.hold();
      hub.unlabel(REPO, issue, "maya", LABEL);
      hub.label(REPO, issue, "maya", LABEL);
      hub.webhooks.release();
      break;
    case "reopen":
      // That it was closed is not heard, or was long ago.
      hub.webhooks.dropNext(1);
      hub.closeIssue(REPO, issue, "maya");
      hub.reopenIssue(REPO, issue, "maya");
  }
  return null;
}

function decisionsIn(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === "fact_handled" ? [event.decision] : []));
}

async function assertCell(where: Where, what: Happening, cell: Cell): Promise<void> {
  const request = await runIn(where);
  const { runId, issue } = request;
  const { length } = await rig.events(runId);
  const commentId = happen(what, issue.number);
  await rig.settled();
  const events = (await rig.events(runId)).slice(length);
  assert.deepEqual(decisionsIn(events), cell.decision === null ? [] : [cell.decision]);
  const now = await rig.store.run(runId);
  assert.equal(now?.state, cell.state ?? where);
  const why = events.flatMap((event) => (event.type === "cancelled" ? [event.why] : []));
  assert.deepEqual(why, cell.why === undefined ? [] : [cell.why]);
  assertFurtherRun(await rig.store.runsOf(rig.repo.id, issue.number), runId, cell.run);
  if ("deed" in what && what.deed === "delete") return;
  if (commentId !== null) assertAnswered(issue.number, commentId, { cell, where });
  const offers = [...rig.said(issue.number, { kind: "plan" }), ...rig.said(issue.number, { kind: "intent" })];
  const heads = offers.map(({ body }) => body.split("\n").slice(1).join("\n").trim());
  if (cell.told !== undefined) assert.match(heads[0] ?? "", cell.told);
  assert.ok(heads.length <= 1, "one plan");
  const statuses = rig.said(issue.number, { kind: "status" });
  assert.equal(statuses.length, cell.run === undefined ? 1 : 2, "one status comment a run");
}

function assertFurtherRun(runs: readonly StoredRun[], runId: string, further: Cell["run"]): void {
  const others = runs.filter((run) => run.runId !== runId);
  assert.equal(others.length, further === undefined ? 0 : 1);
  if (further === undefined) return;
  const request = others[0]?.request;
  assert.equal(request?.trigger, further.trigger);
  assert.equal(request.budgetUsd, further.budgetUsd ?? null);
  const parent = further.trigger === "label" ? null : { runId, instruction: further.instruction ?? "" };
  assert.deepEqual(request.parent, parent);
}

function assertAnswered(
  issue: number,
  commentId: number,
  { cell, where }: { cell: Cell; where: Where },
): void {
  const asked = rig.hub.comments(REPO, issue).find(({ id }) => id === commentId);
  assert.deepEqual(asked?.reactions, cell.reaction === undefined ? [] : [cell.reaction]);
  const answers = rig.said(issue, { to: commentId });
  const expected = typeof cell.answer === "function" ? cell.answer(where) : cell.answer;
  assert.equal(answers.length, expected === undefined ? 0 : 1, JSON.stringify(answers));
  if (expected !== undefined) assert.match(answers[0]?.body ?? "", expected);
}

const CELLS = TABLE.flatMap(({ what, cells }) =>
  Object.entries(GROUPS).flatMap(([group, states]) =>
    states.map((where) => ({ what, where, cell: cells[group as Group] })),
  ),
);

/** All of them in the full tier. */
const CELLS_TAKEN = 20;

describe("what happens on the issue", () => {
  for (const { what, where, cell } of sample(CELLS, CELLS_TAKEN))
    test(`${"say" in what ? JSON.stringify(what.say) : what.deed} while ${where}`, () =>
      assertCell(where, what, cell));
});

async function pullOf({ issue, runId }: RunRequest): Promise<Extract<RunEvent, { type: "published" }>> {
  const branch = branchName(issue.number, runId);
  await rig.hub.pushCommit(REPO, { by: "maya", branch, files: { x: runId } });
  const content = { title: "x", body: "", head: branch, base: "main", draft: false };
  const opened = await rig.github("write").createPullRequest(content);
  assert.ok(opened.ok);
  const { number: pullRequest, url } = opened.value;
  return { type: "published", pullRequest, url, branch, commitSha: "c".repeat(40) };
}

async function outcomeOf(runId: string): Promise<string> {
  const run = reduce(await rig.events(runId));
  return run.ok && run.value.state === "published" ? run.value.outcome : "none";
}

const MERGES: readonly (readonly [Where, string])[] = [
  ["solving", "nothing to the run at work; the run that opened it has its outcome"],
  ["awaiting_approval", "nothing to the plan that waits; the run that opened it has its outcome"],
  ["publishing", "recorded as soon as the opening is on record"],
  ["failed", "nothing"],
];

describe("our own merge", () => {
  for (const [where, what] of sample(MERGES, 2))
    test(`while ${where}: ${what}`, async () => {
      const { hub, store } = rig;
      const earlier = await newRun();
      const { number } = earlier.issue;
      const published = await pullOf(earlier);
      if (where === "publishing" || where === "failed") {
        await rig.put(earlier.runId, ...(await cameTo(earlier, where)));
        await hub.mergePullRequest(REPO, published.pullRequest, "maya");
        await rig.settled();
        const merged = decisionsIn(await rig.events(earlier.runId));
        assert.deepEqual(merged, where === "failed" ? ["ignored"] : []);
        if (where === "failed") return;
        await rig.put(earlier.runId, published);
        assert.equal(await outcomeOf(earlier.runId), "merged");
        return;
      }
      await rig.put(earlier.runId, ...(await cameTo(earlier, "publishing")), published);
      happen({ deed: "label again" }, number);
      await rig.settled();
      const later = await store.latestRun(rig.repo.id, number);
      assert.ok(later !== null && later.runId !== earlier.runId);
      await rig.put(later.runId, ...(await cameTo(later.request, where)));
      await hub.mergePullRequest(REPO, published.pullRequest, "maya");
      await rig.settled();
      assert.equal(await outcomeOf(earlier.runId), "merged");
      const status = rig.said(number, { kind: "status" })[0]?.body ?? "";
      assert.match(status, new RegExp(`done: pull request #${published.pullRequest} \\(merged\\)`));
      assert.equal((await store.run(later.runId))?.state, where);
      assert.deepEqual(decisionsIn(await rig.events(later.runId)), []);
    });

  test("closed, opened again and merged after the end: each is recorded", async () => {
    const request = await newRun();
    const published = await pullOf(request);
    await rig.put(request.runId, ...(await cameTo(request, "publishing")), published);
    const seen: string[] = [];
    for (const deed of ["closeIssue", "reopenIssue", "mergePullRequest"] as const) {
      await rig.hub[deed](REPO, published.pullRequest, "maya");
      await rig.settled();
      seen.push(await outcomeOf(request.runId));
    }
    assert.deepEqual(seen, ["closed", "open", "merged"]);
    assert.deepEqual(decisionsIn(await rig.events(request.runId)), ["outcome", "outcome", "outcome"]);
  });
});

describe("who is answered", () => {
  const PEOPLE = { nina: "none", ravi: "read", tina: "triage" } as const;
  const WORDS = ["/approve", "/revise other", "/retry", "/cancel", "/aprove", "/cancel now"];

  for (const where of sample<Where>(
    ["solving", "awaiting_intent", "awaiting_approval", "publishing", "failed"],
    1,
  ))
    test(`F06: without write access nothing moves while ${where}; only triage rights get a refusal in words, and a comment gets one answer however often it arrives`, async () => {
      const { hub } = rig;
      const request = await runIn(where);
      const { number } = request.issue;
      const said: { readonly id: number; readonly answers: number }[] = [];
      for (const [login, permission] of Object.entries(PEOPLE)) {
        if (permission !== "none") hub.setPermission(REPO, login, permission);
        for (const words of WORDS)
          said.push({
            id: hub.comment(REPO, number, login, words),
            answers: permission === "triage" ? 1 : 0,
          });
        for (const words of ["/status", "/help"])
          said.push({ id: hub.comment(REPO, number, login, words), answers: 1 });
      }
      await rig.settled();
      const ids = new Set(said.map(({ id }) => id));
      for (const { id, event, body } of [...hub.webhooks.deliveries()]) {
        const payload = JSON.parse(body);
        if (event !== "issue_comment" || !ids.has(payload.comment.id)) continue;
        hub.webhooks.redeliver(id);
        // Neither its id nor its bytes are known.
        await rig.post(JSON.stringify({ ...payload, again: true }), { "x-github-event": "issue_comment" });
      }
      for (const { id } of said) hub.editComment(REPO, id, "maya", "/approve");
      await rig.settled();
      for (const { id, answers } of said) assert.equal(rig.said(number, { to: id }).length, answers);
      assert.equal((await rig.store.run(request.runId))?.state, where);
      assert.equal((await rig.store.runsOf(rig.repo.id, number)).length, 1);
      const decided = decisionsIn(await rig.events(request.runId));
      assert.equal(decided.length, said.length);
      assert.deepEqual([...new Set(decided)].toSorted(), ["answer", "refuse"]);
    });
});
