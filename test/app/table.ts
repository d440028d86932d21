/** What happens to a run, in which state, and what must come of it: the table of the design as data, one entry per cell. */

/** States of a run as the table groups them; a group's cells hold for each of its states. */
export const GROUPS = {
  working: ["queued", "preparing", "solving", "verifying"],
  intent: ["awaiting_intent"],
  plan: ["awaiting_approval"],
  publishing: ["publishing"],
  ended: ["published", "cancelled", "failed", "expired"],
} as const;

export type Group = keyof typeof GROUPS;
export type Where = (typeof GROUPS)[Group][number];

/** What is done on the issue: a comment with these words, or a deed. */
export type Happening =
  | { readonly say: string }
  | { readonly deed: "unlabel" | "close" | "label again" | "reopen" | "delete" };

export interface Cell {
  /** The run's state afterwards; left out: as before. */
  readonly state?: string;
  /** Why it was cancelled. */
  readonly why?: string;
  /** The decision on the fact in the log; null: it is not even recorded. */
  readonly decision: string | null;
  /** Left out: what happened is no comment, and nothing is to be seen. */
  readonly reaction?: "+1" | "confused";
  /** The app's answer, of which there is one; left out: none. A function has the run's state. */
  readonly answer?: RegExp | ((state: Where) => RegExp);
  /** A further run of the issue. */
  readonly run?: {
    readonly trigger: "label" | "retry" | "revise";
    readonly budgetUsd?: number;
    readonly instruction?: string;
    readonly goesOn?: "patch" | "checkpoint";
  };
  /** What the comment of the plan or the intent then begins with. */
  readonly told?: RegExp;
}

export interface Row {
  readonly what: Happening;
  readonly cells: Readonly<Record<Group, Cell>>;
}

const ENDS: Partial<Record<Where, RegExp>> = {
  published: /pull request #40\./,
  cancelled: /cancelled by maya\./,
  failed: /without a result \(no changes\)\./,
  expired: /expired after 14 days/,
};

const howItEnded = (state: Where) => ENDS[state] ?? /^$/;
const refused = (answer: Cell["answer"]): Cell => ({
  decision: "refuse",
  reaction: "confused",
  ...(answer === undefined ? {} : { answer }),
});

const WITHDRAWN = /^\*\*Withdrawn: /;
const SUPERSEDED = /^\*\*Superseded by a newer run\*\*/;
const NOTHING: Cell = { decision: null };
const OUT_OF_DATE: Cell = { decision: "out_of_date" };
const UNLABELED: Cell = { decision: "cancel", state: "cancelled", why: "unlabeled" };
const CLOSED: Cell = { ...UNLABELED, why: "issue_closed" };
const CANCELLED: Cell = { decision: "cancel", reaction: "+1", state: "cancelled", why: "command" };
const BEING_PUBLISHED = refused(/The approved plan is being published\./);
const RETRIED: Cell = { decision: "new_run", reaction: "+1", run: { trigger: "retry" } };
const REVISED: Cell = {
  ...{ decision: "new_run", reaction: "+1" },
  run: { trigger: "revise", instruction: "use padStart\nand a test" },
};
/** On the issue; the branch of a pull request holds the patch. */
const REWORKED: Cell = {
  ...REVISED,
  run: { trigger: "revise", instruction: "use padStart\nand a test", goesOn: "patch" },
};
const superseded = (cell: Cell): Cell => ({
  ...cell,
  state: "cancelled",
  why: "superseded",
  told: SUPERSEDED,
});
const everywhere = (cell: Cell): Row["cells"] => ({
  ...{ working: cell, intent: cell, plan: cell },
  ...{ publishing: cell, ended: cell },
});

const RICH = { trigger: "retry", budgetUsd: 5, goesOn: "checkpoint" } as const;

/** The states of a revision on an open pull request; `published`: there is none, only the run that opened it. */
export const ON_PULL = ["published", "solving", "awaiting_approval", "publishing", "failed"] as const;

export interface PullRow {
  readonly what: { readonly say: string } | { readonly deed: "close" | "merge" };
  /** Of the run that is meant: the revision, or the one that opened the pull request once the revision has failed. */
  readonly cells: Readonly<Record<(typeof ON_PULL)[number], Cell>>;
}

const CLOSED_WITH_IT: Cell = { decision: "cancel", state: "cancelled", why: "pull_request_closed" };
const OUTCOME: Cell = { decision: "outcome" };
/** Decided once it is on record whether the commit was pushed. */
const LATER: Cell = { decision: null };
const WITH_IT: PullRow["cells"] = {
  ...{ published: OUTCOME, failed: OUTCOME, solving: CLOSED_WITH_IT },
  ...{ awaiting_approval: { ...CLOSED_WITH_IT, told: WITHDRAWN }, publishing: LATER },
};
const NOTHING_TO_APPROVE = refused(/nothing to approve: the run ended with pull request #\d+\./);
const REVISE_INSTEAD = refused(/Say `\/revise <text>` to have this pull request changed/);

/** What is said and done on the pull request. */
export const PULL_TABLE: readonly PullRow[] = [
  {
    what: { say: "/approve" },
    cells: {
      published: NOTHING_TO_APPROVE,
      solving: refused(/no plan yet to approve/),
      // The run that opened the pull request has shown a plan a moment ago (FAULTS H03).
      awaiting_approval: refused(/There is an earlier plan .* name its digest: `\/approve [0-9a-f]{12}`/),
      publishing: { decision: "acknowledge", reaction: "+1" },
      failed: NOTHING_TO_APPROVE,
    },
  },
  {
    what: { say: "/revise use padStart\nand a test" },
    cells: {
      published: REVISED,
      solving: { decision: "instruct", reaction: "+1", answer: /take it up at my next turn/ },
      awaiting_approval: superseded(REWORKED),
      publishing: BEING_PUBLISHED,
      failed: REVISED,
    },
  },
  {
    what: { say: "/retry" },
    cells: {
      published: REVISE_INSTEAD,
      solving: refused(/Say `\/cancel` first/),
      // It is to do what the one before was asked for.
      awaiting_approval: superseded({ ...RETRIED, run: { trigger: "retry", instruction: "shorter" } }),
      publishing: BEING_PUBLISHED,
      failed: REVISE_INSTEAD,
    },
  },
  {
    what: { say: "/cancel" },
    cells: {
      published: { decision: "close_pull_request", reaction: "+1" },
      solving: CANCELLED,
      awaiting_approval: { ...CANCELLED, told: WITHDRAWN },
      publishing: refused(/approved first/),
      failed: { decision: "close_pull_request", reaction: "+1" },
    },
  },
  { what: { deed: "close" }, cells: WITH_IT },
  { what: { deed: "merge" }, cells: WITH_IT },
];

export const TABLE: readonly Row[] = [
  {
    what: { deed: "unlabel" },
    cells: {
      working: UNLABELED,
      intent: { ...UNLABELED, told: WITHDRAWN },
      plan: { ...UNLABELED, told: WITHDRAWN },
      publishing: { decision: "recorded" },
      ended: NOTHING,
    },
  },
  {
    what: { deed: "close" },
    cells: {
      working: CLOSED,
      intent: { ...CLOSED, told: WITHDRAWN },
      plan: { ...CLOSED, told: WITHDRAWN },
      publishing: { decision: "recorded" },
      ended: NOTHING,
    },
  },
  {
    what: { deed: "label again" },
    cells: {
      working: OUT_OF_DATE,
      intent: OUT_OF_DATE,
      plan: OUT_OF_DATE,
      publishing: OUT_OF_DATE,
      ended: { decision: null, run: { trigger: "label" } },
    },
  },
  { what: { deed: "reopen" }, cells: everywhere(NOTHING) },
  {
    what: { say: "/approve" },
    cells: {
      working: refused(/no plan yet to approve/),
      intent: { decision: "approve_intent", reaction: "+1", state: "preparing" },
      plan: { decision: "approve", reaction: "+1", state: "publishing" },
      publishing: { decision: "acknowledge", reaction: "+1" },
      ended: refused(howItEnded),
    },
  },
  {
    what: { say: "/approve 000000000000" },
    cells: {
      working: refused(/no plan yet to approve/),
      intent: refused(/not the newest intent's\. To approve that one, answer `\/approve [0-9a-f]{12}`/),
      plan: refused(/not the newest plan's\. To approve that one, answer `\/approve [0-9a-f]{12}`/),
      publishing: { decision: "acknowledge", reaction: "+1" },
      ended: refused(howItEnded),
    },
  },
  {
    what: { say: "/revise use padStart\nand a test" },
    cells: {
      working: { decision: "instruct", reaction: "+1", answer: /take it up at my next turn/ },
      intent: superseded(REWORKED),
      plan: superseded(REWORKED),
      publishing: BEING_PUBLISHED,
      ended: REWORKED,
    },
  },
  { what: { say: "/revise" }, cells: everywhere(refused(/Say what to do differently: `\/revise <text>`/)) },
  {
    what: { say: "/retry" },
    cells: {
      working: refused(/Say `\/cancel` first/),
      intent: superseded(RETRIED),
      plan: superseded(RETRIED),
      publishing: BEING_PUBLISHED,
      ended: RETRIED,
    },
  },
  {
    what: { say: "/retry budget=5" },
    cells: {
      working: refused(/Say `\/cancel` first/),
      intent: superseded({ ...RETRIED, run: RICH }),
      plan: superseded({ ...RETRIED, run: RICH }),
      publishing: BEING_PUBLISHED,
      ended: { ...RETRIED, run: RICH },
    },
  },
  { what: { say: "/retry budget=11" }, cells: everywhere(refused(/at most \$10 a run \(BUDGET_USD\)/)) },
  {
    what: { say: "/cancel" },
    cells: {
      working: CANCELLED,
      intent: { ...CANCELLED, told: WITHDRAWN },
      plan: { ...CANCELLED, told: WITHDRAWN },
      publishing: refused(/approved first/),
      ended: refused((state) => new RegExp(`nothing to cancel: .*${howItEnded(state).source}`)),
    },
  },
  {
    what: { say: "/status" },
    cells: {
      working: {
        decision: "answer",
        reaction: "+1",
        answer: /queued|ready|working on it|checking the result/,
      },
      intent: { decision: "answer", reaction: "+1", answer: /waiting for a maintainer: the intent/ },
      plan: { decision: "answer", reaction: "+1", answer: /waiting for a maintainer: the plan/ },
      publishing: { decision: "answer", reaction: "+1", answer: /approved by maya/ },
      ended: {
        decision: "answer",
        reaction: "+1",
        answer: /Run `[0-9a-z]+`: (done|ended|the plan expired|the run was)/,
      },
    },
  },
  {
    what: { say: "/help" },
    cells: everywhere({ decision: "answer", reaction: "+1", answer: /`\/retry budget=5`/ }),
  },
  { what: { say: "/aprove" }, cells: everywhere(refused(/I read `\/approve` only in this form/)) },
  {
    what: { say: "/cancel\n\n/retry" },
    cells: everywhere(refused(/One command a comment/)),
  },
  {
    what: { deed: "delete" },
    cells: {
      working: { ...CLOSED, why: "issue_deleted" },
      intent: { ...CLOSED, why: "issue_deleted" },
      plan: { ...CLOSED, why: "issue_deleted" },
      publishing: { decision: "recorded" },
      ended: NOTHING,
    },
  },
];
