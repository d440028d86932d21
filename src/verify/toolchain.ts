/** Recognises that a suite did not run because a program or a runner is not there. */

import type { SuiteResult } from "./verify.ts";

const SHELL_CANNOT_FIND = 127;

const MESSAGES: readonly RegExp[] = [
  /(?:^|\n)(?:[\w/.-]+: )?(?:line \d+: )?(?:\d+: )?([\w@./+-]+): (?:command )?not found/,
  /No module named '?(pytest|unittest2|nose2?|tox)'?\s*(?:\n|$)/,
  /(?:^|\n)make: ([\w./+-]+): No such file or directory/,
];

/** The name of the missing program, or null; only a run that reported no test and failed can say so. */
export function missingTool(result: SuiteResult): string | null {
  const { exitCode, stopped } = result.evidence;
  if (stopped !== null || exitCode === 0 || exitCode === null || result.cases.length > 0) return null;
  for (const pattern of MESSAGES) {
    const name = pattern.exec(result.output)?.[1];
    if (name !== undefined) return name;
  }
  return exitCode === SHELL_CANNOT_FIND ? "the program that runs the tests" : null;
}
