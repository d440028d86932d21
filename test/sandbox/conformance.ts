/** The conformance suite of the sandbox port: every adapter runs it, and skips are declared with their reason. */

import { after, before, describe } from "node:test";
import { commandCases } from "#test/sandbox/cases/commands.ts";
import { endingCases } from "#test/sandbox/cases/endings.ts";
import { isolationCases } from "#test/sandbox/cases/isolation.ts";
import { limitCases } from "#test/sandbox/cases/limits.ts";
import { probeCases } from "#test/sandbox/cases/probes.ts";
import { createRig, type Rig, type Subject } from "#test/sandbox/rig.ts";

export function sandboxConformance(subject: Subject): void {
  describe(`sandbox conformance: ${subject.name}`, { concurrency: 2 }, () => {
    let rig: Rig | undefined;
    const current = () => {
      if (rig === undefined) throw new Error("the rig is not ready");
      return rig;
    };
    before(async () => {
      rig = await createRig(subject.make);
    });
    const closeProbes = probeCases(subject, current);
    after(async () => {
      await closeProbes();
      await rig?.close();
    });
    commandCases(subject, current);
    endingCases(subject, current);
    isolationCases(subject, current);
    limitCases(subject, current);
  });
}
