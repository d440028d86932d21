/** The starter of host programs: it makes them give way to the app, and where it may not, they run all the same. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

const CHILD = new URL("../../src/workspace/git-child.ts", import.meta.url).href;
const PROGRAM = `
const { start, ended } = await import(${JSON.stringify(CHILD)});
start(1, { program: "true", args: [], cwd: "/", environment: {}, stdin: null, outputBytes: 10 });
console.log((await ended(1)).code);`;

test("a program is started also where the app is nicer than its programs and may not take that back", () => {
  // Root may, unless it is without that right.
  const weaker = process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-sys_nice"] : [];
  const node = [process.execPath, "--input-type=module", "-e", PROGRAM];
  const ran = spawnSync("nice", ["-n", "15", ...weaker, ...node], { encoding: "utf8" });
  assert.deepEqual([ran.stdout.trim(), ran.status], ["0", 0], ran.stderr);
});
