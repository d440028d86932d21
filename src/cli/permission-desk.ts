/** Asks the person at the keyboard before a tool writes or runs anything, and remembers for the sitting what they always allow. */

import type { Tool } from "#src/harness/tool.ts";
import { describeGrant, type Grant, grantsFor, isAllowed, refusalText } from "#src/tools/permission.ts";
import { plainText } from "#src/trace/plain.ts";
import type { AskLine } from "./line-prompt.ts";
import type { Screen } from "./screen.ts";

export interface PermissionDesk {
  /** The tool as the agent gets it. */
  guard(tool: Tool): Tool;
}

export interface DeskParts {
  readonly screen: Screen;
  readonly ask: AskLine;
  /** Time stands still for the run while a person thinks. */
  readonly whileThinking: <T>(work: () => Promise<T>) => Promise<T>;
}

export function createPermissionDesk({ screen, ask, whileThinking }: DeskParts): PermissionDesk {
  const grants: Grant[] = [];
  return {
    guard: (tool) => ({
      ...tool,
      run: async (args, call) => {
        const asked = { tool, args };
        if (isAllowed(asked, grants)) return tool.run(args, call);
        screen.print(questionText(tool.name, args), "ask");
        const offered = grantsFor(asked);
        const answer = await whileThinking(() => askUntilClear(ask, offered, call.signal));
        // Stopped while it was asked: the call is answered like any other that was stopped.
        call.signal.throwIfAborted();
        if (answer.kind === "refuse") return { status: "error", text: refusalText(tool.name, answer.reason) };
        if (answer.grant !== null) grants.push(answer.grant);
        return tool.run(args, call);
      },
    }),
  };
}

export type Answer =
  | { readonly kind: "allow"; readonly grant: Grant | null }
  | { readonly kind: "refuse"; readonly reason: string };

async function askUntilClear(ask: AskLine, offered: readonly Grant[], signal: AbortSignal): Promise<Answer> {
  for (;;) {
    const line = await ask(promptText(offered), signal);
    // The end of input can't say yes.
    if (line === null) return { kind: "refuse", reason: "" };
    const answer = readAnswer(line, offered);
    if (answer !== null) return answer;
  }
}

/** `y`, `n`, `n <reason>`, `a` for the narrowest grant and `A` for a wider one; null: anything else, which is asked again. */
export function readAnswer(line: string, offered: readonly Grant[]): Answer | null {
  const [, word = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(line.trim()) ?? [];
  const reason = rest.trim();
  if (/^no?$/i.test(word)) return { kind: "refuse", reason };
  if (reason !== "") return null;
  if (/^y(es)?$/i.test(word)) return { kind: "allow", grant: null };
  const at = ["a", "A"].indexOf(word);
  const grant = offered[at];
  return grant === undefined ? null : { kind: "allow", grant };
}

export function promptText(offered: readonly Grant[]): string {
  const always = offered.map(
    (grant, at) => `, ${["a", "A"][at]} = always allow ${escaped(describeGrant(grant))}`,
  );
  return `Allow? y = yes, n = no, n <why> = no, and tell the model why${always.join("")}: `;
}

/** The whole of what the call was given, so written that nothing in it can pass for something else on a terminal. */
export function questionText(name: string, args: unknown): string {
  const fields = typeof args === "object" && args !== null ? Object.entries(args) : [["arguments", args]];
  return [`? ${name}`, ...fields.flatMap(([key, value]) => fieldLines(String(key), value))].join("\n");
}

function fieldLines(key: string, value: unknown): readonly string[] {
  if (typeof value !== "string") return [`  ${key}: ${escaped(JSON.stringify(value) ?? "undefined")}`];
  const lines = value.split("\n");
  if (lines.length === 1) return [`  ${key}: ${escaped(value)}`];
  return [`  ${key}:`, ...lines.map((line) => `  | ${escaped(line)}`)];
}

/** Backslashes doubled, and what cannot be seen as `\u{…}`: what reads the same is the same. */
function escaped(text: string): string {
  const doubled = text.replaceAll("\\", "\\\\");
  return doubled.replace(/[^\x20-\x7e]/gu, (character) => {
    const harmless = character === plainText(character) && !/[\p{C}\p{Z}\p{M}]/u.test(character);
    return harmless ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}
