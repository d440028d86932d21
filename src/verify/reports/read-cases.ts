/** From the texts that a suite run left to its test cases: pure, so that a thread of its own can do it where they are large. */

import type { Clock } from "#src/base/clock.ts";
import { createOffload } from "#src/base/offload.ts";
import { messageOf } from "#src/base/result.ts";
import type { EvidenceStrength } from "#src/run/verdict.ts";
import { parseReports, toCases } from "../reports.ts";
import type { RunnerKind, TestCase } from "../verify.ts";
import { parsePlaces } from "./places.ts";
import type { RawCase } from "./raw-case.ts";
import type { ReportFile } from "./report-files.ts";
import { parseText, testMoreMessages } from "./text.ts";

export interface Reading {
  readonly files: readonly ReportFile[];
  readonly runner: RunnerKind;
  /** Standard output; empty when some of it was dropped. */
  readonly printed: string;
  readonly stderr: string;
  /** The workspace's path as the tests saw it. */
  readonly root: string;
  /** The list of source files that was taken after the run; empty when none was. */
  readonly places: string;
}

export interface Read {
  readonly cases: readonly TestCase[];
  readonly strength: EvidenceStrength;
  /** A file that is not what its name says, or incomplete; null: none. */
  readonly problem: string | null;
}

/** Never rejects. */
export type ReadCases = (reading: Reading) => Promise<Read>;

/** What Perl's tests said of their failures stands on stderr alone. */
function withTestMore(cases: readonly RawCase[], { stderr, root }: Reading): readonly RawCase[] {
  const said = testMoreMessages(stderr);
  if (said.size === 0) return cases;
  return cases.map((one) => {
    const file = one.file.startsWith(`${root}/`) ? one.file.slice(root.length + 1) : one.file;
    const name = (one.names.at(-1) ?? "").replace(/\s+/g, " ");
    const message = one.outcome === "fail" && one.message === "" ? said.get(`${file} ${name}`) : undefined;
    return message === undefined ? one : { ...one, message };
  });
}

/** Exported for the thread. */
export function readCases(reading: Reading): Read {
  const { files, runner, root } = reading;
  const { cases, problem } = parseReports(files);
  const origin = { places: parsePlaces(reading.places), group: runner };
  const printed = parseText(runner, reading.printed, cases.length > 0);
  if (cases.length > 0) {
    const all = [...withTestMore(cases, reading), ...printed];
    return { cases: toCases(all, root, origin), strength: "report", problem };
  }
  // A report without a case is a suite without one, whatever was printed.
  if (files.length > 0) return { cases: [], strength: "exit_code", problem };
  return {
    cases: toCases(printed, root, origin),
    strength: printed.length > 0 ? "text" : "exit_code",
    problem,
  };
}

/** In this thread: for tests, and for callers that wait for nothing else. */
export const readHere: ReadCases = async (reading) => readCases(reading);

/** Below this, in UTF-16 units, starting a thread costs more than the reading. */
const SMALL = 512 * 1024;
const READ_MS = 60_000;
const IDLE_MS = 20_000;
const MEMORY_MB = 1024;

/** Large texts are read in a worker thread, so that the process answers meanwhile; one that takes too long is given up and said to. */
export function createReadCases(clock: Clock): ReadCases {
  const module = new URL("./read-cases.ts", import.meta.url);
  const offload = createOffload({ module, clock, idleMs: IDLE_MS, memoryMb: MEMORY_MB });
  return async (reading) => {
    const size = reading.files.reduce((sum, file) => sum + file.text.length, reading.printed.length);
    if (size < SMALL) return readCases(reading);
    const controller = new AbortController();
    const over = clock.timer(READ_MS, () => controller.abort(new Error("the time limit was reached")));
    try {
      return (await offload.call("readCases", [reading], controller.signal)) as Read;
    } catch (error) {
      const problem = `the test report could not be read: ${messageOf(error)}`;
      return { cases: [], strength: "exit_code", problem };
    } finally {
      over();
    }
  };
}
