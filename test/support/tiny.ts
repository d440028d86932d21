/** A repository so small that a whole run on it takes a second or two, and the model that mends it. */

import type { ModelScript } from "#src/demo/model-server.ts";
import { byTurns, call, say } from "#test/support/model-turns.ts";

/** Holds whatever runs it until it is killed. */
export const FOREVER = "sleep 600";

/** A suite without a runner is judged by its exit code; `test` and `setup` are the texts of those scripts. */
export function tinyFiles(
  scripts: { readonly test?: string; readonly setup?: string } = {},
): Readonly<Record<string, string>> {
  const setup = scripts.setup === undefined ? "" : "setup: sh setup.sh\n";
  return {
    "add.js": "export const add = (a, b) => a - b;\n",
    "test.sh": `${scripts.test ?? "grep -q 'a [-+] b' add.js"}\n`,
    ...(scripts.setup === undefined ? {} : { "setup.sh": `${scripts.setup}\n` }),
    ".github/agent-fix.yml": `test: sh test.sh\n${setup}`,
  };
}

/** One edit, then the closing words. */
export const MEND: ModelScript = byTurns(
  call("edit_file", { path: "add.js", old: "a - b", new: "a + b" }),
  say("Add instead of subtracting\n\nThe sign was wrong."),
);
