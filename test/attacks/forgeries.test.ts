/** None of the published forgeries yields `proven`, on any backend; the honest fix does. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { attackedBackends } from "#test/attacks/backends.ts";
import { playForgery } from "#test/attacks/forge.ts";
import { FORGERIES, NODE_BASE, PYTHON_BASE } from "#test/attacks/list/forgeries.ts";
import { createRig, type Rig } from "#test/sandbox/rig.ts";
import { FULL, sample, skipUnless } from "#test/support/tier.ts";

const QUICK = 2;

for (const backend of await attackedBackends())
  describe(`forgeries on ${backend.name}`, {
    skip: skipUnless(backend.missing === null, backend.missing ?? ""),
  }, () => {
    let rig: Rig;
    before(async () => {
      rig = await createRig(backend.make);
    });
    after(() => rig.close());

    const skip = FULL ? false : "in the quick tier the tests of the procedure show it";
    test("the honest fix is proven, in both projects", { skip }, async () => {
      const node = {
        "src/total.js": (NODE_BASE["src/total.js"] as string).replace(
          "items.length",
          "items.reduce((sum, item) => sum + item, 0)",
        ),
      };
      const python = { "shop/total.py": (PYTHON_BASE["shop/total.py"] as string).replace("len(", "sum(") };
      for (const [project, patch] of [
        ["node", node],
        ["unittest", python],
      ] as const) {
        const verdict = await playForgery({ name: "the fix", project, patch }, rig);
        assert.equal(verdict.class, "proven", JSON.stringify(verdict, null, 1));
      }
    });

    for (const forgery of sample(FORGERIES, QUICK))
      test(`forged: ${forgery.name}`, async (context) => {
        const verdict = await playForgery(forgery, rig);
        context.diagnostic(
          verdict.class === "unproven" ? `${verdict.class} (${verdict.reason})` : verdict.class,
        );
        assert.notEqual(verdict.class, "proven", JSON.stringify(verdict, null, 1));
      });
  });
