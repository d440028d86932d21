/** The tamper report: what in a patch could make tests pass without a fix, from the changed files' texts alone. */

import type { TamperFinding } from "#src/run/verdict.ts";
import type { ChangedFile } from "#src/workspace/workspace.ts";
import { isSnapshot, isTestCode, isTestPath } from "../test-files.ts";
import { type Changed, configFindings } from "./config.ts";
import { inlineTests } from "./inline.ts";
import { comparedLines } from "./lines.ts";
import { looksAtPatch, sourceFindings, specialCases } from "./source.ts";
import { addedTestFile, changedTestFile } from "./tests.ts";

/** What the tamper check reads: each side's text of a path, null when it is missing or binary. */
export interface PatchTexts {
  readonly changes: readonly ChangedFile[];
  readonly baseText: (path: string) => string | null;
  readonly patchedText: (path: string) => string | null;
}

/** The changed files as plain data, which a worker thread can be given. */
export function changedTexts(patch: PatchTexts): readonly Changed[] {
  return patch.changes.map(({ path, status }) => ({
    path,
    status,
    before: status === "added" ? null : patch.baseText(path),
    after: status === "deleted" ? null : patch.patchedText(path),
  }));
}

/** Code of languages that are compared by their lines. */
const OTHER_CODE =
  /\.(?:rs|go|java|kts?|cc?|cpp|cxx|hh?|hpp|pl|pm|t|bats|bash|sh|rb|php|exs?|cs|fs|swift|scala|clj|lua)$/;

function holdsTests(path: string): boolean {
  return isTestCode(path) || OTHER_CODE.test(path);
}

async function testFile(file: Changed): Promise<readonly TamperFinding[]> {
  const { path, status, before, after } = file;
  if (isSnapshot(path))
    return status === "added"
      ? []
      : [{ kind: "snapshot_changed", path, detail: `the snapshot was ${status}` }];
  if (status === "deleted")
    return [
      {
        kind: holdsTests(path) ? "test_deleted" : "existing_test_changed",
        path,
        detail: "the file was deleted",
      },
    ];
  if (after === null)
    return status === "added"
      ? []
      : [{ kind: "existing_test_changed", path, detail: "a file that tests use was changed" }];
  if (status === "added" || before === null) return addedTestFile(path, after);
  if (holdsTests(path)) return changedTestFile(path, before, after);
  return [{ kind: "existing_test_changed", path, detail: "a file that tests use was changed" }];
}

/** Changes to the tests that a source file holds; those that it gains are no finding. */
function inlineFindings({ path, before, after }: Changed): readonly TamperFinding[] {
  const old = inlineTests(path, before);
  if (old === "") return [];
  return comparedLines(path, old, inlineTests(path, after));
}

/** Never rejects when it runs in a thread of its own (`offload.ts`). */
export type Tamper = (
  files: readonly Changed[],
  unchangedTests: readonly string[],
) => Promise<readonly TamperFinding[]>;

/** Every finding of a patch, in the order of its files. Purely added tests give none. `unchangedTests`: texts of tests that failed on the base, whose values the patch may repeat. */
export async function tamperReport(
  files: readonly Changed[],
  unchangedTests: readonly string[] = [],
): Promise<readonly TamperFinding[]> {
  const findings: TamperFinding[] = [];
  for (const file of files) {
    findings.push(...configFindings(file));
    if (isTestPath(file.path)) findings.push(...(await testFile(file)));
    else findings.push(...inlineFindings(file));
    findings.push(...sourceFindings(file));
  }
  const tests = files.filter((file) => isTestPath(file.path));
  const sources = files.filter((file) => !isTestPath(file.path) && file.after !== null);
  const texts = tests.flatMap((file) => (file.after === null ? [] : [file.after]));
  return [
    ...findings,
    ...looksAtPatch(tests, sources),
    ...specialCases(sources, [...texts, ...unchangedTests]),
  ];
}
