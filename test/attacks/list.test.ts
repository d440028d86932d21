/** The list of attacks: large enough, without doubles, and honest about what is not stopped. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { GROUPS } from "#test/attacks/attack.ts";
import { ATTACKS } from "#test/attacks/everything.ts";

const LIMITATIONS = readFileSync(join(import.meta.dirname, "../../docs/limitations.md"), "utf8").replace(
  /\s+/g,
  " ",
);

test("there are at least sixty attacks of every kind, each with a name of its own", () => {
  assert.ok(ATTACKS.length >= 60, `${ATTACKS.length}`);
  assert.equal(new Set(ATTACKS.map((attack) => attack.name)).size, ATTACKS.length);
  for (const group of Object.keys(GROUPS))
    assert.ok(
      ATTACKS.some((attack) => attack.group === group),
      group,
    );
});

test("what a backend cannot stop is named in the limitations", () => {
  for (const attack of ATTACKS)
    if (attack.notStopped !== undefined) assert.ok(LIMITATIONS.includes(attack.name), attack.name);
});
