/** The slash-command grammar: the first non-blank line of a comment, and nothing that merely looks like one. */

import { headOf } from "#src/base/cut-text.ts";
import type { Command } from "#src/run/run.ts";

const VERBS = ["approve", "revise", "retry", "cancel", "status", "help"] as const;
const DIGEST = /^[0-9a-f]{12,64}$/;
const BUDGET = /^budget=(\d{1,6}(?:\.\d{1,2})?)$/;
const MAX_INSTRUCTION = 10_000;

const FORMS: Record<(typeof VERBS)[number], string> = {
  approve: "`/approve`, `/approve <digest>` or `/approve unverified`",
  revise: "`/revise <what to do differently>`",
  retry: "`/retry` or `/retry budget=5`",
  cancel: "`/cancel`",
  status: "`/status`",
  help: "`/help`",
};

/**
 * Reads the command of a comment body; null when it holds none.
 * The command stands at the very start of the first non-blank line; quotes, code and HTML comments therefore never
 * hold one. Only `/revise` takes the lines that follow. A second command line, or a near miss, gives `unclear`.
 */
export function parseCommand(body: string): Command | null {
  const lines = body.replaceAll("\r\n", "\n").replaceAll("\r", "\n").split("\n");
  const at = lines.findIndex((line) => line.trim() !== "");
  const first = (lines[at] ?? "").trimEnd();
  const word = /^\/([A-Za-z]+)(?=\s|$)/.exec(first)?.[1];
  if (word === undefined) return nearMiss(first);
  const verb = VERBS.find((known) => known === word);
  if (verb === undefined) return nearMiss(first);
  const rest = lines.slice(at + 1);
  if (outsideFences(rest).some(startsLikeCommand))
    return { verb: "unclear", hint: "One command a comment: please send them one by one." };
  return parseArguments(verb, first.slice(word.length + 1).trim(), rest);
}

function parseArguments(verb: (typeof VERBS)[number], argument: string, rest: readonly string[]): Command {
  switch (verb) {
    case "approve":
      return parseApprove(argument.split(/\s+/).filter((part) => part !== ""));
    case "revise": {
      // Without words it asks that failing checks of the pull request be mended; elsewhere it is refused.
      const text = [argument, ...rest].join("\n").trim();
      return { verb, text: headOf(text, MAX_INSTRUCTION) };
    }
    case "retry": {
      if (argument === "") return { verb, budgetUsd: null };
      const usd = Number(BUDGET.exec(argument)?.[1] ?? Number.NaN);
      return usd > 0 ? { verb, budgetUsd: usd } : unclear(verb);
    }
    default:
      return argument === "" ? { verb } : unclear(verb);
  }
}

function parseApprove(parts: readonly string[]): Command {
  const unverified = parts.includes("unverified");
  const others = parts.filter((part) => part !== "unverified");
  const [digest] = others;
  if (others.length > 1 || parts.length - others.length > 1) return unclear("approve");
  if (digest !== undefined && !DIGEST.test(digest)) return unclear("approve");
  return { verb: "approve", digest: digest ?? null, unverified };
}

function unclear(verb: (typeof VERBS)[number]): Command {
  return { verb: "unclear", hint: `I read \`/${verb}\` only in this form: ${FORMS[verb]}.` };
}

/** The lines that are no fenced code: what is shown there is spoken of, not said. A fence that is not closed goes on to the end, as on GitHub. */
function outsideFences(lines: readonly string[]): readonly string[] {
  let open: string | null = null;
  return lines.filter((line) => {
    const fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(line);
    const [, marks = "", after = ""] = fence ?? [];
    if (open === null) {
      open = marks === "" ? null : marks;
      return open === null;
    }
    if (marks.startsWith(open) && after.trim() === "") open = null;
    return false;
  });
}

function startsLikeCommand(line: string): boolean {
  const word = /^\/([a-z]+)(?=\s|$)/.exec(line.trimEnd())?.[1];
  return word !== undefined && VERBS.some((verb) => verb === word);
}

/** `/Approve`, `/approved`, `/cancelled`, `/aprove`: one letter off, or the verb in another form. Other bots' words stay theirs. */
function nearMiss(line: string): Command | null {
  const word = /^\/([A-Za-z]{3,12})[.,!:;]?(?:\s|$)/.exec(line)?.[1]?.toLowerCase();
  if (word === undefined) return null;
  const said = word.replace(/l?ed$/, "");
  const meant = VERBS.find((verb) => said === verb || distance(word, verb) <= 1);
  return meant === undefined ? null : unclear(meant);
}

/** Levenshtein distance, only told apart up to 2. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 1) return 2;
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const tail = a.length >= b.length ? i + 1 : i;
  const otherTail = b.length >= a.length ? i + 1 : i;
  if (a === b) return 0;
  return a.slice(tail) === b.slice(otherTail) ? 1 : 2;
}
