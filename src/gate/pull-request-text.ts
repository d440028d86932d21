/** Title and body of the pull request, the commit message, and the footer that code appends after approval. Pure. */

import { shortDigest } from "#src/run/proposal.ts";
import type { Verdict } from "#src/run/verdict.ts";
import { evidenceTable, provenBy, tamperList } from "./evidence.ts";
import { cut, neutralise, oneLine } from "./neutralise.ts";

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

/** The body that is digested and approved. `Fixes #n` is the one working reference in it. */
export function pullRequestBody(facts: BodyFacts): string {
  const parts = [
    warningOnTop(facts.verdict),
    `Fixes #${facts.issue}`,
    "## What and why",
    facts.explanation === "" ? "The agent gave no explanation." : neutralise(cut(facts.explanation, 8_000)),
    "## Evidence",
    facts.verdict.class === "proven" ? provenBy(facts.verdict.by) : null,
    evidenceTable(facts.verdict.evidence),
    facts.template === null || facts.template.trim() === ""
      ? null
      : `<details><summary>Pull request template</summary>\n\n${cut(facts.template.replaceAll("</details>", ""), 8_000)}\n\n</details>`,
  ];
  return parts.filter((part) => part !== null).join("\n\n");
}

function warningOnTop(verdict: Verdict): string | null {
  const tampering = tamperList(verdict.evidence.tampering).map((line) => `> ${line}`);
  if (verdict.class === "proven")
    return tampering.length === 0 ? null : `> [!WARNING]\n${tampering.join("\n")}`;
  const sentence =
    verdict.class === "unproven"
      ? `**Not verified** (${verdict.reason.replaceAll("_", " ")}): ${oneLine(verdict.detail, 400)}`
      : verdict.class === "passing"
        ? `**Not proven**: nothing broke, but ${oneLine(verdict.because, 400)}`
        : "**Refuted**";
  return ["> [!WARNING]", `> ${sentence}`, ...tampering].join("\n");
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
