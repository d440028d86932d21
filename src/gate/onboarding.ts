/** The issue by which the app introduces itself to a repository that asked for it: what it found, what it may do, what to change. Pure. */

import type { SuiteEvidence } from "#src/run/verdict.ts";
import { evidenceTable } from "./evidence.ts";
import { LABEL } from "./label.ts";
import { code, fenced, oneLine } from "./neutralise.ts";

export interface FoundCommand {
  readonly command: string;
  readonly directory: string;
  readonly because: string;
}

export interface OnboardingFacts {
  readonly branch: string;
  readonly baseSha: string;
  readonly setup: FoundCommand | null;
  /** Why set-up failed, with the end of its log; null: it did not. */
  readonly setUpFailure: string | null;
  readonly test: FoundCommand | null;
  /** The suite on the base; null: none was run. */
  readonly baseline: { readonly suite: SuiteEvidence; readonly failing: readonly string[] } | null;
  readonly gates: readonly ("intent" | "change")[];
  /** Null: everyone with `approverPermission`. */
  readonly approvers: readonly string[] | null;
  readonly approverPermission: string;
  readonly budget: { readonly usd: number; readonly turns: number; readonly minutes: number };
  /** Hosts that set-up may reach. */
  readonly hosts: readonly string[];
  /** The installation's permissions that a run needs and does not have, as `name: level`. */
  readonly missing: readonly string[];
  /** What detection and the settings file had to say. */
  readonly notes: readonly string[];
}

/** By which the issue is found again. */
export const ONBOARDING_TITLE = "agent-fix: what it found here, and what it would do";

const MAX_NAMES = 12;
const MAX_LOG = 2_000;
const SETTINGS_FILE = ".github/agent-fix.yml";

/** Well below what GitHub takes, whatever the repository's texts are. */
export function renderOnboarding(facts: OnboardingFacts): string {
  const parts = [
    `I am installed on this repository. **Nothing happens until somebody with write access sets the label \`${LABEL}\` on an issue**; an operator asked me to say beforehand what I would do. Close this issue when you have read it.`,
    "## What I found",
    foundTable(facts),
    notes(facts),
    "## The tests as they are",
    baselineText(facts),
    "## What happens after the label",
    afterLabel(facts),
    "## What I may and may not do",
    rights(facts),
    "## To change any of this",
    `Commit \`${SETTINGS_FILE}\` to \`${plain(facts.branch)}\`. It can only narrow what the operator allows. With what was found here it would be:\n\n${settingsExample(facts)}`,
  ];
  return parts.filter((part) => part !== null).join("\n\n");
}

function foundTable({ setup, test, branch, baseSha }: OnboardingFacts): string {
  const row = (what: string, found: FoundCommand | null, none: string) =>
    found === null
      ? `- **${what}**: ${none}`
      : `- **${what}**: ${code(found.command)}${found.directory === "." ? "" : ` in ${code(found.directory)}`}, from ${oneLine(found.because, 200)}`;
  return [
    `On commit \`${baseSha.slice(0, 12)}\` of ${code(branch)}:`,
    "",
    row("Set-up", setup, "there is nothing to install"),
    row(
      "Tests",
      test,
      `none were found. Without tests I can prove nothing; name the command in \`${SETTINGS_FILE}\`.`,
    ),
  ].join("\n");
}

function notes({ notes: said }: OnboardingFacts): string | null {
  return said.length === 0
    ? null
    : said
        .slice(0, MAX_NAMES)
        .map((note) => `- ${oneLine(note, 300)}`)
        .join("\n");
}

function baselineText({ setUpFailure, baseline }: OnboardingFacts): string {
  if (setUpFailure !== null)
    return `Set-up failed in the sandbox, so that no run could start here:\n\n${fenced(setUpFailure, "text", MAX_LOG).block}`;
  if (baseline === null) return "No tests were run.";
  const { suite, failing } = baseline;
  const table = evidenceTable({
    suites: [suite],
    fixed: [],
    stillFailing: failing,
    newlyFailing: [],
    flaky: [],
    tampering: [],
    notes: [],
  });
  const sentence =
    failing.length === 0
      ? "I ran them once, in the sandbox and without a network. A fix is measured against this:"
      : "I ran them once, in the sandbox and without a network. Tests that fail already are never held against a fix:";
  return `${sentence}\n\n${table}`;
}

function afterLabel({ gates, approvers, approverPermission, budget }: OnboardingFacts): string {
  const who =
    approvers === null
      ? `anyone with the permission \`${plain(approverPermission)}\``
      : approvers
          .slice(0, MAX_NAMES)
          .map((one) => code(one))
          .join(", ");
  const steps = [
    "I react to the issue and keep one status comment.",
    gates.includes("intent")
      ? "An agent that can only read posts what it intends and what that may cost; `/approve` begins the work."
      : null,
    `An agent works on a copy in a sandbox without a network, for at most ${budget.turns} turns, ${budget.minutes} minutes and $${budget.usd.toFixed(2)}.`,
    "I run the tests on fresh copies that the agent never touched, and post a plan: the diff, the evidence, and what it cost.",
    `Only when a maintainer answers \`/approve\` (${who}) do I push one branch and open one pull request with exactly what the plan showed. \`/cancel\` stops everything at any time.`,
  ].filter((step) => step !== null);
  return steps.map((step, at) => `${at + 1}. ${step}`).join("\n");
}

function rights({ hosts, missing }: OnboardingFacts): string {
  const lines = [
    "- I never push to an existing branch but my own, never force, never merge.",
    "- I never change workflows, this settings file or other protected paths, unless the operator allows it.",
    `- Set-up reaches these hosts and no other: ${
      hosts.length === 0
        ? "none"
        : hosts
            .slice(0, MAX_NAMES)
            .map((host) => code(host))
            .join(", ")
    }${hosts.length > MAX_NAMES ? ` and ${hosts.length - MAX_NAMES} more` : ""}. The agent and the tests reach none.`,
    "- Issue texts are data to the agent. Text that people cannot see is removed from them and named.",
  ];
  if (missing.length > 0)
    lines.push(
      `- **The installation lacks ${missing.map((one) => code(one)).join(", ")}**; until an owner accepts them in its settings, runs end with that message.`,
    );
  return lines.join("\n");
}

function settingsExample({ setup, test, gates, budget }: OnboardingFacts): string {
  const command = (key: string, found: FoundCommand | null) =>
    found === null ? [] : [`${key}: ${JSON.stringify(found.command)}`];
  const lines = [
    ...command("setup", setup),
    ...command("test", test),
    `gates: [${gates.join(", ")}]`,
    "budget:",
    `  usd: ${budget.usd}`,
    `  turns: ${budget.turns}`,
    `  minutes: ${budget.minutes}`,
  ];
  return fenced(lines.join("\n"), "yaml", MAX_LOG).block;
}

function plain(text: string): string {
  return text.replace(/[^\w./-]/g, "");
}
