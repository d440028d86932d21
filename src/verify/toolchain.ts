/** Recognises that a suite did not run because a program or a runner is not there. */

import type { SuiteResult } from "./verify.ts";

const SHELL_CANNOT_FIND = 127;

const MESSAGES: readonly RegExp[] = [
  /(?:^|\s)([\w@./+-]+): command not found/,
  /(?:^|\s)(?:\/bin\/)?(?:ba|da)?sh: (?:line )?\d+: ([\w@./+-]+): not found/,
  /No module named '?(pytest|unittest2|nose2?|tox)'?\s*(?:\n|$)/,
  /(?:^|\n)make: ([\w./+-]+): No such file or directory/,
];

/** The program that a text names as not there, or null. */
export function toolMissingIn(text: string): string | null {
  for (const pattern of MESSAGES) {
    const name = pattern.exec(text)?.[1];
    if (name !== undefined) return name;
  }
  return null;
}

/** The name of the missing program, or null; only a run that reported no test and failed can say so. */
export function missingTool(result: SuiteResult): string | null {
  const { exitCode, stopped } = result.evidence;
  if (stopped !== null || exitCode === 0 || exitCode === null || result.cases.length > 0) return null;
  return (
    toolMissingIn(result.output) ??
    (exitCode === SHELL_CANNOT_FIND ? "the program that runs the tests" : null)
  );
}
