/** Title and body of the pull request, the commit message, and the footer that code appends after approval. Pure. */

import { shortDigest } from "#src/run/proposal.ts";
import type { Verdict } from "#src/run/verdict.ts";
import { evidenceTable, FULL_ROOM, provenBy, SHORT_ROOM, sentence, tamperList } from "./evidence.ts";
import { contained, cut, neutralise, oneLine, powerless, visible } from "./neutralise.ts";

const MAX_TITLE = 72;

/** Splits the model's last words into a title (its first line, Markdown marks removed) and the explanation. */
export function readFinalWords(
  text: string,
  issueTitle: string,
): { readonly title: string; readonly explanation: string } {
  const lines = text.trim().split("\n");
  const first = (lines[0] ?? "")
    .replace(/^[#>*\s-]+/, "")
    .replace(/^(?:pr )?title:\s*/i, "")
    .replace(/[*_`]+/g, "")
    .trim();
  const usable = first.length >= 4 && first.length <= 120;
  const title = oneLine(usable ? first : `Fix: ${issueTitle}`, MAX_TITLE);
  const explanation = usable ? lines.slice(1).join("\n").trim() : text.trim();
  return { title, explanation };
}

export interface BodyFacts {
  readonly issue: number;
  readonly explanation: string;
  readonly verdict: Verdict;
  /** The repository's pull request template at the base commit; null when there is none. */
  readonly template: string | null;
}

const FULL = { text: 6_000, room: FULL_ROOM };
const SHORT = { text: 1_200, room: SHORT_ROOM };
/** Under GitHub's 65,536 even if it counted bytes, with room for the footer: an approved body cannot be shortened later. */
const MAX_BYTES = 63_000;

/** The body that is digested and approved. `Fixes #n` is the one working reference in it. */
export function pullRequestBody(facts: BodyFacts): string {
  const full = bodyOf(facts, FULL);
  return Buffer.byteLength(full, "utf8") <= MAX_BYTES ? full : bodyOf(facts, SHORT);
}

function bodyOf(facts: BodyFacts, limits: typeof FULL): string {
  const { verdict, template } = facts;
  const explanation = visible(facts.explanation).trim();
  const top = warningOnTop(facts, limits);
  const parts = [
    "## What and why",
    explanation === "" ? "The agent gave no explanation." : neutralise(cut(explanation, limits.text)),
    "## Evidence",
    verdict.class === "proven" ? provenBy(verdict.by) : null,
    evidenceTable(verdict.evidence, limits.room),
    template === null || template.trim() === "" ? null : templateBlock(template, limits.text),
  ];
  return [
    ...(top === null ? [] : [powerless(top)]),
    `Fixes #${facts.issue}`,
    ...parts.filter((part) => part !== null).map(powerless),
  ].join("\n\n");
}

/** The repository's own words from the base commit; they keep their looks, but can't reach out of the fold. */
function templateBlock(template: string, max: number): string {
  const text = cut(contained(template).trim(), max);
  return `<details><summary>Pull request template</summary>\n\n${text}\n\n</details>`;
}

function warningOnTop({ verdict, explanation }: BodyFacts, limits: typeof FULL): string | null {
  const found = tamperList(verdict.evidence.tampering, explanation, limits.room);
  const tampering = found.map((line) => `> ${line}`);
  if (verdict.class === "proven")
    return tampering.length === 0 ? null : `> [!WARNING]\n${tampering.join("\n")}`;
  const told =
    verdict.class === "unproven"
      ? `**Not verified** (${verdict.reason.replaceAll("_", " ")}): ${oneLine(verdict.detail, 400)}`
      : verdict.class === "passing"
        ? `**Not proven.** ${sentence(verdict.because, 400)}`
        : "**Refuted**";
  return ["> [!WARNING]", `> ${told}`, ...tampering].join("\n");
}

export interface FooterFacts {
  readonly approvedBy: string;
  readonly digest: string;
  readonly runId: string;
  /** What was checked again because the base had moved; null when it had not. */
  readonly recheck: string | null;
}

/** Appended by code after approval; not part of the digest. */
export function footer(facts: FooterFacts): string {
  const recheck = facts.recheck === null ? "" : ` ${facts.recheck}`;
  return `\n\n---\n\nApproved by ${oneLine(facts.approvedBy, 60)} as \`${shortDigest(facts.digest)}\` · run \`${facts.runId}\`.${recheck} Test results come from the repository's own suite, which shares a process with the code it tests: a forged report can't be excluded in general, so please review the code.`;
}

/** One commit: the title, a reference, and the run for whoever reads the log. */
export function commitMessage(title: string, issue: number, runId: string): string {
  return `${title}\n\nFixes #${issue}\n\nAgent-Fix-Run: ${runId}\n`;
}
