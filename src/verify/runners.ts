/** The table of test runners: how each is recognised in a command, and by which means its results are had. */

import type { RunnerKind } from "./verify.ts";

/** What is put into a run's environment; `programs` are stand-ins on the path that add a report to the real program's arguments. */
export type HookFamily = "node" | "python" | "ruby" | "perl" | "programs";

export interface Runner {
  readonly kind: RunnerKind;
  /** Matches the runner's call inside shell text; null: it is never recognised from text. */
  readonly call: RegExp | null;
  /** Hooks given to its runs. Wrappers get all of them, since what they start is not known. */
  readonly hooks: readonly HookFamily[];
  /** Our hook makes it write a report, so that a missing one is worth a question. */
  readonly reports: boolean;
  /** True: after the run the workspace is searched for JUnit files written by it, and for the files that its tests are in. */
  readonly collect: boolean;
}

const EVERYTHING: readonly HookFamily[] = ["node", "python", "ruby", "perl", "programs"];
const START = String.raw`(?:^|[\s;&|(/"'[])`;
const END = String.raw`(?=\s|$|["';&|)\],])`;

/** A program by one of its names, as a call of its own. */
const program = (names: string) => new RegExp(`${START}(?:${names})${END}`);
/** A program with this text among its arguments. */
const programWith = (names: string, argument: string) =>
  new RegExp(`${START}(?:${names})\\s(?:[^|;&\\n]*\\s)?(?:${argument})(?=\\s|$|["'=;&|)])`);

type Means = Omit<Runner, "kind" | "call">;
const NODE: Means = { hooks: ["node", "programs"], reports: true, collect: false };
const PYTHON: Means = { hooks: ["python"], reports: true, collect: false };
const BY_FLAG: Means = { hooks: ["programs"], reports: true, collect: true };
/** Text or a file that the runner may or may not leave: nothing is expected. */
const AS_FOUND: Means = { hooks: ["programs"], reports: false, collect: true };
const WRAPPER: Means = { hooks: EVERYTHING, reports: false, collect: true };

/** First match wins: runners before the wrappers that may start them. */
export const RUNNERS: readonly Runner[] = [
  { kind: "vitest", call: program("vitest"), ...NODE },
  { kind: "jest", call: program("jest"), ...NODE },
  { kind: "mocha", call: program("mocha"), ...NODE },
  { kind: "ava", call: program("ava"), ...NODE },
  { kind: "jasmine", call: program("jasmine"), ...NODE },
  { kind: "uvu", call: program("uvu"), ...NODE, reports: false },
  { kind: "node-test", call: programWith("node|tsx", "--test"), ...NODE },
  { kind: "deno", call: programWith("deno", "test"), ...BY_FLAG },
  { kind: "bun", call: new RegExp(`${START}bun\\s+test${END}`), ...BY_FLAG },
  { kind: "tox", call: program("tox"), ...WRAPPER, hooks: ["python"] },
  { kind: "nox", call: program("nox"), ...WRAPPER, hooks: ["python"] },
  { kind: "pytest", call: program("pytest|py\\.test"), ...PYTHON },
  { kind: "unittest", call: programWith("python[\\d.]*", "-m\\s+unittest"), ...PYTHON },
  { kind: "cargo", call: programWith("cargo", "test|t|nextest"), ...BY_FLAG, reports: false },
  { kind: "go", call: programWith("go", "test"), ...BY_FLAG },
  { kind: "maven", call: program("mvnw?|mvnd"), ...BY_FLAG },
  { kind: "gradle", call: program("gradlew?"), ...BY_FLAG },
  {
    kind: "junit",
    call: /\bjunit-platform-console|\borg\.junit\.(?:runner|platform\.console)\b/,
    ...AS_FOUND,
  },
  { kind: "rspec", call: program("rspec"), ...WRAPPER, hooks: ["ruby"], reports: true },
  {
    kind: "minitest",
    call: new RegExp(`${START}(?:(?:bin/)?rails\\s+test|rake\\s+test|ruby\\s+-I\\s*(?:lib:)?test)${END}`),
    ...WRAPPER,
    hooks: ["ruby"],
  },
  { kind: "phpunit", call: program("phpunit(?:\\.phar)?|pest|paratest"), ...BY_FLAG },
  { kind: "ctest", call: program("ctest"), ...BY_FLAG },
  { kind: "meson", call: programWith("meson", "test"), ...BY_FLAG },
  { kind: "dotnet", call: programWith("dotnet", "test"), ...BY_FLAG },
  { kind: "mix", call: programWith("mix", "test"), ...AS_FOUND },
  { kind: "prove", call: program("prove"), hooks: ["perl", "programs"], reports: true, collect: false },
  { kind: "bats", call: program("bats"), ...AS_FOUND },
  { kind: "tap", call: program("tap"), ...NODE },
  { kind: "make", call: program("g?make"), ...WRAPPER },
  { kind: "unknown", call: null, ...WRAPPER },
];

/** The runner that shell text calls; `unknown` when none of the table is seen. */
export function recognise(command: string): RunnerKind {
  return RUNNERS.find((runner) => runner.call?.test(command))?.kind ?? "unknown";
}

export function runnerOf(kind: RunnerKind): Runner {
  const found = RUNNERS.find((runner) => runner.kind === kind);
  if (found === undefined) throw new Error(`no such runner: ${kind}`);
  return found;
}
