/** The evidence of a verdict as Markdown, for the plan comment and the pull request. Pure. */

import type { Evidence, FailToPass, NonEmpty, SuiteEvidence, TamperFinding } from "#src/run/verdict.ts";
import { createReasons } from "./changed-tests.ts";
import { cellCode, code, oneLine } from "./neutralise.ts";

/** How much of lists and names is shown. */
export interface Room {
  /** Members of a list. */
  readonly names: number;
  /** Characters of a name. */
  readonly chars: number;
}

export const FULL_ROOM: Room = { names: 12, chars: 160 };
export const SHORT_ROOM: Room = { names: 4, chars: 80 };

/** `brought`: how tests that come with the patch are called. */
export function provenBy(by: NonEmpty<FailToPass>, brought = "a test the agent wrote"): string {
  const names = by
    .slice(0, 3)
    .map((proof) => code(proof.test, FULL_ROOM.chars))
    .join(", ");
  const more = by.length > 3 ? ` and ${by.length - 3} more` : "";
  const kind = by.some((proof) => proof.source === "existing")
    ? "an existing test"
    : `${brought} (it fails without the fix)`;
  return `Proven by ${kind}: ${names}${more}.`;
}

/** One line that begins with a capital, as every reason of a verdict does; reasons that older runs kept may not. */
export function sentence(text: string, max: number): string {
  const line = oneLine(text, max);
  return line.slice(0, 1).toUpperCase() + line.slice(1);
}

export function evidenceTable(evidence: Evidence, room: Room = FULL_ROOM): string {
  const rows = evidence.suites
    .slice(0, 8)
    .map(
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
      room,
    ),
    nameList("Still failing, as before", evidence.stillFailing, room),
    nameList("Newly failing", evidence.newlyFailing, room),
    nameList("Flaky (not counted)", evidence.flaky, room),
    ...(evidence.failedChecks ?? [])
      .slice(0, room.names)
      .map(
        ({ name, command, exitCode }) =>
          `- Fails only with the patch: ${code(name, room.chars)}, ${code(command, room.chars)} (${exitCode === null ? "was stopped" : `exit code ${exitCode}`})`,
      ),
    ...evidence.notes.slice(0, room.names).map((note) => `- ${oneLine(note, 300)}`),
  ].filter((line) => line !== null);
  return lists.length === 0 ? table : `${table}\n\n${lists.join("\n")}`;
}

/** Findings; beside each changed test stands the reason that `words`, the agent's last answer, gives for it. Null: no agent was asked. */
export function tamperList(
  findings: readonly TamperFinding[],
  words: string | null,
  room: Room = FULL_ROOM,
): readonly string[] {
  const reasonFor = createReasons(words, room.chars);
  const lines = findings.slice(0, room.names).map((finding) => {
    const { kind, path, detail } = finding;
    return `- **${kind.replaceAll("_", " ")}** in ${code(path, room.chars)}: ${oneLine(detail, room.chars)}${reasonFor(finding)}`;
  });
  if (findings.length > room.names) lines.push(`- and ${findings.length - room.names} more findings`);
  return lines;
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

function nameList(title: string, names: readonly string[], room: Room): string | null {
  if (names.length === 0) return null;
  const shown = names
    .slice(0, room.names)
    .map((name) => code(name, room.chars))
    .join(", ");
  const more = names.length > room.names ? ` and ${names.length - room.names} more` : "";
  return `- ${title}: ${shown}${more}`;
}
