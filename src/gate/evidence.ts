/** The evidence of a verdict as Markdown, for the plan comment and the pull request. Pure. */

import type { Evidence, FailToPass, NonEmpty, SuiteEvidence, TamperFinding } from "#src/run/verdict.ts";
import { cellCode, code, oneLine } from "./neutralise.ts";

const MAX_NAMES = 12;

export function provenBy(by: NonEmpty<FailToPass>): string {
  const names = by
    .slice(0, 3)
    .map((proof) => code(proof.test))
    .join(", ");
  const more = by.length > 3 ? ` and ${by.length - 3} more` : "";
  const kind = by.some((proof) => proof.source === "existing")
    ? "an existing test"
    : "a test the agent wrote (it fails without the fix)";
  return `Proven by ${kind}: ${names}${more}.`;
}

export function evidenceTable(evidence: Evidence): string {
  const rows = evidence.suites.map(
    (suite) =>
      `| ${suite.label} | ${cellCode(commandOf(suite), 100)} | ${endOf(suite)} | ${suite.counts.passed} | ${suite.counts.failed} | ${suite.counts.skipped} | ${strengthOf(suite)} |`,
  );
  const table = [
    "| run | command | exit | passed | failed | skipped | read from |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...(rows.length === 0 ? ["| none | | | | | | |"] : rows),
  ].join("\n");
  const lists = [
    nameList(
      "Fixed (failed before, pass now)",
      evidence.fixed.map((proof) => proof.test),
    ),
    nameList("Still failing, as before", evidence.stillFailing),
    nameList("Newly failing", evidence.newlyFailing),
    nameList("Flaky (not counted)", evidence.flaky),
    ...evidence.notes.map((note) => `- ${oneLine(note, 300)}`),
  ].filter((line) => line !== null);
  return lists.length === 0 ? table : `${table}\n\n${lists.join("\n")}`;
}

export function tamperList(findings: readonly TamperFinding[]): readonly string[] {
  return findings
    .slice(0, MAX_NAMES)
    .map(
      (finding) =>
        `- **${finding.kind.replaceAll("_", " ")}** in ${code(finding.path)}: ${oneLine(finding.detail, 200)}`,
    );
}

function commandOf(suite: SuiteEvidence): string {
  return suite.directory === "." ? suite.command : `(cd ${suite.directory} && ${suite.command})`;
}

function endOf(suite: SuiteEvidence): string {
  if (suite.stopped !== null) return `stopped: ${suite.stopped.replaceAll("_", " ")}`;
  return suite.exitCode === null ? "?" : String(suite.exitCode);
}

function strengthOf(suite: SuiteEvidence): string {
  return { report: "test report", text: "printed text (weaker)", exit_code: "exit code only (weakest)" }[
    suite.strength
  ];
}

function nameList(title: string, names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const shown = names
    .slice(0, MAX_NAMES)
    .map((name) => code(name.length > 160 ? `${name.slice(0, 159)}…` : name))
    .join(", ");
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return `- ${title}: ${shown}${more}`;
}
