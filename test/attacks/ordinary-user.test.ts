/** The attack suite for an app that is an ordinary user: in a child that gave root up when the tests run as root. */

import { join } from "node:path";
import { test } from "node:test";
import { runAsOrdinaryUser } from "#test/sandbox/as-ordinary-user.ts";
import { FULL, inTurn, SEED } from "#test/support/tier.ts";

const FILES = { attacks: "attacks.test.ts", forgeries: "forgeries.test.ts", "attacks by git": "git.test.ts" };

if (process.getuid?.() === 0)
  for (const [turn, [what, file]] of Object.entries(FILES).entries()) {
    if (!inTurn(turn, 3)) continue;
    test(`the ${what} are stopped for an ordinary user too`, (context) =>
      runAsOrdinaryUser(join(import.meta.dirname, file), context, {
        TEST_TIER: FULL ? "full" : "quick",
        TEST_SEED: String(SEED),
      }));
  }
