/** Runs a detected suite in a session and turns exit code, report and output into one result that says how far they agree. */

import { stripVTControlCharacters } from "node:util";
import { messageOf } from "#src/base/result.ts";
import type { SuiteEvidence } from "#src/run/verdict.ts";
import type { Captured, ExecResult, Session } from "#src/sandbox/sandbox.ts";
import { matching, narrow } from "./filter.ts";
import type { HookVariant } from "./hooks.ts";
import { FIRST_VARIANT, hookEnvironment, nextVariant, prepareScript, shellText } from "./hooks.ts";
import { type ReadCases, readHere } from "./reports/read-cases.ts";
import { readReports } from "./reports/report-files.ts";
import type { Results } from "./results.ts";
import { readResults } from "./results.ts";
import { runnerOf } from "./runners.ts";
import type { DetectedSuite, RunSuite, SuiteResult, TestCase } from "./verify.ts";

type Request = Parameters<RunSuite>[0];

/** Removes the secrets this process holds from text that leaves it. */
export type Redact = (text: string) => string;

const OUTPUT_CHARACTERS = 8000;
const HEAD_CHARACTERS = 2500;
const CAPTURE_BYTES = 512 * 1024;
const PREPARE_MS = 30_000;

function whole(captured: Captured): string {
  return captured.droppedBytes === 0
    ? captured.head + captured.tail
    : `${captured.head}\n[${captured.droppedBytes} bytes left out]\n${captured.tail}`;
}

function clip(text: string): string {
  if (text.length <= OUTPUT_CHARACTERS) return text;
  const mark = (left: number) => `\n[${left} characters left out]\n`;
  const tail = OUTPUT_CHARACTERS - HEAD_CHARACTERS - mark(text.length).length;
  return text.slice(0, HEAD_CHARACTERS) + mark(text.length - HEAD_CHARACTERS - tail) + text.slice(-tail);
}

function printed(result: ExecResult): string {
  const parts = [whole(result.stdout), whole(result.stderr)].filter((part) => part.trim() !== "");
  return stripVTControlCharacters(parts.join("\n")).replaceAll("\r", "");
}

/** A cancelled run's result is thrown away by the caller; it counts as one that did not get to run. */
function stoppedBy(result: ExecResult): SuiteEvidence["stopped"] {
  if (result.end.kind === "not_started") return "not_started";
  if (result.end.kind === "exited") return null;
  return result.end.reason === "cancelled" ? "not_started" : result.end.reason;
}

function countsOf(cases: readonly TestCase[]): SuiteEvidence["counts"] {
  const count = (outcome: TestCase["outcome"]) => cases.filter((one) => one.outcome === outcome).length;
  return { passed: count("pass"), failed: count("fail"), skipped: count("skip") };
}

interface Ran {
  readonly exec: ExecResult;
  readonly output: string;
  /** The workspace's path as the tests saw it. */
  readonly root: string;
}

async function prepare(
  request: Request,
): Promise<{ readonly root: string } | { readonly failed: ExecResult }> {
  const result = await request.session.exec({
    argv: ["bash", "-c", await prepareScript()],
    timeoutMs: PREPARE_MS,
    outputBytes: 64 * 1024,
    signal: request.signal,
  });
  const prepared = result.end.kind === "exited" && result.end.code === 0;
  return prepared ? { root: whole(result.stdout).trim().split("\n").at(-1) ?? "" } : { failed: result };
}

function execute(
  session: Session,
  request: Request,
  variant: HookVariant,
  timeoutMs: number,
): Promise<ExecResult> {
  return session.exec({
    argv: ["bash", "-o", "pipefail", "-c", shellText(narrow(request.suite, request.filter))],
    cwd: request.suite.directory === "." ? "/workspace" : `/workspace/${request.suite.directory}`,
    env: { CI: "true", ...hookEnvironment(runnerOf(request.suite.runner).hooks, variant) },
    timeoutMs,
    outputBytes: CAPTURE_BYTES,
    signal: request.signal,
  });
}

/** Runs once, and again with the hooks attached differently where the output says that they kept the runner from starting. */
async function attempt(request: Request): Promise<Ran> {
  let variant = FIRST_VARIANT;
  let left = request.timeoutMs;
  for (;;) {
    const prepared = await prepare(request);
    if ("failed" in prepared) {
      const exec = prepared.failed;
      const failed: ExecResult =
        exec.end.kind === "exited"
          ? { ...exec, end: { kind: "not_started", message: "the report directory could not be prepared" } }
          : exec;
      return { exec: failed, output: printed(exec), root: "/workspace" };
    }
    const exec = await execute(request.session, request, variant, left);
    const output = printed(exec);
    const next = nextVariant(variant, output);
    left -= exec.durationMs;
    const settled = next === null || exec.end.kind !== "exited" || left <= 0;
    // A report means that the runner did start: then the words in the output came from something it ran.
    if (settled || (await readReports(request.reports)).files.length > 0)
      return { exec, output, root: prepared.root };
    variant = next;
  }
}

/** Exit code and cases must tell the same story; a run that was stopped has no exit code to compare. */
function disagreement(exitCode: number | null, read: Results): string | null {
  if (exitCode === null) return null;
  if (read.problem !== null) return read.problem;
  const failed = read.cases.filter((one) => one.outcome === "fail");
  if (exitCode === 0 && failed.length > 0)
    return `the command succeeded although its report names ${failed.length} failing tests`;
  if (exitCode !== 0 && failed.length === 0 && read.cases.length > 0)
    return `the command exited with ${exitCode} although its report names no failing test`;
  return null;
}

async function run(request: Request, redact: Redact, readCases: ReadCases): Promise<SuiteResult> {
  const ran = await attempt(request);
  const stopped = stoppedBy(ran.exec);
  const exitCode = ran.exec.end.kind === "exited" ? ran.exec.end.code : null;
  const read: Results =
    stopped === "not_started"
      ? { cases: [], strength: "exit_code", problem: null, reportSha256: null }
      : await readResults(request, ran, readCases);
  const cases = matching(read.cases, request.filter).map((one) => ({ ...one, message: redact(one.message) }));
  const started = ran.exec.end.kind === "not_started" ? `${ran.exec.end.message}\n` : "";
  return {
    evidence: {
      label: request.label,
      command: narrow(request.suite, request.filter),
      directory: request.suite.directory,
      exitCode,
      stopped,
      counts: countsOf(cases),
      strength: read.strength,
      reportSha256: read.reportSha256,
      durationMs: ran.exec.durationMs,
    },
    strength: read.strength,
    cases,
    output: clip(redact(started + ran.output)),
    mismatch: disagreement(exitCode, read),
  };
}

/** The result of a suite that never got to run; `message` says why and becomes its output. */
export function suiteNotStarted(
  suite: DetectedSuite,
  label: SuiteEvidence["label"],
  message: string,
): SuiteResult {
  return {
    evidence: {
      label,
      command: suite.command,
      directory: suite.directory,
      exitCode: null,
      stopped: "not_started",
      counts: { passed: 0, failed: 0, skipped: 0 },
      strength: "exit_code",
      durationMs: 0,
    },
    strength: "exit_code",
    cases: [],
    output: message,
    mismatch: null,
  };
}

/** `readCases` turns reports into cases, here or in a thread. `redact` is applied to output and messages before they leave. A failure of the host's disk becomes a suite that did not start. */
export function createRunSuite(redact: Redact, readCases: ReadCases = readHere): RunSuite {
  return async (request) => {
    try {
      return await run(request, redact, readCases);
    } catch (error) {
      return suiteNotStarted(
        request.suite,
        request.label,
        redact(`the suite could not be run: ${messageOf(error)}`),
      );
    }
  };
}
