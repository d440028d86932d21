/** Attacks on the app's time: texts and trees on which a careless reader never ends. Each is played in `slow.test.ts`. */

import type { Listed } from "#test/attacks/attack.ts";

export type SlowAttack = Omit<Listed, "group">;

const SOON = "the app answers within seconds, and its event loop with it";

export const SLOW = [
  { name: "a test file of one line of a megabyte, made for the patterns of the tamper report", holds: SOON },
  { name: "a source file of one line of a megabyte", holds: SOON },
  { name: "reports of results that are deep, long or full of entities", holds: SOON },
  {
    name: "a hundred thousand new files in the workspace",
    holds: "the tree is built or refused within its time, and the app stays small",
  },
  {
    name: "a pattern for the search tool that makes most engines run for ever",
    holds: "the tool answers within its time",
  },
  { name: "globs of the repository's settings that make most engines run for ever", holds: SOON },
] as const satisfies readonly SlowAttack[];
