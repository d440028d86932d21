/** A job that costs little: a repository without tests, so that no suite runs, and a model that edits one line of it. */

import type { ModelScript } from "#src/demo/model-server.ts";
import { byTurns, call, say } from "#test/support/model-turns.ts";

export const SMALL_FILES: Readonly<Record<string, string>> = {
  "add.zig": "fn add(a: i32, b: i32) i32 { return a - b; }\n",
};

/** Its plan is unproven for want of tests, so only `/approve unverified` publishes it. */
export const smallJob: ModelScript = byTurns(
  call("edit_file", { path: "add.zig", old: "a - b", new: "a + b" }),
  say("Add instead of subtracting\n\nIt subtracted."),
);
