/** The attack suite for an app that is an ordinary user: in a child that gave root up when the tests run as root. */

import { join } from "node:path";
import { test } from "node:test";
import { runAsOrdinaryUser } from "#test/sandbox/as-ordinary-user.ts";
import { FULL, SEED } from "#test/support/tier.ts";

if (process.getuid?.() === 0)
  test("the attacks are stopped for an ordinary user too", (context) =>
    runAsOrdinaryUser(join(import.meta.dirname, "attacks.test.ts"), context, {
      TEST_TIER: FULL ? "full" : "quick",
      TEST_SEED: String(SEED),
    }));
