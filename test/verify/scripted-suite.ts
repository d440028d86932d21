/** A whole verification whose copies, sessions and runner are scripted: what runs in which order, and what follows from it, without a process. */

import { ok } from "#src/base/result.ts";
import type { SuiteEvidence, Verdict } from "#src/run/verdict.ts";
import type { ExecRequest, ExecResult, Session } from "#src/sandbox/sandbox.ts";
import { createVerifyPatch } from "#src/verify/procedure.ts";
import type { RunSuite, SuiteResult } from "#src/verify/verify.ts";
import { changesOf, ran, type Texts } from "./facts.ts";
import { suiteOf } from "./project.ts";

type Outcomes = Readonly<Record<string, string>>;

export interface OneRun {
  readonly label: SuiteEvidence["label"];
  /** Files that the command names; null: the whole suite. */
  readonly files: readonly string[] | null;
  /** How many runs of this label and breadth came before. */
  readonly before: number;
}

export interface Script {
  readonly texts: Texts;
  /** How tests end, `{id: "pass"}` or `{id: "fail: message"}`, in a run of the whole suite or of some files. */
  readonly runs: (run: OneRun) => Outcomes;
  readonly baselineMs?: number;
  readonly checks?: readonly { readonly name: string; readonly command: string }[];
  /** Exit code and output of a check's command in the patched tree or the base's. */
  readonly check?: (
    command: string,
    tree: "patched" | "base",
  ) => { readonly code: number; readonly text: string };
  /** False: the runner cannot be told which files to run. */
  readonly narrows?: boolean;
}

export interface Played {
  readonly verdict: Verdict;
  /** `label` or `label: files` of each suite run, in the order of their starts; checks as `check command on tree`. */
  readonly started: readonly string[];
}

const END: Pick<ExecResult, "end" | "durationMs"> = { end: { kind: "exited", code: 0 }, durationMs: 1 };
const NOTHING = { head: "", tail: "", totalBytes: 0, droppedBytes: 0 };
const TEST_TEXT = 'test("one", () => { assert.equal(1, 1); });\n';

/** Cases of tests that must fail, as a runner would report those that were appended to its files. */
function controlsIn(appended: string): Outcomes {
  const names = [...appended.matchAll(/^(?:test|it)\("([0-9a-f]+ \d+)"/gm)].map((match) => match[1] ?? "");
  return Object.fromEntries(
    names.map((name) => [`test/a.test.js > ${name}`, "fail: AssertionError: 1 !== 2"]),
  );
}

export async function play(script: Script): Promise<Played> {
  const suite = suiteOf(script.narrows === false ? "node --test && true" : "node --test", "node-test");
  const started: string[] = [];
  const seen = new Map<string, number>();
  const appended = new Map<Session, string>();

  const runSuite: RunSuite = async ({ session, suite: { command }, label }) => {
    const files =
      command === suite.command ? null : [...command.matchAll(/'([^']+)'/g)].map((one) => one[1] ?? "");
    const told = files === null ? label : `${label}: ${files.join(" ")}`;
    started.push(told);
    const before = seen.get(told) ?? 0;
    seen.set(told, before + 1);
    const cases = { ...script.runs({ label, files, before }), ...controlsIn(appended.get(session) ?? "") };
    const result = ran(cases, { label });
    return { ...result, evidence: { ...result.evidence, command } };
  };

  const sessionOver = (label: string): Session => {
    const session: Session = {
      exec: async ({ argv, stdin }: ExecRequest) => {
        const [program, ...rest] = argv;
        if (program === "cat") return { ...END, stdout: { ...NOTHING, head: TEST_TEXT }, stderr: NOTHING };
        if (stdin !== undefined) {
          appended.set(
            session,
            `${appended.get(session) ?? ""}${Buffer.from(stdin as Uint8Array).toString()}`,
          );
          return { ...END, stdout: NOTHING, stderr: NOTHING };
        }
        const command = rest.at(-1) ?? "";
        const tree = label.endsWith("-base") ? "base" : "patched";
        started.push(`check ${command} on ${tree}`);
        const { code, text } = script.check?.(command, tree) ?? { code: 0, text: "" };
        return { ...END, end: { kind: "exited", code }, stdout: { ...NOTHING, head: text }, stderr: NOTHING };
      },
      close: async () => undefined,
    } as unknown as Session;
    return session;
  };

  const first = ran(script.runs({ label: "baseline", files: null, before: 0 }), { label: "baseline" });
  const baseline: SuiteResult = {
    ...first,
    evidence: { ...first.evidence, command: suite.command, durationMs: script.baselineMs ?? 1_000 },
  };
  seen.set("baseline", 1);
  const verdict = await createVerifyPatch(runSuite)({
    suite,
    setupFailed: null,
    baseline,
    changes: changesOf(script.texts),
    baseText: (path) => script.texts[path]?.[0] ?? null,
    patchedText: (path) => script.texts[path]?.[1] ?? null,
    checks: script.checks ?? [],
    copy: async (label) => ok(label),
    open: async (_, label) => ok({ session: sessionOver(label), reports: "/none" }),
    timeoutMs: 1_000,
    parallel: 2,
    signal: new AbortController().signal,
    observe: () => undefined,
  });
  return { verdict, started };
}
