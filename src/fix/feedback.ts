/** What a verdict tells the agent when it is sent back: short, structured, and only what it needs to do better. Pure. */

import { headOf } from "#src/base/cut-text.ts";
import type { Verdict } from "#src/run/verdict.ts";

const MAX_NAMES = 8;
const MAX_MESSAGE = 600;
const MAX_NAME = 200;
const CHECK_LINES = 8;

const MISSING =
  "For a proof there must be at least one test that fails without your change, in the assertion that concerns it, and passes with it, while nothing that passed before fails.";

/** The message for the agent; null when sending it back would not help. `protectedPath` is a file it must not touch. */
export function feedbackFor(verdict: Verdict, protectedPath: string | null): string | null {
  const parts = [
    protectedPath === null
      ? null
      : `You changed ${protectedPath}. Files like that must stay as they are: put it back.`,
    verdictPart(verdict),
    checksPart(verdict),
  ].filter((part) => part !== null);
  if (parts.length === 0) return null;
  return `Your change was checked by running the tests in a fresh copy.\n\n${parts.join("\n\n")}\n\nGo on from your last state, mend this, run the tests, and finish with the title and explanation as before.`;
}

function verdictPart(verdict: Verdict): string | null {
  if (verdict.class === "refuted")
    return `It is refuted:\n${list(verdict.because)}${newlyFailing(verdict)}\n\n${MISSING}`;
  if (verdict.class !== "unproven") return null;
  switch (verdict.reason) {
    case "tampered":
      return `It cannot count, because tests or their settings were tampered with. Undo this and fix the source instead:\n${list(
        verdict.evidence.tampering.map((finding) => `${finding.kind} in ${finding.path}: ${finding.detail}`),
      )}\n\n${MISSING}`;
    case "none_ran":
    case "timed_out":
      return `It could not be verified: ${verdict.detail}`;
    default:
      return null;
  }
}

function newlyFailing(verdict: Verdict): string {
  const { newlyFailing: names, newlyFailingWith: messages = {} } = verdict.evidence;
  if (names.length === 0) return "";
  const told = names.map((name) => {
    const message = messages[name];
    return message === undefined ? name : `${headOf(name, MAX_NAME)}\n${message.replace(/^/gm, "    ")}`;
  });
  return `\nTests that passed before and fail now:\n${list(told)}`;
}

/** Lint, format and types; they make no verdict, but a maintainer would have to mend them. */
function checksPart(verdict: Verdict): string | null {
  const checks = verdict.evidence.failedChecks ?? [];
  if (checks.length === 0) return null;
  const told = checks.map(({ name, command, output }) => `${name}: ${command}\n${tail(output)}`);
  return `These checks of the repository pass without your change and fail with it:\n${list(told)}`;
}

function tail(output: string): string {
  return output.split("\n").slice(-CHECK_LINES).join("\n").replace(/^/gm, "    ");
}

function list(items: readonly string[]): string {
  const lines = items.slice(0, MAX_NAMES).map((item) => `- ${headOf(item, MAX_MESSAGE)}`);
  if (items.length > MAX_NAMES) lines.push(`- and ${items.length - MAX_NAMES} more`);
  return lines.join("\n");
}
