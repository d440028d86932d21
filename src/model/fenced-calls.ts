/** Finds tool calls in the text of a reply: fenced JSON blocks with a tool's name and its arguments. Pure. */

import { createObjectScanner, type SettledArguments, settleArguments } from "./call-arguments.ts";
import { asRecord, asText } from "./json-values.ts";

export interface FencedCall extends SettledArguments {
  readonly name: string;
}

export interface FencedOptions {
  /** False: the reply was cut off, so what its last fence leaves open is never a call. */
  readonly complete: boolean;
  readonly toolNames: ReadonlySet<string>;
}

const OPENING = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$/;
const CLOSING = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;

interface Fence {
  readonly mark: string;
  readonly language: string;
}

/** The calls in the order they were written. Blocks in another language, and JSON that names no tool, are text. */
export function fencedCalls(text: string, options: FencedOptions): readonly FencedCall[] {
  const lines = text.split(/\r?\n/);
  const calls: FencedCall[] = [];
  for (let at = 0; at < lines.length; at++) {
    const fence = openingAt(lines[at] ?? "");
    if (fence === null) continue;
    const end = endOfBlock(lines, at + 1, fence);
    if (fence.language === "json" && (end.closed || options.complete)) {
      calls.push(...callsIn(lines.slice(at + 1, end.line).join("\n"), options.toolNames));
    }
    at = end.line;
  }
  return calls;
}

function openingAt(line: string): Fence | null {
  const found = OPENING.exec(line);
  return found === null ? null : { mark: found[1] ?? "", language: (found[2] ?? "").toLowerCase() };
}

/**
 * The line of the fence that closes a block: inside the strings of a JSON object, where a model forgot to escape a line break,
 * a fence is text. If no fence comes after the end of the object, the first one counts, and the object is broken.
 */
function endOfBlock(
  lines: readonly string[],
  from: number,
  { mark, language }: Fence,
): { readonly line: number; readonly closed: boolean } {
  const scanner = createObjectScanner();
  let first: number | null = null;
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (closes(line, mark)) {
      if (language !== "json" || scanner.whole || !scanner.begun) return { line: at, closed: true };
      first ??= at;
    }
    scanner.read(`${line}\n`);
  }
  return { line: first ?? lines.length, closed: first !== null };
}

function closes(line: string, mark: string): boolean {
  const found = CLOSING.exec(line)?.[1];
  return found !== undefined && found[0] === mark[0] && found.length >= mark.length;
}

function callsIn(block: string, toolNames: ReadonlySet<string>): readonly FencedCall[] {
  const list = parsedList(block);
  if (list !== null) return list.flatMap((value) => callOf(value, toolNames) ?? []);
  const settled = settleArguments(block);
  if (settled.malformed === undefined) return callOf(JSON.parse(settled.arguments), toolNames) ?? [];
  const name = /^\s*\{[^{}]{0,200}?"tool"\s*:\s*"([^"\\]{1,100})"/.exec(block)?.[1];
  return name === undefined ? [] : [{ name, arguments: "{}", malformed: block }];
}

/** Several calls in one block, as a list. */
function parsedList(block: string): readonly unknown[] | null {
  if (!block.trimStart().startsWith("[")) return null;
  try {
    const value: unknown = JSON.parse(block);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** A list of one call, or null: an object that names no tool. `name` counts only for a tool that exists: JSON is full of names. */
function callOf(value: unknown, toolNames: ReadonlySet<string>): readonly FencedCall[] | null {
  const call = asRecord(value);
  const named = asText(call?.name);
  const name =
    asText(call?.tool) ??
    (named !== null && toolNames.has(named) && "arguments" in (call ?? {}) ? named : null);
  if (call === null || name === null) return null;
  const args = call.arguments ?? {};
  return [{ name, ...settleArguments(typeof args === "string" ? args : JSON.stringify(args)) }];
}

/** A call as the model is asked to write it. */
export function fencedCall(name: string, argumentsText: string): string {
  return `\`\`\`json\n{"tool": ${JSON.stringify(name)}, "arguments": ${argumentsText}}\n\`\`\``;
}
