/** The gate over every command, state and permission, against the table of the design; and what makes an approval stale. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type CommandFacts, type Decision, decideCommand, howItEnded } from "#src/gate/decide.ts";
import { isExplained, type KnownPermission, mayDecide, type WhoFacts } from "#src/gate/who.ts";
import { shortDigest } from "#src/run/proposal.ts";
import type { Command, Run } from "#src/run/run.ts";
import { runIn, STATES, type State, samplePlan, sampleRequest } from "#test/run/sample.ts";

const PLAN = samplePlan();
const DIGEST = PLAN.digest;
const SHORT = shortDigest(DIGEST);

const COMMANDS = {
  approve: { verb: "approve", digest: null, unverified: false },
  "approve digest": { verb: "approve", digest: SHORT, unverified: false },
  "approve wrong": { verb: "approve", digest: "000000000000", unverified: false },
  revise: { verb: "revise", text: "use padStart" },
  retry: { verb: "retry", budgetUsd: null },
  "retry budget": { verb: "retry", budgetUsd: 5 },
  cancel: { verb: "cancel" },
  status: { verb: "status" },
  help: { verb: "help" },
  unclear: { verb: "unclear", hint: "I read `/approve` only in this form." },
} as const satisfies Record<string, Command>;
type CommandName = keyof typeof COMMANDS;

const PERMISSIONS: readonly KnownPermission[] = [
  "admin",
  "maintain",
  "write",
  "triage",
  "read",
  "none",
  "unknown",
];

/** `by`, `permission` and `approvers` are members of `who`, spelled shortly. */
type Change = Partial<CommandFacts> & {
  readonly by?: string;
  readonly permission?: KnownPermission;
  readonly approvers?: readonly string[] | null;
};

function facts({ by, permission, approvers, ...change }: Change = {}): CommandFacts {
  const who: WhoFacts = {
    login: by ?? "maya",
    permission: permission ?? "write",
    approvers: { least: "write", listed: approvers ?? null },
    teams: [],
  };
  return {
    command: COMMANDS.approve,
    who,
    commentId: PLAN.planCommentId + 1,
    pullRequest: null,
    run: runIn("awaiting_approval", PLAN),
    hasEarlierPlan: false,
    offer: "as_posted",
    approvedIntent: null,
    isProposing: false,
    checksFailed: false,
    saidAt: 10 * 60_000,
    ceilingUsd: 10,
    ...change,
  };
}

/** `act`, or `refuse: ` and words that the sentence must hold. */
type Cell = string;

const NO_PLAN = "refuse: no plan yet";
const AT_WORK = "refuse: Say `/cancel` first";
const BEING_PUBLISHED = "refuse: being published";
const CLOSE_IT = "refuse: close the pull request instead";

/** DESIGN section 3, and what follows from it for each state. */
const TABLE: Record<State, Partial<Record<CommandName, Cell>>> = {
  queued: working("instruct"),
  preparing: working("instruct"),
  awaiting_intent: {
    approve: "approve_intent",
    "approve digest": "refuse: not the newest intent's",
    "approve wrong": "refuse: answer `/approve ",
    revise: "new_run",
    retry: "new_run",
    "retry budget": "new_run",
    cancel: "cancel",
  },
  solving: working("instruct"),
  verifying: working("instruct"),
  awaiting_approval: {
    approve: "approve",
    "approve digest": "approve",
    "approve wrong": `refuse: answer \`/approve ${SHORT}\``,
    revise: "new_run",
    retry: "new_run",
    "retry budget": "new_run",
    cancel: "cancel",
  },
  approved: publishing(CLOSE_IT, BEING_PUBLISHED),
  rechecking: publishing("cancel", AT_WORK),
  publishing: publishing(CLOSE_IT, BEING_PUBLISHED),
  published: ended("pull request #40"),
  cancelled: ended("cancelled by maya"),
  expired: ended("expired after 14 days"),
  failed: ended("no changes"),
};

function working(revise: Cell): Partial<Record<CommandName, Cell>> {
  return {
    approve: NO_PLAN,
    "approve digest": NO_PLAN,
    "approve wrong": NO_PLAN,
    revise,
    retry: AT_WORK,
    "retry budget": AT_WORK,
    cancel: "cancel",
  };
}

function publishing(cancel: Cell, retry: Cell): Partial<Record<CommandName, Cell>> {
  return {
    approve: "acknowledge",
    "approve digest": "acknowledge",
    "approve wrong": "acknowledge",
    revise: BEING_PUBLISHED,
    retry,
    "retry budget": retry,
    cancel,
  };
}

function ended(how: string): Partial<Record<CommandName, Cell>> {
  return {
    approve: `refuse: nothing to approve|${how}`,
    "approve digest": `refuse: nothing to approve|${how}`,
    "approve wrong": `refuse: nothing to approve|${how}`,
    revise: "new_run",
    retry: "new_run",
    "retry budget": "new_run",
    cancel: `refuse: nothing to cancel|${how}`,
  };
}

function expected(state: State, name: CommandName, permission: KnownPermission): Cell {
  if (name === "status" || name === "help") return "answer";
  if (name === "unclear") return "refuse: only in this form";
  if (permission === "unknown") return "refuse: could not check what maya may do|Please try again";
  if (!["admin", "maintain", "write"].includes(permission))
    return `refuse: write access|maya has ${permission === "none" ? "no" : permission} access`;
  return TABLE[state][name] ?? "missing";
}

function assertDecision(decision: Decision, cell: Cell, what: string): void {
  const words = cell.startsWith("refuse: ") ? cell.slice("refuse: ".length).split("|") : null;
  assert.equal(decision.act, words === null ? cell : "refuse", `${what}: ${JSON.stringify(decision)}`);
  if (decision.act !== "refuse" || words === null) return;
  assert.match(decision.because, /\.$/, what);
  for (const part of words) assert.ok(decision.because.includes(part), `${what}: ${decision.because}`);
}

for (const state of STATES)
  test(`every command by everybody on a run that is ${state} is decided as the table says`, () => {
    for (const permission of PERMISSIONS)
      for (const name of Object.keys(COMMANDS) as CommandName[]) {
        const run = runIn(state, PLAN);
        const decision = decideCommand(facts({ command: COMMANDS[name], permission, run }));
        assertDecision(decision, expected(state, name, permission), `${name} by ${permission} in ${state}`);
      }
  });

test("F06: only write, maintain and admin decide; a failed look-up is a no, also silently", () => {
  assert.deepEqual(PERMISSIONS.filter(mayDecide), ["admin", "maintain", "write"]);
  assert.deepEqual(PERMISSIONS.filter(isExplained), ["admin", "maintain", "write", "triage"]);
});

function decide(change: Change): Decision {
  return decideCommand(facts(change));
}

function refusal(change: Change): string {
  const decision = decide(change);
  assert.ok(decision.act === "refuse", JSON.stringify(decision));
  return decision.because;
}

test("an approval carries the whole digest of the plan that stands, however it was named", () => {
  for (const digest of [null, SHORT, DIGEST.slice(0, 20), DIGEST])
    assert.deepEqual(decide({ command: { verb: "approve", digest, unverified: false } }), {
      act: "approve",
      digest: DIGEST,
      unverified: false,
    });
});

test("H03: an approval written before the newest plan is stale, even with the right digest", () => {
  for (const command of [COMMANDS.approve, COMMANDS["approve digest"]])
    for (const commentId of [1, PLAN.planCommentId - 1, PLAN.planCommentId])
      assert.match(refusal({ command, commentId }), new RegExp(`newest plan.*/approve ${SHORT}`));
});

test("H03: another digest is stale, and the answer gives the line to copy", () => {
  const wrong = [
    `${SHORT.slice(0, 11)}${SHORT[11] === "0" ? "1" : "0"}`,
    DIGEST.slice(1, 13),
    `${DIGEST.slice(0, 63)}g`,
  ];
  for (const digest of wrong)
    assert.match(
      refusal({ command: { verb: "approve", digest, unverified: false } }),
      new RegExp(`${digest}.*not the newest plan's.*/approve ${SHORT}`),
    );
});

test("a plan whose diff was not shown whole is approved by its digest only", () => {
  const run = runIn("awaiting_approval", samplePlan({ diffShown: false }));
  assert.match(refusal({ run }), /did not fit.*\/approve/);
  assert.equal(decide({ run, command: COMMANDS["approve digest"] }).act, "approve");
});

test("H03: a second plan is approved by a bare word only once it is a minute old", () => {
  const run = runIn("awaiting_approval", samplePlan({ planCommentAt: 1_000_000 }));
  const ask = (ms: number, hasEarlierPlan = true) => decide({ run, saidAt: 1_000_000 + ms, hasEarlierPlan });
  assert.equal(ask(0).act, "refuse");
  assert.equal(ask(59_999).act, "refuse");
  assert.equal(ask(60_000).act, "approve");
  assert.equal(ask(0, false).act, "approve");
  assert.equal(ask(-5_000).act, "refuse");
  const named = { run, saidAt: 1_000_001, hasEarlierPlan: true, command: COMMANDS["approve digest"] };
  assert.equal(decide(named).act, "approve");
});

test("an unproven plan needs the word unverified, and the refusal gives the line to copy", () => {
  const plan = samplePlan({ kind: "unproven" });
  const run = runIn("awaiting_approval", plan);
  const short = shortDigest(plan.digest);
  assert.match(refusal({ run }), new RegExp(`not proven.*/approve ${short} unverified`));
  assert.match(
    refusal({ run, command: { verb: "approve", digest: short, unverified: false } }),
    /not proven/,
  );
  for (const digest of [null, short])
    assert.deepEqual(decide({ run, command: { verb: "approve", digest, unverified: true } }), {
      act: "approve",
      digest: plan.digest,
      unverified: true,
    });
});

test("a passing plan is approved without the word; saying it does no harm", () => {
  const run = runIn("awaiting_approval", samplePlan({ kind: "passing" }));
  assert.equal(decide({ run }).act, "approve");
  assert.equal(decide({ run, command: { verb: "approve", digest: null, unverified: true } }).act, "approve");
});

test("where approvers are listed, write access alone is not enough, and the list alone is not either", () => {
  const approvers = ["maya", "tom"];
  assert.equal(decide({ approvers }).act, "approve");
  assert.equal(decide({ approvers, by: "Maya" }).act, "approve");
  assert.match(refusal({ approvers, by: "eve" }), /maya, tom.*eve is not among them/);
  assert.match(refusal({ approvers, by: "eve", permission: "admin" }), /not among them/);
  assert.match(refusal({ approvers: [] }), /not among them/);
  assert.match(refusal({ approvers, permission: "read" }), /write access/);
  // The list is about approving only.
  assert.equal(decide({ approvers, by: "eve", command: COMMANDS.cancel }).act, "cancel");
});

test("no state and no command lets somebody through whose permission is not known", () => {
  for (const state of STATES)
    for (const command of Object.values(COMMANDS)) {
      const { act } = decide({ command, permission: "unknown", run: runIn(state, PLAN) });
      assert.ok(act === "refuse" || act === "answer", `${command.verb} in ${state}: ${act}`);
    }
});

test("more money is granted up to the operator's ceiling, and the refusal names it", () => {
  const ask = (budgetUsd: number, ceilingUsd: number | null) =>
    decide({ command: { verb: "retry", budgetUsd }, ceilingUsd, run: runIn("failed") });
  assert.deepEqual(ask(10, 10), { act: "new_run", trigger: "retry", instruction: "", budgetUsd: 10 });
  assert.equal(ask(999, null).act, "new_run");
  const refused = ask(10.01, 10);
  assert.ok(refused.act === "refuse" && refused.because.includes("$10"));
});

test("a revision hands its text on: to the run at work, or to the run that follows", () => {
  assert.deepEqual(decide({ command: COMMANDS.revise, run: runIn("solving") }), {
    act: "instruct",
    text: "use padStart",
  });
  assert.deepEqual(decide({ command: COMMANDS.revise, run: runIn("published") }), {
    act: "new_run",
    trigger: "revise",
    instruction: "use padStart",
    budgetUsd: null,
  });
});

test("a revision without words asks for failing checks to be mended, and is refused where none fail", () => {
  const command: Command = { verb: "revise", text: "" };
  const on = { command, run: runIn("published"), pullRequest: 40 };
  assert.deepEqual(decide({ ...on, checksFailed: true }), {
    ...{ act: "new_run", trigger: "revise", instruction: "", budgetUsd: null },
  });
  assert.match(refusal(on), /\/revise <text>/);
  for (const state of STATES) assert.match(refusal({ command, run: runIn(state, PLAN) }), /\/revise <text>/);
});

test("said on the pull request, a revision and its closing are for that pull request while it is open", () => {
  const open = runIn("published");
  assert.ok(open.state === "published");
  const on = { run: open as Run, pullRequest: open.pullRequest };
  assert.equal(decide({ ...on, command: COMMANDS.cancel }).act, "close_pull_request");
  assert.equal(decide({ ...on, command: COMMANDS.revise }).act, "new_run");
  assert.match(refusal({ ...on, command: COMMANDS.retry }), /\/revise.*\/retry` on the issue/);
  assert.match(refusal({ ...on, command: COMMANDS.approve }), /nothing to approve/);
  for (const outcome of ["merged", "closed"] as const) {
    const over = { ...on, run: { ...open, outcome } };
    assert.match(refusal({ ...over, command: COMMANDS.revise }), new RegExp(`is ${outcome}`));
    assert.match(refusal({ ...over, command: COMMANDS.cancel }), /nothing to cancel/);
  }
  for (const command of [COMMANDS.cancel, COMMANDS.revise])
    assert.match(refusal({ ...on, command, permission: "triage" }), /write access/);
});

test("how a run ended is one sentence for every state", () => {
  const unlabeled: Run = { state: "cancelled", request: sampleRequest(), by: "maya", why: "issue_closed" };
  assert.equal(howItEnded(unlabeled), "the run was cancelled (issue closed).");
  for (const state of STATES) assert.match(howItEnded(runIn(state)), /^the .*\.$/);
});

test("H03: a bare /approve is refused once the plan's comment is not what was posted, with what happened and the digest on record; the digest is taken all the same", () => {
  const said = {
    edited: /was edited after I posted it.*on record.*name its digest: `\/approve [0-9a-f]{12}`/,
    restored: /was edited.*put it back; please read it again.*`\/approve [0-9a-f]{12}`/,
    deleted: /was deleted.*on record/,
    unknown: /could not look whether the plan still stands/,
  } as const;
  for (const [offer, words] of Object.entries(said) as [keyof typeof said, RegExp][]) {
    const refused = decideCommand(facts({ offer }));
    assert.match(refused.act === "refuse" ? refused.because : "", words);
    const digest = shortDigest(PLAN.digest);
    const named = facts({ offer, command: { verb: "approve", digest, unverified: false } });
    assert.deepEqual(decideCommand(named), { act: "approve", digest: PLAN.digest, unverified: false });
    const forged = facts({ offer, command: { verb: "approve", digest: "0".repeat(12), unverified: false } });
    assert.equal(decideCommand(forged).act, "refuse");
  }
});
