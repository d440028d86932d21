/** The report of `agent-fix verify` for a terminal: verdict first, then what was changed, run and found. Pure. */

import type { Verification } from "#src/fix/verify-patch.ts";
import { evidenceTable, provenBy, tamperList } from "#src/gate/evidence.ts";
import type { Verdict } from "#src/run/verdict.ts";

export const EXIT_CODES: Readonly<Record<Verdict["class"], number>> = {
  proven: 0,
  passing: 3,
  unproven: 4,
  refuted: 5,
};

function headline(verdict: Verdict): string {
  switch (verdict.class) {
    case "proven":
      return `PROVEN. ${provenBy(verdict.by, "a test of the patch's own")}`;
    case "passing":
      return `PASSING, not proven. ${verdict.because}`;
    case "unproven":
      return `NOT PROVEN (${verdict.reason.replaceAll("_", " ")}). ${verdict.detail}`;
    case "refuted":
      return `REFUTED. ${verdict.because.join(" ")}`;
  }
}

/** Control characters are shown as such: names of tests and files are the patch's own. */
function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "\uFFFD");
}

const LAST_LINES = 12;

/** The end of what it printed, indented. */
function lastWords({ evidence, output }: NonNullable<Verification["silent"]>): string {
  const lines = output.trim().split("\n").slice(-LAST_LINES);
  return `The run \`${evidence.label}\` reported no test. It ended with:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

export function describeVerification(verification: Verification): string {
  const { verdict, base, changes, detected, silent } = verification;
  const { evidence } = verdict;
  const files = changes.map((one) => `  ${one.status.padEnd(8)} ${one.path}`);
  const parts = [
    headline(verdict),
    `Base ${base}, ${changes.length === 1 ? "1 file" : `${changes.length} files`} changed:\n${files.join("\n")}`,
    ...(evidence.tampering.length === 0
      ? []
      : [`What judges the patch was changed by it:\n${tamperList(evidence.tampering, null).join("\n")}`]),
    evidenceTable(evidence),
    ...(silent === null ? [] : [lastWords(silent)]),
    ...(detected.notes.length === 0 ? [] : [detected.notes.map((note) => `- ${note}`).join("\n")]),
  ];
  return printable(parts.join("\n\n"));
}
