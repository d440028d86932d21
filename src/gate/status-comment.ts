/** The status comment, result comment and answers: facts by code, never the model's words. Pure. */

import { isoTime } from "#src/base/clock.ts";
import { shortDigest } from "#src/run/proposal.ts";
import type { FailureCode, Run } from "#src/run/run.ts";
import type { Verdict } from "#src/run/verdict.ts";
import { howItEnded } from "./decide.ts";
import { evidenceTable, FULL_ROOM, SHORT_ROOM } from "./evidence.ts";
import { formatMarker } from "./marker.ts";
import { code, fenced, oneLine, quoted } from "./neutralise.ts";
import { type TraceFacts, traceLine, verdictSentence } from "./plan-comment.ts";

export interface StatusFacts {
  readonly run: Run;
  /** Steps in order with where each stands. */
  readonly steps: readonly {
    readonly name: string;
    readonly state: "waiting" | "running" | "done" | "failed";
  }[];
  /** Numbers of the agent loop so far; null before it starts. */
  readonly trace: TraceFacts | null;
  /** Runs ahead of this one; null when it is not queued. */
  readonly queuePosition: number | null;
  /** When GitHub's rate limit, which holds the run back, is over, ms since the epoch; null: nothing does. */
  readonly heldUntil: number | null;
  /** True: GitHub gave no answer whether the pull request stands, and is asked again. */
  readonly undecided: boolean;
  readonly tracePlace: string;
  /** When the facts were true, ms since the epoch. */
  readonly asOf: number;
  /** Sentences of the app on what it found before the work, e.g. commits that name the issue. */
  readonly notes: readonly string[];
  /** How suites of checks on the pull request came out, newest of each. */
  readonly checks: readonly { readonly name: string; readonly conclusion: string }[];
  /** True when no price is known for the model: the token cap rules instead of a cost cap. */
  readonly priceUnknown: boolean;
}

const UNDECIDED =
  "; GitHub gives no answer whether it stands, so I look again every minute, for an hour at most";

const MARKS = { waiting: "☐", running: "⏳", done: "☑", failed: "✗" } as const;

export function renderStatus(facts: StatusFacts): string {
  const { run } = facts;
  const parts = [
    formatMarker({ runId: run.request.runId, kind: "status", seq: 1, forComment: null }),
    `**agent-fix** · run \`${run.request.runId}\` · ${stateSentence(facts.run, facts.queuePosition)}${facts.undecided ? UNDECIDED : ""}`,
    facts.heldUntil === null ? null : heldSentence(facts.heldUntil),
    // Here too, since the comment that tells more may be what GitHub did not take.
    run.state === "failed" ? oneLine(run.message, 300) : null,
    checksSentence(facts),
    ...facts.notes.slice(0, 5).map((note) => oneLine(note, 200)),
    facts.steps.map((step) => `${MARKS[step.state]} ${step.name}`).join(" · "),
    facts.trace === null ? null : traceLine(facts.trace),
    facts.priceUnknown ? "No price is known for this model, so tokens are capped instead of dollars." : null,
    `Trace: ${code(facts.tracePlace)} · as of ${isoTime(facts.asOf).slice(0, 19)}Z · \`/status\` \`/cancel\` \`/help\``,
  ];
  return parts.filter((part) => part !== null).join("\n\n");
}

function heldSentence(until: number): string {
  return `Held back: GitHub's rate limit for this installation is used up until about ${isoTime(until).slice(11, 16)}Z. I go on then, with all there is so far.`;
}

const PASSED: readonly string[] = ["success", "neutral", "skipped"];

/** A failing suite starts nothing by itself; the words that do are named. */
function checksSentence({ run, checks }: StatusFacts): string | null {
  if (run.state !== "published" || checks.length === 0) return null;
  const failed = checks.filter(({ conclusion }) => !PASSED.includes(conclusion));
  if (failed.length === 0) return `Checks of #${run.pullRequest}: passed.`;
  const named = failed
    .slice(0, 5)
    .map(({ name, conclusion }) => `${code(name, 60)} (${oneLine(conclusion, 30)})`);
  const more = failed.length > named.length ? ` and ${failed.length - named.length} more` : "";
  return `Checks of #${run.pullRequest} that did not pass: ${named.join(", ")}${more}. \`/revise\` on the pull request, with or without words of yours, has the agent mend that.`;
}

/** The answer to `/status`. */
export function statusSentence(run: Run): string {
  return `Run \`${run.request.runId}\`: ${stateSentence(run, null)}.`.replace(/\.\.$/, ".");
}

function stateSentence(run: Run, queuePosition: number | null): string {
  switch (run.state) {
    case "queued":
      if (queuePosition === null) return "queued";
      return queuePosition === 0
        ? "queued, next in line"
        : `queued behind ${queuePosition} other${queuePosition === 1 ? "" : "s"}`;
    case "preparing":
      return "getting the repository ready";
    case "awaiting_intent":
      return `waiting for a maintainer: the intent \`${shortDigest(run.intent.digest)}\` is posted below`;
    case "solving":
      return run.round === 0
        ? "working on it"
        : `working on it again (round ${run.round + 1}), with what the check found or a maintainer added`;
    case "verifying":
      return "checking the result in fresh copies";
    case "awaiting_approval":
      return `waiting for a maintainer: the plan \`${shortDigest(run.plan.digest)}\` is posted below`;
    case "approved":
    case "publishing":
      return `approved by ${oneLine(run.approval.by, 60)}, opening the pull request`;
    case "rechecking":
      return `approved by ${oneLine(run.approval.by, 60)}; the base has moved to \`${run.newBaseSha.slice(0, 12)}\`, checking again`;
    case "published":
      return run.outcome === "open"
        ? `done: pull request #${run.pullRequest}`
        : `done: pull request #${run.pullRequest} (${run.outcome})`;
    case "cancelled":
    case "expired":
      return howItEnded(run);
    case "failed":
      return `ended without a pull request: ${failureTitle(run.code)}`;
  }
}

const FAILURES: Record<FailureCode, string> = {
  refuted: "the tests speak against the fix",
  no_changes: "no changes to propose",
  cannot_set_up: "the project could not be set up",
  cannot_clone: "the repository could not be cloned",
  empty_repository: "the repository has no commits",
  bad_config: "`.github/agent-fix.yml` has mistakes",
  budget: "the budget ran out",
  model_failed: "the model could not be used",
  no_progress: "the agent made no progress",
  permission: "a permission is missing",
  sandbox_unavailable: "the sandbox is not available on this machine",
  github_failed: "GitHub did not take an answer",
  base_conflict: "the base moved and conflicts with the change",
  worse_on_new_base: "the change does worse on the moved base",
  protected_path: "the change touches protected files",
  already_claimed: "somebody else has it in hand",
  publish_refused: "GitHub refused the pull request",
  internal: "a fault of agent-fix itself",
};

export function failureTitle(failure: FailureCode): string {
  return FAILURES[failure];
}

export interface ResultFacts {
  readonly runId: string;
  readonly code: FailureCode;
  /** The app's sentence; may quote a server, so it is neutralised. */
  readonly message: string;
  /** The model's own last words, when they explain the end; quoted. */
  readonly explanation: string;
  readonly verdict: Verdict | null;
  readonly trace: TraceFacts | null;
  readonly tracePlace: string;
  /** The kept patch, when there is one. */
  readonly diff: string | null;
  /** True: publishing had begun, so that what became of it stands in the message; left out: nothing was sent to the repository. */
  readonly sent?: boolean;
  readonly seq: number;
}

/** The one comment of a run that ends without a pull request: what was tried, what is missing, what it cost. */
export function renderResult(facts: ResultFacts, size: "full" | "short"): string {
  const limits = size === "full" ? RESULT_FULL : RESULT_SHORT;
  const diff =
    facts.diff === null || facts.diff === "" ? null : fenced(facts.diff, "diff", limits.diff).block;
  return assembleResult(facts, limits, diff);
}

const RESULT_FULL = { diff: 20_000, explanation: 3_000, message: 1_500, room: FULL_ROOM };
const RESULT_SHORT = { diff: 2_000, explanation: 800, message: 800, room: SHORT_ROOM };

function assembleResult(facts: ResultFacts, limits: typeof RESULT_FULL, diff: string | null): string {
  const parts = [
    formatMarker({ runId: facts.runId, kind: "answer", seq: facts.seq, forComment: null }),
    `## No pull request: ${failureTitle(facts.code)}`,
    oneLine(facts.message, limits.message),
    facts.explanation === ""
      ? null
      : `The agent's own words:\n\n${quoted(facts.explanation, limits.explanation)}`,
    facts.verdict === null
      ? null
      : `${verdictSentence(facts.verdict)}\n\n${evidenceTable(facts.verdict.evidence, limits.room)}`,
    diff === null
      ? null
      : `<details><summary>What was tried (kept, not published)</summary>\n\n${diff}\n\n</details>`,
    facts.trace === null ? null : traceLine(facts.trace),
    `Trace: ${code(facts.tracePlace)}.${facts.sent === true ? "" : " Nothing was written to the repository."} \`/retry\` starts a new run.`,
  ];
  return parts.filter((part) => part !== null).join("\n\n");
}

export interface AnswerFacts {
  readonly runId: string | null;
  readonly commentId: number;
  /** A sentence of the app; values from outside in it are already neutralised. */
  readonly text: string;
}

export function renderAnswer(facts: AnswerFacts): string {
  const marker = formatMarker({ runId: facts.runId, kind: "answer", seq: 1, forComment: facts.commentId });
  return `${marker}\n${facts.text}`;
}

export const HELP = [
  "Put the label `agent-fix` on an issue and I work on it in a sandbox, check the result with the repository's own tests, and post a plan. Only after a maintainer's approval I open a pull request.",
  "",
  "- `/approve`, `/approve <digest>`, `/approve unverified`: open the pull request (or, where the repository asks for an intent first, begin the work)",
  "- `/revise <text>`: have the change reworked",
  "- `/retry`: start afresh; `/retry budget=5`: go on where the last run stopped, with up to $5 for the model",
  "- `/cancel`: stop, or drop the plan",
  "- `/status`, `/help`",
  "",
  "A command is the first line of a comment. All but `/status` and `/help` need write access.",
].join("\n");

export const NO_RUN_YET =
  "There is no run on this issue yet, so there is nothing to do here. A maintainer starts one with the label `agent-fix`.";
