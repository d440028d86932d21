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
import {
  type Cell,
  GROUPS,
  type Group,
  type Happening,
  ON_PULL,
  PULL_TABLE,
  type PullRow,
  TABLE,
  type Where,
} from "./table.ts";

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
async function cameTo(request: RunRequest, where: Where, baseSha?: string): Promise<readonly RunEvent[]> {
  const ending = ENDINGS[where];
  if (ending !== undefined) return [ending];
  const phases = PHASES.map((phase): RunEvent => ({ type: "phase_entered", phase }));
  const worked = (PHASES as readonly Where[]).indexOf(where);
  if (worked >= 0) return phases.slice(0, worked + 1);
  if (where === "awaiting_intent") return [...phases.slice(0, 1), ...(await rig.offer(request, "intent"))];
  const offer = await rig.offer(request, "plan", baseSha);
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

/** The run that is looked at, and where what happens is said. */
interface Subject {
  readonly runId: string;
  readonly issue: number;
  readonly place: number;
  readonly where: Where;
}

async function assertCell(where: Where, what: Happening, cell: Cell): Promise<void> {
  const { runId, issue } = await runIn(where);
  const { number } = issue;
  await assertComesOf({ runId, issue: number, place: number, where }, cell, async () => happen(what, number));
  if ("deed" in what && what.deed === "delete") return;
  const statuses = rig.said(number, { kind: "status" });
  assert.equal(statuses.length, cell.run === undefined ? 1 : 2, "one status comment a run");
  const { length } = [...rig.said(number, { kind: "plan" }), ...rig.said(number, { kind: "intent" })];
  assert.ok(length <= 1, "one plan");
}

async function assertComesOf(subject: Subject, cell: Cell, act: () => Promise<number | null>): Promise<void> {
  const { runId, issue, place, where } = subject;
  const { length } = await rig.events(runId);
  const before = (await rig.store.runsOf(rig.repo.id, issue)).map((run) => run.runId);
  const commentId = await act();
  await rig.settled();
  const events = (await rig.events(runId)).slice(length);
  // Closing a pull request on command is itself an event that is heard.
  const decisions = decisionsIn(events).filter((one, at) => at === 0 || one !== "outcome");
  assert.deepEqual(decisions, cell.decision === null ? [] : [cell.decision]);
  const now = await rig.store.run(runId);
  assert.equal(now?.state, cell.state ?? where);
  const why = events.flatMap((event) => (event.type === "cancelled" ? [event.why] : []));
  assert.deepEqual(why, cell.why === undefined ? [] : [cell.why]);
  const runs = await rig.store.runsOf(rig.repo.id, issue);
  assertFurtherRun(
    runs.filter((run) => !before.includes(run.runId)),
    runId,
    cell.run,
  );
  if (commentId !== null) assertAnswered(place, commentId, { cell, where });
  if (cell.told === undefined) return;
  const [offer] = [...rig.said(place, { kind: "plan" }), ...rig.said(place, { kind: "intent" })];
  assert.match(offer?.body.split("\n").slice(1).join("\n").trim() ?? "", cell.told);
}

function assertFurtherRun(others: readonly StoredRun[], runId: string, further: Cell["run"]): void {
  assert.equal(others.length, further === undefined ? 0 : 1);
  if (further === undefined) return;
  const request = others[0]?.request;
  assert.equal(request?.trigger, further.trigger);
  assert.equal(request.budgetUsd, further.budgetUsd ?? null);
  const { instruction = "", goesOn } = further;
  const parent = { runId, instruction, ...(goesOn === undefined ? {} : { goesOn }) };
  assert.deepEqual(request.parent, further.trigger === "label" ? null : parent);
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
const CELLS_TAKEN = 10;

describe("what happens on the issue", () => {
  for (const { what, where, cell } of sample(CELLS, CELLS_TAKEN))
    test(`${"say" in what ? JSON.stringify(what.say) : what.deed} while ${where}`, () =>
      assertCell(where, what, cell));
});

type Published = Extract<RunEvent, { type: "published" }>;

async function pullOf({ issue, runId }: RunRequest): Promise<Published> {
  const branch = branchName(issue.number, runId);
  const commitSha = await rig.hub.pushCommit(REPO, { by: "maya", branch, files: { x: runId } });
  const content = { title: "x", body: "", head: branch, base: "main", draft: false };
  const opened = await rig.github("write").createPullRequest(content);
  assert.ok(opened.ok);
  const { number: pullRequest, url } = opened.value;
  return { type: "published", pullRequest, url, branch, commitSha };
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
  for (const [where, what] of sample(MERGES, 1))
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

const PULL_CELLS = PULL_TABLE.flatMap(({ what, cells }) =>
  ON_PULL.map((where) => ({ what, where, cell: cells[where] })),
);

/** A revision of its pull request in that state; the run that its words are for. */
async function revisionIn(first: RunRequest, where: Where, opened: Published): Promise<RunRequest> {
  const { pullRequest: number, branch, commitSha } = opened;
  await rig.put(first.runId, ...(await cameTo(first, "publishing")), opened);
  if (where === "published") return first;
  const request: RunRequest = {
    ...{ ...first, trigger: "revise", pullRequest: { number, branch } },
    runId: `r${first.runId.slice(1)}`,
    parent: { runId: first.runId, instruction: "shorter" },
  };
  assert.ok((await rig.store.createRun(request)).ok);
  await rig.put(request.runId, ...(await cameTo(request, where, commitSha)));
  assert.equal((await rig.store.run(request.runId))?.state, where);
  return where === "failed" ? first : request;
}

async function happenOn(what: PullRow["what"], place: number): Promise<number | null> {
  const { hub } = rig;
  if ("say" in what) return hub.comment(REPO, place, "maya", what.say);
  if (what.deed === "merge") await hub.mergePullRequest(REPO, place, "maya");
  else hub.closeIssue(REPO, place, "maya");
  return null;
}

describe("what happens on the pull request", () => {
  for (const { what, where, cell } of sample(PULL_CELLS, 2))
    test(`${"say" in what ? JSON.stringify(what.say) : what.deed} while a revision is ${where}`, async () => {
      const first = await newRun();
      const opened = await pullOf(first);
      const { runId, issue } = await revisionIn(first, where, opened);
      const of = runId === first.runId ? "published" : where;
      const subject: Subject = { runId, issue: issue.number, place: opened.pullRequest, where: of };
      await assertComesOf(subject, cell, () => happenOn(what, opened.pullRequest));
      const ended = "deed" in what ? (what.deed === "merge" ? "merged" : "closed") : "open";
      const byCommand = cell.decision === "close_pull_request";
      assert.equal(await outcomeOf(first.runId), byCommand ? "closed" : ended);
      const branch = (await rig.hub.git(REPO).refs()).has(`refs/heads/${opened.branch}`);
      assert.equal(branch, !byCommand, "the branch goes with a pull request that is closed on command");
      const further = await rig.store.latestRun(rig.repo.id, issue.number);
      const pull = { number: opened.pullRequest, branch: opened.branch };
      if (cell.run !== undefined) assert.deepEqual(further?.request.pullRequest, pull);
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
