/** Which files the agent's last answer names. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { namedFiles } from "#src/fix/steps/collect.ts";

test("G08: a line of its own names new files; a mention elsewhere does not", () => {
  assert.deepEqual(
    namedFiles("Fix it\n\nI made `scratch.js` to see it.\nNew files: `docs/a.md`, b c.txt.\n"),
    ["docs/a.md", "b c.txt"],
  );
  assert.deepEqual(namedFiles("**New files:** x.md\n- new files: y.md"), ["x.md", "y.md"]);
  assert.deepEqual(namedFiles("There are new files: none of them matters"), []);
  assert.deepEqual(namedFiles("New files:"), []);
});
