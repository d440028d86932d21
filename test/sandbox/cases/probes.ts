/** Conformance: every promise that `agent-fix doctor` tries on the operator's machine, by the same list. */

import assert from "node:assert/strict";
import { systemIds } from "#src/base/ids.ts";
import { openProbeBench, PROBES, type ProbeBench } from "#src/sandbox/probes/self-check.ts";
import { caseOf, type Rig, type Subject } from "#test/sandbox/rig.ts";
import { sample } from "#test/support/tier.ts";

/** In the quick tier, for each backend. */
const QUICK = 8;

/** The result closes what the cases share. */
export function probeCases(subject: Subject, rig: () => Rig): () => Promise<void> {
  const it = caseOf(subject, rig);
  let bench: Promise<ProbeBench> | null = null;
  for (const probe of sample(PROBES, QUICK)) {
    it(probe.kind, `doctor's line holds: ${probe.name}`, async ({ sandbox, dataDir }) => {
      bench ??= openProbeBench({ sandbox, dataDir, ids: systemIds, isRoot: process.getuid?.() === 0 });
      const line = await (await bench).run(probe);
      assert.ok(line.holds, line.detail);
    });
  }
  return async () => {
    await (await bench)?.[Symbol.asyncDispose]();
  };
}
