/** Ends and starts of a text hold no half of a character, and are never longer than was asked. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { headOf, tailOf } from "#src/base/cut-text.ts";

test("a start and an end are at most as long as was asked, whatever was asked", () => {
  for (const length of [-5, -1, 0, 1, 2, 3, 6, 7, 50])
    for (const cut of [headOf, tailOf])
      assert.ok(cut("ab😀cd", length).length <= Math.max(0, length), `${cut.name} of ${length}`);
});

test("a character of two units is kept whole or left out", () => {
  assert.deepEqual([headOf("ab😀cd", 3), headOf("ab😀cd", 4)], ["ab", "ab😀"]);
  assert.deepEqual([tailOf("ab😀cd", 3), tailOf("ab😀cd", 4)], ["cd", "😀cd"]);
});
