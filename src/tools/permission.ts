/** What a tool call may do without asking the person at the keyboard, and which "always" can be offered. Pure. */

import type { Tool } from "#src/harness/tool.ts";
import { parsePath, showPath } from "./paths.ts";

/** One "always" that a person gave; it holds for the sitting only. */
export type Grant =
  /** Commands that begin with exactly these words. */
  | { readonly kind: "command"; readonly words: readonly string[] }
  /** Edits of this file, as `showPath` writes it. */
  | { readonly kind: "edit"; readonly path: string }
  | { readonly kind: "edits" }
  /** The detected test suite, with whatever filter. */
  | { readonly kind: "tests" };

/** A call whose arguments have been checked against the tool's schema. */
export interface Asked {
  readonly tool: Pick<Tool, "name" | "readOnly">;
  readonly args: unknown;
}

/**
 * The only characters of a command that a grant may cover: none of them means anything to a shell. A list of what is
 * harmless cannot forget a character, as a list of `; & | > < $ ( ) * ? { } ~ \ " '` and line ends could.
 */
const PLAIN_COMMAND = /^[A-Za-z0-9_./:=@%+, -]+$/;
/** After these a package manager's next word says what is run. */
const RUNNERS: ReadonlySet<string> = new Set(["run", "exec", "x", "dlx", "run-script"]);

/** Reading and keeping a to-do list changes nothing. */
function isHarmless({ tool }: Asked): boolean {
  return tool.readOnly || tool.name === "update_todos";
}

/** True when the call runs at once: it changes nothing, or one of the grants covers it whole. */
export function isAllowed(asked: Asked, grants: readonly Grant[]): boolean {
  return isHarmless(asked) || grants.some((grant) => covers(grant, asked));
}

function covers(grant: Grant, asked: Asked): boolean {
  switch (grant.kind) {
    case "command": {
      const words = plainWords(asked);
      return words !== null && grant.words.length > 0 && grant.words.every((word, at) => words[at] === word);
    }
    case "edit":
      return editedPath(asked) === grant.path;
    case "edits":
      return editedPath(asked) !== null;
    case "tests":
      return asked.tool.name === "run_tests";
  }
}

/** What the person can allow for the rest of the sitting, the narrowest first; empty: this call can only be allowed by itself. */
export function grantsFor(asked: Asked): readonly Grant[] {
  if (asked.tool.name === "run_tests") return [{ kind: "tests" }];
  const path = editedPath(asked);
  if (path !== null) return [{ kind: "edit", path }, { kind: "edits" }];
  const words = plainWords(asked);
  return words === null ? [] : [{ kind: "command", words: firstWords(words) }];
}

/** `npm test`, `npm run build`, `node test/a.js`; the whole command when an option comes second, since that says what is run (`node -e …`). */
function firstWords(words: readonly string[]): readonly string[] {
  const second = words[1] ?? "";
  if (second.startsWith("-")) return words;
  return words.slice(0, RUNNERS.has(second) ? 3 : 2);
}

/** The grant in words that fit after "always allow". */
export function describeGrant(grant: Grant): string {
  switch (grant.kind) {
    case "command":
      return `commands that begin with \`${grant.words.join(" ")}\``;
    case "edit":
      return `edits of ${grant.path}`;
    case "edits":
      return "all edits";
    case "tests":
      return "test runs";
  }
}

/** The words of a command without any shell syntax; null for everything else. A leading assignment changes what the command means. */
function plainWords({ tool, args }: Asked): readonly string[] | null {
  if (tool.name !== "run_command") return null;
  const command = textField(args, "command");
  if (command === null || !PLAIN_COMMAND.test(command)) return null;
  const words = command.split(" ").filter((word) => word !== "");
  const [first] = words;
  return first === undefined || first.includes("=") ? null : words;
}

/** Null when it is no edit or the path is none the tool would take. */
function editedPath({ tool, args }: Asked): string | null {
  if (tool.name !== "edit_file") return null;
  const names = parsePath(textField(args, "path") ?? "..");
  return names.ok ? showPath(names.value) : null;
}

function textField(args: unknown, name: string): string | null {
  if (typeof args !== "object" || args === null || !Object.hasOwn(args, name)) return null;
  const value: unknown = (args as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" ? value : null;
}

/** What the model reads when the person said no. */
export function refusalText(tool: string, reason: string): string {
  const why = reason === "" ? "" : ` They say: ${reason}`;
  return `The person at the keyboard refused this call of ${tool}; it did not run.${why}\nDo not try the same again: ${reason === "" ? "go on without it, or reach the goal another way" : "take their words into account"}.`;
}
