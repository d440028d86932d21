/** The plan comment: verdict first, then what changes and why, the evidence, and the words that answer it. Pure. */

import { type Proposal, shortDigest } from "#src/run/proposal.ts";
import type { Verdict } from "#src/run/verdict.ts";
import {
  evidenceTable,
  FULL_ROOM,
  provenBy,
  type Room,
  SHORT_ROOM,
  sentence,
  tamperList,
} from "./evidence.ts";
import { formatMarker } from "./marker.ts";
import { BREAK, cellCode, code, type Fenced, fenced, oneLine, quoted } from "./neutralise.ts";

export interface TraceFacts {
  readonly turns: number;
  readonly toolCalls: Readonly<Record<string, { readonly ok: number; readonly errors: number }>>;
  readonly inputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
  readonly wallMs: number;
  readonly retries: number;
  /** Why the agent stopped, e.g. `done`. */
  readonly stop: string;
}

export interface PlanFacts {
  readonly proposal: Proposal;
  readonly digest: string;
  readonly verdict: Verdict;
  /** The model's own words on what it did; neutralised here. */
  readonly explanation: string;
  readonly diff: string;
  /** Code of tests the agent wrote that prove the fix, by path. */
  readonly newTests: readonly { readonly path: string; readonly diff: string }[];
  /** Sentences of the app (protected files, invisible characters, weaker sandbox …); may quote others, so they are neutralised here. */
  readonly warnings: readonly string[];
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  readonly trace: TraceFacts;
  /** A sentence on the earlier work that this one went on from; left out: there was none. */
  readonly goesOn?: string;
  readonly tracePlace: string;
  /** The open pull request it would be pushed to; null: a new one. */
  readonly pullRequest: number | null;
  readonly seq: number;
}

/** GitHub refuses bodies over 65,536 characters. */
export const MAX_BODY = 65_000;

interface PlanLimits {
  readonly diff: number;
  readonly explanation: number;
  readonly tests: number;
  readonly files: number;
  readonly leftOut: number;
  readonly warning: number;
  readonly room: Room;
}

const LIMITS: Readonly<Record<"full" | "short", PlanLimits>> = {
  full: {
    diff: 30_000,
    explanation: 6_000,
    tests: 8_000,
    files: 100,
    leftOut: 20,
    warning: 500,
    room: FULL_ROOM,
  },
  short: {
    diff: 3_000,
    explanation: 1_500,
    tests: 1_000,
    files: 30,
    leftOut: 5,
    warning: 200,
    room: SHORT_ROOM,
  },
};
/** What stays free for the diff at least; else the other parts are shortened. */
const LEAST_DIFF = 2_000;

export interface RenderedPlan {
  readonly body: string;
  /** True when the whole diff stands in the body: only then a bare `/approve` is enough. */
  readonly diffShown: boolean;
}

/** Renders the plan; `short` is the second try for a server that refused the full one. */
export function renderPlan(facts: PlanFacts, size: "full" | "short"): RenderedPlan {
  const diffMax = LIMITS[size].diff;
  const full = size === "full" ? within(facts, LIMITS.full, diffMax) : null;
  return full ?? within(facts, LIMITS.short, diffMax) ?? render(facts, LIMITS.short, LEAST_DIFF);
}

/** Null when the parts besides the diff leave it too little room. */
function within(facts: PlanFacts, limits: PlanLimits, diffMax: number): RenderedPlan | null {
  const room = MAX_BODY - render(facts, limits, 0).body.length;
  return room < LEAST_DIFF ? null : render(facts, limits, Math.min(diffMax, room));
}

function render(facts: PlanFacts, limits: PlanLimits, diffMax: number): RenderedPlan {
  const diff = fenced(facts.diff, "diff", diffMax);
  return { body: assemble(facts, limits, diff), diffShown: diff.whole };
}

function assemble(facts: PlanFacts, limits: PlanLimits, diff: Fenced): string {
  const { proposal, verdict } = facts;
  const parts = [
    formatMarker({ runId: proposal.runId, kind: "plan", seq: facts.seq, forComment: null }),
    `## ${headline(verdict)}`,
    verdictSentence(verdict),
    warningBlock(facts, limits),
    // The title was neutralised when it was made; its breaks are ours.
    `### What will change\n\n**${oneLine(proposal.title.replaceAll(BREAK, ""), 120)}**`,
    facts.explanation.trim() === ""
      ? null
      : `The agent's own words:\n\n${quoted(facts.explanation, limits.explanation)}`,
    testBlock(facts, limits.tests),
    fileTable(proposal, limits.files),
    diffBlock(diff),
    `### Evidence\n\n${evidenceTable(verdict.evidence, limits.room)}`,
    leftOutBlock(facts.leftOut, limits.leftOut),
    traceBlock(facts),
    answerBlock(facts, diff.whole),
  ];
  return parts.filter((part) => part !== null && part !== "").join("\n\n");
}

function headline(verdict: Verdict): string {
  switch (verdict.class) {
    case "proven":
      return "✅ Plan: proven";
    case "passing":
      return "🟡 Plan: passing, but no test proves the fix";
    case "unproven":
      return `⚠️ Plan: not proven (${verdict.reason.replaceAll("_", " ")})`;
    case "refuted":
      return "❌ Refuted";
  }
}

export function verdictSentence(verdict: Verdict): string {
  switch (verdict.class) {
    case "proven":
      return `I ran the tests myself in copies the agent never touched. ${provenBy(verdict.by)}`;
    case "passing":
      return `I ran the tests myself in copies the agent never touched. ${sentence(verdict.because, 300)}`;
    case "unproven":
      return oneLine(verdict.detail, 500);
    case "refuted":
      return `The tests speak against this change: ${verdict.because
        .slice(0, 5)
        .map((reason) => oneLine(reason, 300))
        .join("; ")}.`;
  }
}

function warningBlock(facts: PlanFacts, limits: PlanLimits): string | null {
  const { verdict, warnings, explanation } = facts;
  const { names } = limits.room;
  const lines = [
    ...tamperList(verdict.evidence.tampering, explanation, limits.room),
    ...warnings.slice(0, names).map((warning) => `- ${oneLine(warning, limits.warning)}`),
  ];
  if (warnings.length > names) lines.push(`- and ${warnings.length - names} more warnings`);
  return lines.length === 0 ? null : `> [!WARNING]\n${lines.map((line) => `> ${line}`).join("\n")}`;
}

/** The code of proving tests: as many as fit with a readable part each, the rest counted. */
function testBlock(facts: PlanFacts, max: number): string | null {
  const shown = facts.newTests.slice(0, 4);
  if (shown.length === 0) return null;
  const each = Math.floor(max / shown.length);
  const blocks = shown.map(
    (test) => `Test written by the agent, in ${code(test.path)}:\n\n${fenced(test.diff, "diff", each).block}`,
  );
  const more = facts.newTests.length - shown.length;
  if (more > 0) blocks.push(`… and ${more} more test files written by the agent; they are in the diff.`);
  return blocks.join("\n\n");
}

export function fileTable(proposal: Proposal, max: number): string {
  const rows = proposal.files
    .slice(0, max)
    .map(
      (file) =>
        `| ${cellCode(file.path, 120)} | ${file.status}${file.mode === "100755" ? ", executable" : ""}${file.mode === "120000" ? ", link" : ""} | ${file.added === null ? "binary" : `+${file.added} −${file.removed ?? 0}`} |`,
    );
  const more = proposal.files.length - rows.length;
  if (more > 0) rows.push(`| … and ${more} more | | |`);
  return ["| file | | lines |", "| --- | --- | --- |", ...rows].join("\n");
}

function diffBlock(diff: Fenced): string {
  const title = diff.whole ? "The whole diff" : "The first part of the diff (it does not fit as a whole)";
  return `<details><summary>${title}</summary>\n\n${diff.block}\n\n</details>`;
}

function leftOutBlock(leftOut: PlanFacts["leftOut"], max: number): string | null {
  if (leftOut.length === 0) return null;
  const lines = leftOut
    .slice(0, max)
    .map((entry) => `- ${code(entry.path, 120)}: ${oneLine(entry.reason, 120)}`);
  if (leftOut.length > max) lines.push(`- … and ${leftOut.length - max} more`);
  return `<details><summary>Left out of the change (${leftOut.length})</summary>\n\n${lines.join("\n")}\n\n</details>`;
}

function traceBlock(facts: PlanFacts): string {
  const goesOn = facts.goesOn === undefined ? "" : `${oneLine(facts.goesOn, 200)}\n\n`;
  return `### How it went\n\n${goesOn}${traceLine(facts.trace)}\n\nTrace: ${code(facts.tracePlace)}`;
}

/** A model may call tools by any name it makes up. */
const MAX_TOOLS = 20;

/** Turns, tool calls by kind, tokens, cost, time, retries and the stop, as facts by code. */
export function traceLine(trace: TraceFacts): string {
  const kinds = Object.entries(trace.toolCalls).sort(([a], [b]) => (a < b ? -1 : 1));
  const calls = kinds
    .slice(0, MAX_TOOLS)
    .map(
      ([name, count]) =>
        `${code(name, 40)} ${count.ok + count.errors}${count.errors > 0 ? ` (${count.errors} failed)` : ""}`,
    );
  if (kinds.length > MAX_TOOLS) calls.push(`${kinds.length - MAX_TOOLS} more tools`);
  const tokens =
    trace.inputTokens === null
      ? "tokens unknown"
      : `${trace.inputTokens} tokens in${trace.cachedTokens ? ` (${trace.cachedTokens} cached)` : ""}, ${trace.outputTokens ?? 0} out`;
  const cost =
    trace.costUsd === null ? "cost unknown (no price for this model)" : `$${trace.costUsd.toFixed(4)}`;
  const retries =
    trace.retries === 0 ? "" : ` · ${trace.retries} ${trace.retries === 1 ? "retry" : "retries"}`;
  const tools = calls.length === 0 ? "no tool calls" : calls.join(", ");
  return `${trace.turns} ${trace.turns === 1 ? "turn" : "turns"} · ${tools} · ${tokens} · ${cost} · ${Math.round(trace.wallMs / 1000)} s${retries} · stopped: ${oneLine(trace.stop.replaceAll("_", " "), 60)}`;
}

function answerBlock(facts: PlanFacts, diffShown: boolean): string {
  const digest = shortDigest(facts.digest);
  const word = facts.verdict.class === "unproven" ? " unverified" : "";
  const approve = diffShown ? `/approve${word}` : `/approve ${digest}${word}`;
  return [
    "### Your answer",
    "",
    `Nothing has left this machine. Digest of exactly these bytes: \`${digest}\`, on base \`${facts.proposal.baseSha.slice(0, 12)}\` of ${code(facts.proposal.targetBranch)}.`,
    "",
    facts.pullRequest === null
      ? `- \`${approve}\` opens the pull request${facts.proposal.draft ? " as a draft" : ""}`
      : `- \`${approve}\` pushes it to this pull request, if nobody else has pushed by then`,
    "- `/revise <what to do differently>` has it reworked",
    "- `/retry` starts afresh, `/cancel` drops it, `/status` and `/help` tell more",
  ].join("\n");
}
