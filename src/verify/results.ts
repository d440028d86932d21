/** Reads what a suite run left behind: reports outside the workspace first, then those a runner wrote into it, then its printed text. */

import { canonicalJson, sha256 } from "#src/base/canonical-json.ts";
import type { SuiteEvidence } from "#src/run/verdict.ts";
import type { Captured, ExecResult, Session } from "#src/sandbox/sandbox.ts";
import { collectScript } from "./hooks.ts";
import type { ReadCases } from "./reports/read-cases.ts";
import { readPlaces, readReports } from "./reports/report-files.ts";
import { runnerOf } from "./runners.ts";
import type { DetectedSuite, TestCase } from "./verify.ts";

/** A run that has ended, as far as its results are concerned. */
export interface Ran {
  readonly exec: ExecResult;
  /** The workspace's path as the tests saw it. */
  readonly root: string;
}

export interface ResultsRequest {
  readonly session: Session;
  readonly suite: DetectedSuite;
  /** Host directory mounted at `/reports`. */
  readonly reports: string;
  readonly signal: AbortSignal;
}

export interface Results {
  readonly cases: readonly TestCase[];
  readonly strength: SuiteEvidence["strength"];
  /** SHA-256 over names and contents of the report files; null: there was none. */
  readonly reportSha256: string | null;
  /** Why the results are not to be trusted as they stand; null: nothing speaks against them. */
  readonly problem: string | null;
}

/** Also the marker by which a missing report is recognised when it was missing on the base as well. */
export const NO_REPORT = "no test report was written";

const COLLECT_MS = 30_000;

function whole(captured: Captured): string {
  return captured.droppedBytes === 0 ? captured.head + captured.tail : "";
}

function digestOf(files: readonly { readonly name: string; readonly text: string }[]): string {
  const byName = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
  return sha256(canonicalJson(byName.map(({ name, text }) => [name, sha256(text)])));
}

/**
 * Cases with ids, how strong the evidence is, and what is wrong with it. `read` does the reading of strangers' text, in a
 * thread of its own where it is large. A failing disk of the host rejects.
 */
export async function readResults(request: ResultsRequest, ran: Ran, read: ReadCases): Promise<Results> {
  const runner = runnerOf(request.suite.runner);
  if (runner.collect)
    await request.session.exec({
      argv: ["bash", "-c", collectScript()],
      timeoutMs: COLLECT_MS,
      outputBytes: 4096,
      signal: request.signal,
    });
  const { files, refused } = await readReports(request.reports);
  const { stdout, stderr } = ran.exec;
  const found = await read({
    files,
    runner: request.suite.runner,
    printed: whole(stdout),
    stderr: stderr.head + stderr.tail,
    root: ran.root,
    places: runner.collect ? await readPlaces(request.reports) : "",
  });
  const silent = files.length === 0 && runner.reports ? NO_REPORT : null;
  return {
    cases: found.cases,
    strength: found.strength,
    problem: refused[0] ?? found.problem ?? silent,
    reportSha256: files.length === 0 ? null : digestOf(files),
  };
}
