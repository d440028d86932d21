/** Reads what a suite run left behind: reports outside the workspace first, then those a runner wrote into it, then its printed text. */

import { canonicalJson, sha256 } from "#src/base/canonical-json.ts";
import type { SuiteEvidence } from "#src/run/verdict.ts";
import type { Captured, ExecResult, Session } from "#src/sandbox/sandbox.ts";
import { collectScript } from "./hooks.ts";
import { parsePlaces } from "./reports/places.ts";
import type { RawCase } from "./reports/raw-case.ts";
import { readPlaces, readReports } from "./reports/report-files.ts";
import { parseText, testMoreMessages } from "./reports/text.ts";
import { parseReports, toCases } from "./reports.ts";
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

/** What Perl's tests said of their failures stands on stderr alone. */
function withTestMore(cases: readonly RawCase[], ran: Ran): readonly RawCase[] {
  const { head, tail } = ran.exec.stderr;
  const said = testMoreMessages(head + tail);
  if (said.size === 0) return cases;
  return cases.map((one) => {
    const file = one.file.startsWith(`${ran.root}/`) ? one.file.slice(ran.root.length + 1) : one.file;
    const name = (one.names.at(-1) ?? "").replace(/\s+/g, " ");
    const message = one.outcome === "fail" && one.message === "" ? said.get(`${file} ${name}`) : undefined;
    return message === undefined ? one : { ...one, message };
  });
}

function digestOf(files: readonly { readonly name: string; readonly text: string }[]): string {
  const byName = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
  return sha256(canonicalJson(byName.map(({ name, text }) => [name, sha256(text)])));
}

/** Cases with ids, how strong the evidence is, and what is wrong with it. A failing disk of the host rejects. */
export async function readResults(request: ResultsRequest, ran: Ran): Promise<Results> {
  const runner = runnerOf(request.suite.runner);
  if (runner.collect)
    await request.session.exec({
      argv: ["bash", "-c", collectScript()],
      timeoutMs: COLLECT_MS,
      outputBytes: 4096,
      signal: request.signal,
    });
  const reports = await readReports(request.reports);
  const parsed = parseReports(reports.files);
  const places = runner.collect ? parsePlaces(await readPlaces(request.reports)) : [];
  const origin = { places, group: request.suite.runner };
  const printed = parseText(request.suite.runner, whole(ran.exec.stdout), parsed.cases.length > 0);
  const problem = reports.refused[0] ?? parsed.problem;
  const reportSha256 = reports.files.length === 0 ? null : digestOf(reports.files);
  const reported = withTestMore(parsed.cases, ran);
  if (reported.length > 0)
    return {
      cases: toCases([...reported, ...printed], ran.root, origin),
      strength: "report",
      problem,
      reportSha256,
    };
  if (reports.files.length > 0) return { cases: [], strength: "exit_code", problem, reportSha256 };
  return {
    reportSha256,
    cases: toCases(printed, ran.root, origin),
    strength: printed.length > 0 ? "text" : "exit_code",
    problem: problem ?? (runner.reports ? NO_REPORT : null),
  };
}
