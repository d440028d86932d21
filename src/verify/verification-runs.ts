/** Suite runs of a verification, each in a fresh copy and a session of its own, as many at a time as the caller allows. */

import type { FailedCheck, SuiteEvidence } from "#src/run/verdict.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import { narrowTo } from "./narrow.ts";
import { suiteNotStarted } from "./suite.ts";
import type { DetectedSuite, RunSuite, SuiteResult, VerifyRequest } from "./verify.ts";

export interface Wanted {
  readonly label: SuiteEvidence["label"];
  /** Names the copy; unique within a verification. */
  readonly name: string;
  /** Changed paths that keep the base's content. */
  readonly except: readonly string[];
  /** Only these test files, where the runner can be told; null: the whole suite. */
  readonly files: readonly string[] | null;
  /** Ends this run before the verification's own signal does. */
  readonly signal?: AbortSignal;
}

export interface Runs {
  /** Null when the verification was stopped. */
  suite(wanted: Wanted): Promise<SuiteResult | null>;
  /** The same for these files alone; null when the runner cannot be told. */
  alone(wanted: Wanted): Promise<SuiteResult | null>;
  /** A run in which `prepare` changes the copy first, from inside. Null: stopped, or `prepare` found nothing to do. */
  control(wanted: Wanted, prepare: (session: Session) => Promise<boolean>): Promise<SuiteResult | null>;
  /** Checks that fail on the patched tree and not on the base. */
  checks(changed: readonly string[]): Promise<readonly FailedCheck[]>;
}

/** Lets at most `size` pieces of work run at a time, in order of asking. */
export function atMost(size: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = Math.max(1, size);
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/**
 * Work that is begun together and awaited piece by piece: when one piece fails, nobody awaits those after it any more, and what
 * they fail with must not end the process. Whoever does await it hears of it all the same.
 */
export function begun<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}

const CHECK_OUTPUT = 64_000;
const SHOWN_OUTPUT = 1_500;

export function createRuns(runSuite: RunSuite, request: VerifyRequest, suite: DetectedSuite): Runs {
  const slot = atMost(request.parallel);
  const signalOf = (wanted: Wanted) => wanted.signal ?? request.signal;

  const runOnce = async (
    wanted: Wanted,
    command: string,
    prepare: (session: Session) => Promise<boolean> = async () => true,
  ): Promise<SuiteResult | null> => {
    const copied = await request.copy(wanted.name, wanted.except);
    if (!copied.ok) return suiteNotStarted(suite, wanted.label, copied.error);
    const opened = await request.open(copied.value, wanted.name);
    if (!opened.ok) return suiteNotStarted(suite, wanted.label, opened.error);
    const { session, reports } = opened.value;
    try {
      if (!(await prepare(session))) return null;
      return await runSuite({
        session,
        suite: { ...suite, command },
        label: wanted.label,
        reports,
        filter: null,
        timeoutMs: request.timeoutMs,
        signal: signalOf(wanted),
      });
    } finally {
      await session.close();
    }
  };

  const observed = (wanted: Wanted, command: string, prepare?: (session: Session) => Promise<boolean>) =>
    slot(async () => {
      if (signalOf(wanted).aborted) return null;
      const result = await runOnce(wanted, command, prepare);
      if (signalOf(wanted).aborted && !request.signal.aborted) return null;
      if (result !== null) request.observe(result);
      return result;
    });

  const narrowed = ({ files }: Wanted) => (files === null ? null : narrowTo(suite, files));

  return {
    alone: async (wanted) => {
      const command = narrowed(wanted);
      return command === null ? null : observed(wanted, command);
    },
    control: (wanted, prepare) => observed(wanted, narrowed(wanted) ?? suite.command, prepare),
    // A core is asked for before anything is awaited: the order of the calls is the order of the runs.
    suite: async (wanted) => {
      const command = narrowed(wanted);
      if (command === null) return observed(wanted, suite.command);
      const some = await observed(wanted, command);
      // A runner that made nothing of the files is asked for everything.
      if (some === null || (some.cases.length > 0 && some.evidence.stopped === null)) return some;
      return observed({ ...wanted, name: `${wanted.name}-whole` }, suite.command);
    },
    checks: async (changed) => {
      if (request.checks.length === 0) return [];
      const failing = await slot(() => runChecks(request, "verify-checks", [], request.checks));
      if (failing.length === 0) return [];
      const old = await slot(() =>
        runChecks(
          request,
          "verify-checks-base",
          changed,
          request.checks.filter((one) => failing.some(({ name }) => name === one.name)),
        ),
      );
      return failing.filter(({ name }) => !old.some((one) => one.name === name));
    },
  };
}

/** Those that fail in a copy; what keeps a check from running on both sides alike is nobody's fault. */
async function runChecks(
  request: VerifyRequest,
  name: string,
  except: readonly string[],
  checks: VerifyRequest["checks"],
): Promise<readonly FailedCheck[]> {
  if (request.signal.aborted) return [];
  const copied = await request.copy(name, except);
  if (!copied.ok) return [];
  const opened = await request.open(copied.value, name);
  if (!opened.ok) return [];
  const { session } = opened.value;
  const failed: FailedCheck[] = [];
  try {
    for (const check of checks) {
      const { end, stdout, stderr } = await session.exec({
        argv: ["bash", "-o", "pipefail", "-c", check.command],
        env: { CI: "true" },
        timeoutMs: request.timeoutMs,
        outputBytes: CHECK_OUTPUT,
        signal: request.signal,
      });
      const exitCode = end.kind === "exited" ? end.code : null;
      const output = `${stdout.head}${stdout.tail}\n${stderr.head}${stderr.tail}`.trim().slice(-SHOWN_OUTPUT);
      if (exitCode !== 0) failed.push({ ...check, exitCode, output });
    }
  } finally {
    await session.close();
  }
  return failed;
}
