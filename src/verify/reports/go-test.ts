/** Reads the JSON lines of `go test -json`, and its verbose text. */

import { z } from "zod";
import type { ParsedReport, RawCase } from "./raw-case.ts";

const event = z.object({
  Action: z.string(),
  Package: z.string().optional(),
  Test: z.string().optional(),
  Output: z.string().optional(),
  ImportPath: z.string().optional(),
});

const OUTCOMES: Readonly<Record<string, RawCase["outcome"]>> = { pass: "pass", fail: "fail", skip: "skip" };
const MESSAGE_CHARACTERS = 4000;
/** Go's own lines around a test's output. */
const FRAME = /^\s*(?:=== |--- (?:PASS|FAIL|SKIP)|PASS$|FAIL\b|ok\s|exit status)/;

const BROKEN = /^FAIL\s+(\S+) \[(?:build|setup) failed\]/;

function parse(line: string): z.infer<typeof event> | null {
  try {
    const read = event.safeParse(JSON.parse(line));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

interface Run {
  readonly output: Map<string, string>;
  readonly started: Set<string>;
  readonly cases: RawCase[];
  /** Packages of which a test failed: their own `fail` says no more. */
  readonly failing: Set<string>;
}

function settle(run: Run, pack: string, test: string | undefined, outcome: RawCase["outcome"]): void {
  const key = `${pack} ${test ?? ""}`;
  run.started.delete(key);
  const message = outcome === "fail" ? (run.output.get(key) ?? "") : "";
  run.output.delete(key);
  if (test !== undefined) {
    if (outcome === "fail") run.failing.add(pack);
    const hint = { kind: "go" as const, pack, test };
    run.cases.push({ file: "", names: [pack, test], outcome, message, hint });
  } else if (outcome === "fail" && !run.failing.has(pack))
    run.cases.push({ file: pack, names: [], outcome, message });
}

/** A package that does not build, or dies outside of a test, is one failing case named after it. */
export function parseGoTest(text: string): ParsedReport {
  const run: Run = { output: new Map(), started: new Set(), cases: [], failing: new Set() };
  let clean = true;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const read = parse(line);
    if (read === null) {
      // Before Go 1.24 a package that does not build is a line of text between the events.
      const broken = BROKEN.exec(line)?.[1];
      if (broken !== undefined) settle(run, broken, undefined, "fail");
      if (line.startsWith("{")) clean = false;
      continue;
    }
    const pack = read.Package ?? read.ImportPath?.split(" ")[0] ?? "";
    const key = `${pack} ${read.Test ?? ""}`;
    if (read.Action === "run" || read.Action === "start") run.started.add(key);
    if (read.Output !== undefined && !FRAME.test(read.Output)) {
      const before = run.output.get(key) ?? "";
      if (before.length < MESSAGE_CHARACTERS) run.output.set(key, before + read.Output);
    }
    const outcome = OUTCOMES[read.Action];
    if (outcome !== undefined) settle(run, pack, read.Test, outcome);
  }
  return { cases: run.cases, complete: clean && run.started.size === 0 };
}

const RESULT = /^\s*--- (PASS|FAIL|SKIP): (\S+) \(/;
const PACKAGE = /^(?:ok|FAIL|---)\s+(\S+)\s+(?:[\d.]+s|\[|\(cached\))/;

/** `go test -v`: results come before the line of their package. */
export function parseGoText(output: string): readonly RawCase[] {
  const cases: RawCase[] = [];
  let open: { readonly test: string; readonly outcome: RawCase["outcome"] }[] = [];
  for (const line of output.split("\n")) {
    const [, word = "", test = ""] = RESULT.exec(line) ?? [];
    if (test !== "") open.push({ test, outcome: OUTCOMES[word.toLowerCase()] ?? "fail" });
    const pack = PACKAGE.exec(line)?.[1];
    if (pack === undefined) continue;
    for (const one of open)
      cases.push({
        file: "",
        names: [pack, one.test],
        outcome: one.outcome,
        message: "",
        hint: { kind: "go", pack, test: one.test },
      });
    open = [];
  }
  return cases;
}
