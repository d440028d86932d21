/** The tamper report in a worker thread: what it parses was written by strangers, and may be made to take long. */

import type { Clock } from "#src/base/clock.ts";
import { createOffload } from "#src/base/offload.ts";
import type { TamperFinding } from "#src/run/verdict.ts";
import type { Changed } from "./config.ts";
import type { Tamper } from "./report.ts";

/** A patch that takes longer is hostile, or a table of data. */
const PATCH_MS = 120_000;
const IDLE_MS = 20_000;
const MEMORY_MB = 512;

/** Where the thread does not answer, every changed file is a finding: what could not be compared was changed. */
function unread(files: readonly Changed[]): readonly TamperFinding[] {
  return files.map(({ path }) => ({
    kind: "existing_test_changed",
    path,
    detail: "the change could not be compared in time",
  }));
}

export function createTamper(clock: Clock): Tamper {
  const module = new URL("./report.ts", import.meta.url);
  const offload = createOffload({ module, clock, idleMs: IDLE_MS, memoryMb: MEMORY_MB });
  return async (files, unchangedTests) => {
    const controller = new AbortController();
    const over = clock.timer(PATCH_MS, () => controller.abort(new Error("the time limit was reached")));
    try {
      return (await offload.call(
        "tamperReport",
        [files, unchangedTests],
        controller.signal,
      )) as readonly TamperFinding[];
    } catch {
      // Ended, out of memory, or a defect of a grammar: the finding says so.
      return unread(files);
    } finally {
      over();
    }
  };
}
