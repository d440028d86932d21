/** The table of test runners: how each is recognised in a command, and which report hooks reach it. */

import type { RunnerKind } from "./verify.ts";

export type HookFamily = "node" | "python";

export interface Runner {
  readonly kind: RunnerKind;
  /** Matches the runner's call inside shell text; null: it is never recognised from text. */
  readonly call: RegExp | null;
  /** Hooks given to its runs. Wrappers get all of them, since what they start is not known. */
  readonly hooks: readonly HookFamily[];
  /** Our hook makes it write a report, so that a missing one is worth a question. */
  readonly reports: boolean;
}

const START = String.raw`(?:^|[\s;&|(/"'])`;

/** First match wins: runners before the wrappers that may start them. */
export const RUNNERS: readonly Runner[] = [
  { kind: "vitest", call: new RegExp(`${START}vitest(?=\\s|$|["';&|)])`), hooks: ["node"], reports: true },
  { kind: "jest", call: new RegExp(`${START}jest(?=\\s|$|["';&|)])`), hooks: ["node"], reports: true },
  {
    kind: "node-test",
    call: new RegExp(`${START}(?:node|tsx)\\s(?:[^|;&\\n]*\\s)?--test(?=\\s|$|["'=;&|)])`),
    hooks: ["node"],
    reports: true,
  },
  {
    kind: "pytest",
    call: new RegExp(`${START}(?:pytest|py\\.test)(?=\\s|$|["';&|)])`),
    hooks: ["python"],
    reports: true,
  },
  {
    kind: "unittest",
    call: new RegExp(`${START}python[\\d.]*\\s(?:[^|;&\\n]*\\s)?-m\\s+unittest(?=\\s|$|["';&|)])`),
    hooks: ["python"],
    reports: true,
  },
  {
    kind: "make",
    call: new RegExp(`${START}g?make(?=\\s|$|["';&|)])`),
    hooks: ["node", "python"],
    reports: false,
  },
  { kind: "unknown", call: null, hooks: ["node", "python"], reports: false },
];

/** The runner that shell text calls; `unknown` when none of the table is seen. */
export function recognise(command: string): RunnerKind {
  return RUNNERS.find((runner) => runner.call?.test(command))?.kind ?? "unknown";
}

export function runnerOf(kind: RunnerKind): Runner {
  const found = RUNNERS.find((runner) => runner.kind === kind);
  if (found === undefined) throw new Error(`no such runner: ${kind}`);
  return found;
}

const WATCH_FLAG = /\s--watch(?:-?all)?(?:=(?!false)\S+)?(?=\s|$)/gi;
const WATCH_COMMAND = /\bvitest\s+(?:watch|dev)\b/g;

/** True when shell text asks for watch mode in so many words; `CI=true` does not overrule that. */
export function asksToWatch(command: string): boolean {
  return command.search(WATCH_FLAG) >= 0 || command.search(WATCH_COMMAND) >= 0;
}

/** The same command run once: watch flags and sub-commands removed. */
export function withoutWatch(command: string): string {
  return command.replace(WATCH_COMMAND, "vitest run").replace(WATCH_FLAG, "");
}

/** True for `vitest` without `run`: it watches wherever it believes that a person sits there. */
export function mayWatch(command: string): boolean {
  const call = /(?:^|[\s;&|])vitest(\s+[^;&|]*)?$/.exec(command);
  return call !== null && !/(?:^|\s)(?:run|--run|related|bench|list)(?:\s|$)/.test(call[1] ?? "");
}
