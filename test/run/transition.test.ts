/** The state machine over every pair of state and event, as a table; and the contradictions, each with its case. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PendingPlan, Run, RunEvent } from "#src/run/run.ts";
import { type Contradiction, reduce, transition } from "#src/run/transition.ts";
import {
  NEW_BASE_SHA,
  runIn,
  STATES,
  type State,
  samplePendingIntent,
  samplePlan,
  sampleRequest,
  sampleVerdict,
} from "./sample.ts";

const PLAN = samplePlan();
const INTENT = samplePendingIntent();

function proposed(plan: PendingPlan = PLAN): RunEvent {
  return { type: "proposed", ...plan };
}

function approved(change: Partial<Extract<RunEvent, { type: "approved" }>> = {}): RunEvent {
  return {
    type: "approved",
    by: "maya",
    digest: PLAN.digest,
    commentId: 1_001,
    unverified: false,
    ...change,
  };
}

const PUBLISHED: RunEvent = {
  type: "published",
  pullRequest: 40,
  url: "https://github.example/acme/widget/pull/40",
  branch: "agent-fix/issue-12-x",
  commitSha: "4".repeat(40),
};

/** One event of each kind; `phase_entered` stands once for each phase. */
const EVENTS = {
  requested: { type: "requested", request: sampleRequest() },
  command_received: {
    type: "command_received",
    fact: { command: { verb: "cancel" }, by: "maya", commentId: 5, issue: { title: "", body: "" } },
  },
  label_removed: { type: "label_removed", by: "maya", issueUpdatedAt: 1 },
  issue_closed: { type: "issue_closed", by: "maya" },
  pull_request_closed: { type: "pull_request_closed", merged: true, by: "maya" },
  pull_request_reopened: { type: "pull_request_reopened", by: "maya" },
  checks_concluded: {
    ...{ type: "checks_concluded", headSha: "4".repeat(40) },
    ...{ name: "CI", conclusion: "failure" },
  },
  fact_handled: { type: "fact_handled", seq: 2, decision: "refuse" },
  step: {
    type: "step",
    record: { kind: "started", step: "prepare", inputHash: "0", attempt: 1 },
  },
  effect_intended: { type: "effect_intended", effect: "branch" },
  effect_done: { type: "effect_done", effect: "branch", result: { id: "1", url: null } },
  preparing: { type: "phase_entered", phase: "preparing" },
  solving: { type: "phase_entered", phase: "solving" },
  verifying: { type: "phase_entered", phase: "verifying" },
  intended: { type: "intended", ...INTENT },
  intent_approved: { type: "intent_approved", by: "maya", digest: INTENT.digest, commentId: 901 },
  sent_back: { type: "sent_back", round: 2, feedback: "mend this" },
  proposed: proposed(),
  approved: approved(),
  recheck_started: { type: "recheck_started", newBaseSha: NEW_BASE_SHA },
  publish_started: { type: "publish_started" },
  published: PUBLISHED,
  failed: { type: "failed", code: "budget", message: "the budget ran out" },
  cancelled: { type: "cancelled", by: "maya", why: "command" },
  expired: { type: "expired" },
  outcome: { type: "outcome", outcome: "merged" },
} as const satisfies Record<string, RunEvent>;

type EventName = keyof typeof EVENTS;

/** `=`: stays as it is. A state: moves there. `!name`: contradicts. */
type Cell = "=" | State | `!${Contradiction}`;

const FACTS: readonly EventName[] = [
  "command_received",
  "label_removed",
  "issue_closed",
  "pull_request_closed",
  "pull_request_reopened",
  "checks_concluded",
  "fact_handled",
  "step",
  "effect_intended",
  "effect_done",
];

const OUT_OF_ORDER = "!phase_out_of_order";

/** What each state makes of the events that are no facts; the columns stand in this order. */
const COLUMNS = [
  "preparing",
  "solving",
  "verifying",
  "intended",
  "intent_approved",
  "sent_back",
  "proposed",
  "approved",
  "recheck_started",
  "publish_started",
  "published",
  "cancelled",
  "expired",
] as const satisfies readonly EventName[];

const WORK_TAIL = [
  "!approved_without_plan",
  "!recheck_without_approval",
  "!publish_without_approval",
  "!published_without_publishing",
  "cancelled",
  "!expired_without_plan",
] as const;

const NO_INTENT = ["!intended_outside_preparation", "!intent_approved_without_intent"] as const;
const WORK = ["preparing", "solving", "verifying"] as const;
const BEFORE_VERIFYING = ["!sent_back_outside_verification", "!proposed_without_verification"] as const;
const NO_WORK = [OUT_OF_ORDER, OUT_OF_ORDER, OUT_OF_ORDER] as const;
const NO_PHASE = [...NO_WORK, ...NO_INTENT, ...BEFORE_VERIFYING] as const;
const ENDED: readonly Cell[] = COLUMNS.map(() => "!event_after_end");

const TABLE: Record<State, readonly Cell[]> = {
  queued: ["preparing", OUT_OF_ORDER, OUT_OF_ORDER, ...NO_INTENT, ...BEFORE_VERIFYING, ...WORK_TAIL],
  preparing: [
    ...WORK,
    "awaiting_intent",
    "!intent_approved_without_intent",
    ...BEFORE_VERIFYING,
    ...WORK_TAIL,
  ],
  awaiting_intent: [
    ...NO_WORK,
    "!intended_outside_preparation",
    "preparing",
    ...BEFORE_VERIFYING,
    ...WORK_TAIL.slice(0, -1),
    "expired",
  ],
  solving: [...WORK, ...NO_INTENT, ...BEFORE_VERIFYING, ...WORK_TAIL],
  verifying: [...WORK, ...NO_INTENT, "solving", "awaiting_approval", ...WORK_TAIL],
  awaiting_approval: [
    ...NO_PHASE,
    "approved",
    "!recheck_without_approval",
    "!publish_without_approval",
    "!published_without_publishing",
    "cancelled",
    "expired",
  ],
  approved: [
    ...NO_PHASE,
    "!approved_without_plan",
    "rechecking",
    "publishing",
    "!published_without_publishing",
    "cancelled",
    "!expired_without_plan",
  ],
  rechecking: [
    ...NO_PHASE,
    "!approved_without_plan",
    "rechecking",
    "publishing",
    "!published_without_publishing",
    "cancelled",
    "!expired_without_plan",
  ],
  publishing: [
    ...NO_PHASE,
    "!approved_without_plan",
    "!recheck_without_approval",
    "publishing",
    "published",
    "!cancelled_while_publishing",
    "!expired_without_plan",
  ],
  published: ENDED,
  cancelled: ENDED,
  expired: ENDED,
  failed: ENDED,
};

const ENDS: readonly State[] = ["published", "cancelled", "expired", "failed"];

function expected(state: State, name: EventName): Cell {
  if (name === "requested") return "!requested_twice";
  if (FACTS.includes(name)) return "=";
  if (name === "outcome") return state === "published" ? "published" : "!outcome_before_publication";
  if (name === "failed") return ENDS.includes(state) ? "!event_after_end" : "failed";
  const cell = TABLE[state][(COLUMNS as readonly EventName[]).indexOf(name)];
  assert.ok(cell !== undefined, `${name} has no column`);
  return cell;
}

for (const state of STATES) {
  test(`every event that can meet a run that is ${state} does what the table says`, () => {
    for (const [name, event] of Object.entries(EVENTS)) {
      const run = runIn(state, PLAN);
      const before = structuredClone(run);
      const next = transition(run, event);
      const cell = expected(state, name as EventName);
      const told = next.ok ? (next.value === run ? "=" : next.value.state) : `!${next.error}`;
      assert.equal(told, cell, `${name} in ${state}`);
      assert.deepEqual(run, before, `${name} in ${state} changed the run it was given`);
      if (next.ok) assert.deepEqual(next.value.request, run.request);
    }
  });
}

function next(run: Run, event: RunEvent): Run {
  const result = transition(run, event);
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

function contradiction(run: Run, event: RunEvent): Contradiction {
  const result = transition(run, event);
  assert.ok(!result.ok, "the event should have contradicted the state");
  return result.error;
}

test("a refuted verdict never becomes a plan", () => {
  const plan = samplePlan({ verdict: sampleVerdict("refuted") });
  assert.equal(contradiction(runIn("verifying"), proposed(plan)), "proposed_refuted");
});

test("an approval of another digest is a contradiction, also of a prefix and of the short form", () => {
  const waiting = runIn("awaiting_approval", PLAN);
  for (const digest of ["f".repeat(64), PLAN.digest.slice(0, 12), PLAN.digest.toUpperCase(), ""])
    assert.equal(contradiction(waiting, approved({ digest })), "approved_other_digest");
});

test("an approval of another intent is a contradiction; the approved one leads back to the preparation, and no plan follows without work", () => {
  const waiting = runIn("awaiting_intent");
  for (const digest of ["f".repeat(64), INTENT.digest.slice(0, 12), PLAN.digest, ""])
    assert.equal(
      contradiction(waiting, { ...EVENTS.intent_approved, digest }),
      "intent_approved_other_digest",
    );
  const begun = next(waiting, EVENTS.intent_approved);
  assert.deepEqual(begun, { state: "preparing", request: sampleRequest() });
  assert.equal(contradiction(begun, proposed()), "proposed_without_verification");
  assert.equal(contradiction(waiting, approved()), "approved_without_plan");
});

test("an unproven plan is approved only by somebody who said unverified", () => {
  const plan = samplePlan({ kind: "unproven" });
  const waiting = runIn("awaiting_approval", plan);
  assert.equal(
    contradiction(waiting, approved({ digest: plan.digest })),
    "approved_unproven_without_saying_so",
  );
  assert.equal(next(waiting, approved({ digest: plan.digest, unverified: true })).state, "approved");
  const passing = samplePlan({ kind: "passing" });
  assert.equal(
    next(runIn("awaiting_approval", passing), approved({ digest: passing.digest })).state,
    "approved",
  );
});

test("the round goes up by being sent back, survives the phases, and starts again with a new preparation", () => {
  const back = next({ state: "verifying", request: sampleRequest(), round: 0 }, EVENTS.sent_back);
  assert.deepEqual(back, { state: "solving", request: sampleRequest(), round: 2 });
  const checked = next(back, EVENTS.verifying);
  assert.ok(checked.state === "verifying" && checked.round === 2);
  const again = next(next(checked, EVENTS.preparing), EVENTS.solving);
  assert.ok(again.state === "solving" && again.round === 0);
});

test("the plan, the approval and the newest base are carried until the pull request stands", () => {
  const waiting = next(runIn("verifying"), proposed());
  assert.ok(waiting.state === "awaiting_approval");
  assert.deepEqual(waiting.plan, PLAN);
  const yes = next(waiting, approved());
  const checking = next(yes, EVENTS.recheck_started);
  const moved = next(checking, { type: "recheck_started", newBaseSha: "9".repeat(40) });
  assert.ok(moved.state === "rechecking" && moved.newBaseSha === "9".repeat(40));
  const publishing = next(moved, EVENTS.publish_started);
  assert.deepEqual(publishing, {
    state: "publishing",
    request: sampleRequest(),
    plan: PLAN,
    approval: { by: "maya", digest: PLAN.digest, commentId: 1_001, unverified: false },
  });
  const done = next(publishing, PUBLISHED);
  assert.ok(done.state === "published" && done.outcome === "open");
  const closed = next(done, { type: "outcome", outcome: "closed" });
  assert.ok(closed.state === "published" && closed.outcome === "closed");
  const merged = next(closed, EVENTS.outcome);
  assert.ok(merged.state === "published" && merged.outcome === "merged");
});

test("a log starts with its request and nothing else", () => {
  assert.deepEqual(reduce([]), { ok: false, error: "empty_log" });
  for (const [name, event] of Object.entries(EVENTS)) {
    const result = reduce([event]);
    if (name === "requested") assert.ok(result.ok && result.value.state === "queued");
    else assert.deepEqual(result, { ok: false, error: "not_requested" }, name);
  }
});

test("every contradiction has a case in these tests", () => {
  const named = new Set<string>();
  for (const state of STATES)
    for (const name of Object.keys(EVENTS)) {
      const cell = expected(state, name as EventName);
      if (cell.startsWith("!")) named.add(cell.slice(1));
    }
  const elsewhere = [
    "not_requested",
    "proposed_refuted",
    "intent_approved_other_digest",
    "approved_other_digest",
    "approved_unproven_without_saying_so",
  ];
  const all: Record<Contradiction, true> = {
    not_requested: true,
    requested_twice: true,
    phase_out_of_order: true,
    intended_outside_preparation: true,
    intent_approved_without_intent: true,
    intent_approved_other_digest: true,
    sent_back_outside_verification: true,
    proposed_without_verification: true,
    proposed_refuted: true,
    approved_without_plan: true,
    approved_other_digest: true,
    approved_unproven_without_saying_so: true,
    recheck_without_approval: true,
    publish_without_approval: true,
    published_without_publishing: true,
    cancelled_while_publishing: true,
    expired_without_plan: true,
    outcome_before_publication: true,
    event_after_end: true,
  };
  assert.deepEqual([...named, ...elsewhere].sort(), Object.keys(all).sort());
});
