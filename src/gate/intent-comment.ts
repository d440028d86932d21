/** The intent comment: what an agent that has only read says it would do, and what that may cost. Pure. */

import type { Intent, IntentBudget } from "#src/run/intent.ts";
import { shortDigest } from "#src/run/proposal.ts";
import { formatMarker } from "./marker.ts";
import { code, oneLine, quoted, visible } from "./neutralise.ts";
import { MAX_BODY, type TraceFacts, traceLine } from "./plan-comment.ts";

const MAX_FILES = 40;
const MAX_PATH = 200;
const MAX_PROOF = 600;
const MAX_TURNS = 200;
/** Characters of the agent's words that an intent keeps; what it says beyond them is not part of it. */
const MAX_WORDS = 6_000;

export interface IntentWords {
  readonly text: string;
  readonly files: readonly string[];
  readonly proof: string;
  readonly turns: number | null;
}

const LINE = /^[\s*_>-]*(files|proof|turns)[*_]*:[*_]*[ \t]*(.*)$/gim;

/** Takes the three named lines out of the agent's last answer; one that is missing is empty, and the last of several counts. */
export function readIntentWords(finalText: string): IntentWords {
  const named = new Map<string, string>();
  for (const [, name = "", value = ""] of finalText.matchAll(LINE))
    named.set(name.toLowerCase(), value.trim());
  const turns = Number(/\d{1,6}/.exec(named.get("turns") ?? "")?.[0] ?? Number.NaN);
  return {
    text: visible(finalText.replace(LINE, "")).trim().slice(0, MAX_WORDS).toWellFormed(),
    files: filesIn(named.get("files") ?? ""),
    proof: oneLineOf(named.get("proof") ?? ""),
    turns: turns > 0 ? Math.min(turns, MAX_TURNS) : null,
  };
}

function filesIn(text: string): readonly string[] {
  const paths = text
    .split(",")
    .map((path) =>
      visible(path)
        .trim()
        .replace(/^`(.*)`$/, "$1")
        .slice(0, MAX_PATH),
    )
    .filter((path) => path !== "" && !/^none\.?$/i.test(path));
  return [...new Set(paths)].slice(0, MAX_FILES);
}

function oneLineOf(text: string): string {
  return visible(text).replace(/\s+/g, " ").trim().slice(0, MAX_PROOF).toWellFormed();
}

/** Dollars for the reading at least, so that a cheap look never strangles the work. */
const LEAST_USD = 0.25;
const LEAST_TOKENS = 200_000;
/** A turn of the work reads more of its own history than one of the look did. */
const HEAVIER = 1.5;
/** How far the work may go beyond the estimate. */
const LEEWAY = 2;

/**
 * The estimate by what a turn of the reading has cost, and the budget that an approval grants: twice the estimate, never
 * more than `most`; without an estimate `most`. Both include what reading has used.
 */
export function budgetFor(
  turns: number | null,
  used: { readonly turns: number; readonly usd: number | null; readonly tokens: number },
  most: { readonly usd: number | null; readonly tokens: number },
): { readonly estimate: IntentBudget | null; readonly budget: IntentBudget } {
  // Without a price dollars limit nothing.
  const mostUsd = used.usd === null ? null : most.usd;
  if (turns === null) return { estimate: null, budget: { usd: mostUsd, tokens: most.tokens } };
  const whole = (sum: number) => sum + (sum / Math.max(1, used.turns)) * turns * HEAVIER;
  const estimate = {
    usd: used.usd === null ? null : cents(whole(used.usd)),
    tokens: Math.ceil(whole(used.tokens)),
  };
  const usd =
    estimate.usd === null || mostUsd === null
      ? mostUsd
      : Math.min(mostUsd, cents(Math.max(LEAST_USD, estimate.usd * LEEWAY)));
  const tokens = Math.min(most.tokens, Math.max(LEAST_TOKENS, estimate.tokens * LEEWAY));
  return { estimate, budget: { usd, tokens } };
}

/** Upwards, and a number that JSON writes as people do. */
function cents(usd: number): number {
  return Math.ceil(usd * 100 - 1e-9) / 100;
}

export interface IntentFacts {
  readonly intent: Intent;
  readonly digest: string;
  /** Sentences of the app; may quote others. */
  readonly warnings: readonly string[];
  readonly trace: TraceFacts;
  readonly tracePlace: string;
  readonly seq: number;
}

export interface RenderedIntent {
  readonly body: string;
  /** True when all the intent says stands in the body: only then a bare `/approve` is enough. */
  readonly shown: boolean;
}

const SHORT = { words: 1_500, files: 10 };

/** Renders the intent; `short` is the second try for a server that refused the full one. */
export function renderIntent(facts: IntentFacts, size: "full" | "short"): RenderedIntent {
  const { intent } = facts;
  const whole = render(facts, MAX_WORDS, MAX_FILES);
  if (size === "full" && whole.length <= MAX_BODY) return { body: whole, shown: true };
  const fits = intent.text.length <= SHORT.words && intent.files.length <= SHORT.files;
  return { body: render(facts, SHORT.words, SHORT.files), shown: fits };
}

function render(facts: IntentFacts, words: number, files: number): string {
  const { intent, warnings } = facts;
  const parts = [
    formatMarker({ runId: intent.runId, kind: "intent", seq: facts.seq, forComment: null }),
    "## 📝 Intent: what I would do",
    "This repository asks for an approval before the work begins. So far I have only read.",
    warnings.length === 0
      ? null
      : `> [!WARNING]\n${warnings
          .slice(0, 10)
          .map((warning) => `> - ${oneLine(warning, 300)}`)
          .join("\n")}`,
    intent.text === ""
      ? "The agent said nothing about it."
      : `The agent's own words:\n\n${quoted(intent.text, words)}`,
    `### Files\n\n${fileList(intent.files, files)}`,
    `### Proof\n\n${intent.proof === "" ? "The agent named none." : oneLine(intent.proof, MAX_PROOF)}`,
    `### Cost\n\n${costSentence(intent)}\n\n${traceLine(facts.trace)}\n\nTrace: ${code(facts.tracePlace)}`,
    answerBlock(facts),
  ];
  return parts.filter((part) => part !== null).join("\n\n");
}

function fileList(files: readonly string[], max: number): string {
  if (files.length === 0) return "The agent named none.";
  const lines = files.slice(0, max).map((path) => `- ${code(path, MAX_PATH)}`);
  if (files.length > max) lines.push(`- … and ${files.length - max} more`);
  return lines.join("\n");
}

function costSentence({ turns, estimate, budget }: Intent): string {
  const guess =
    estimate === null
      ? "The agent gave no number of turns, so there is no estimate."
      : `Estimate: about ${amountOf(estimate)} in all, for ${turns} more ${turns === 1 ? "turn" : "turns"} at what reading has cost.`;
  return `${guess} An approval lets the run use at most ${amountOf(budget)} in all; then it stops.`;
}

function amountOf({ usd, tokens }: IntentBudget): string {
  return usd === null ? `${tokens} tokens` : `$${usd.toFixed(2)}`;
}

function answerBlock({ intent, digest }: IntentFacts): string {
  const short = shortDigest(digest);
  return [
    "### Your answer",
    "",
    `Nothing was changed or run. Digest of exactly these words and this budget: \`${short}\`, on base \`${intent.baseSha.slice(0, 12)}\` of ${code(intent.targetBranch)}.`,
    "",
    `- \`/approve\` or \`/approve ${short}\` begins the work; its result is shown as a plan, which needs an approval of its own`,
    "- `/revise <what to do differently>` has it thought over again",
    "- `/retry` starts afresh, `/cancel` drops it, `/status` and `/help` tell more",
  ].join("\n");
}
