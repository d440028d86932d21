/** What a verdict carries for the evidence table: runs, proofs, what broke and with which words, and notes. Pure. */

import type { Evidence, FailToPass, TamperFinding } from "#src/run/verdict.ts";
import type { Comparison } from "./compare.ts";
import { caseMap } from "./compare.ts";
import type { VerdictFacts } from "./verify.ts";

const SHOWN = 5;

/** The first few names, and how many more there are. */
export function some(ids: readonly string[]): string {
  const names = ids.slice(0, SHOWN).map((id) => `\`${id}\``);
  return ids.length > SHOWN ? `${names.join(", ")} and ${ids.length - SHOWN} more` : names.join(", ");
}

/** What a look at the facts gives, before it is judged. */
export interface Seen {
  readonly facts: VerdictFacts;
  readonly comparison: Comparison;
  /** Flaky anywhere, new tests included. */
  readonly flaky: readonly string[];
  readonly proofs: readonly FailToPass[];
  readonly tampering: readonly TamperFinding[];
  /** Original tests that passed on the base and fail over the patched sources, whose files the patch changed. */
  readonly reliesOnChanged: readonly string[];
  /** The same, where no file that they could depend on was changed. */
  readonly originalBroken: readonly string[];
  readonly dependencies: readonly string[];
}

function notesOf(seen: Seen): readonly string[] {
  const { facts, comparison } = seen;
  const notes: string[] = [];
  if (facts.suite !== null)
    notes.push(
      `Tests: \`${facts.suite.command}\` in ${facts.suite.directory === "." ? "the root" : facts.suite.directory} (${facts.suite.because}).`,
    );
  for (const result of [facts.baseline, facts.patched])
    if (result !== null && result.mismatch !== null)
      notes.push(`${result.evidence.label}: ${result.mismatch}.`);
  if (facts.patched !== null && facts.patched.strength !== "report")
    notes.push(
      facts.patched.strength === "text"
        ? "Results were read from printed output."
        : "Results were read from the exit code alone.",
    );
  if (comparison.loads.length > 0)
    notes.push(`Could not be loaded on the base, and can be now: ${some(comparison.loads)}.`);
  return notes;
}

const MOST_MESSAGES = 8;
const MESSAGE_LINES = 6;

/** First lines of what the newly failing tests said. */
function messagesOf({ facts, comparison }: Seen): Readonly<Record<string, string>> {
  const cases = caseMap(facts.affected ?? facts.patched);
  const failing =
    facts.affected === null
      ? [...comparison.newlyFailing, ...comparison.addedFailing]
      : [...cases.values()].filter((one) => one.outcome === "fail").map((one) => one.id);
  return Object.fromEntries(
    failing.slice(0, MOST_MESSAGES).flatMap((id) => {
      const message = (cases.get(id)?.message ?? "").split("\n").slice(0, MESSAGE_LINES).join("\n");
      return message === "" ? [] : [[id, message]];
    }),
  );
}

export function evidenceOf(seen: Seen): Evidence {
  const { facts, comparison } = seen;
  const messages = messagesOf(seen);
  const suites = [
    facts.baseline,
    facts.patched,
    facts.originalTests,
    facts.newTestsOnBase,
    facts.affected,
  ].flatMap((result) => (result === null ? [] : [result.evidence]));
  return {
    suites,
    fixed: seen.proofs,
    stillFailing: comparison.stillFailing,
    newlyFailing: [
      ...comparison.newlyFailing,
      ...comparison.addedFailing,
      ...(facts.affected === null
        ? []
        : facts.affected.cases.filter((one) => one.outcome === "fail").map((one) => one.id)),
    ],
    ...(Object.keys(messages).length > 0 ? { newlyFailingWith: messages } : {}),
    flaky: seen.flaky,
    tampering: seen.tampering,
    ...(facts.failedChecks.length > 0 ? { failedChecks: facts.failedChecks } : {}),
    notes: notesOf(seen),
  };
}
