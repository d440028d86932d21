/** Compares a test file before and after: tests deleted, skipped, focused or changed; purely added tests are no finding. */

import type { TamperFinding } from "#src/run/verdict.ts";
import type { TestFile, TestItem } from "./test-items.ts";
import { javascriptTests, linesOf, pythonTests } from "./test-items.ts";

const EARLY_EXIT =
  /\bprocess\s*\.\s*(?:exit|abort|reallyExit|kill)\s*\(|\bprocess\s*\.\s*exitCode\s*=|\bos\._exit\s*\(|\bos\.(?:abort|kill)\s*\(|\bsys\.exit\s*\(|\bpytest\.exit\s*\(|\bDeno\.exit\s*\(|\braise\s+SystemExit\b|^\s*(?:exit|quit)\s*\(/;
const SKIP =
  /\b(?:test|it|describe|suite|t|ctx|context|this)\s*(?:\.\s*\w+)*\.\s*(?:skip|todo|skipIf|fails|failing)\b|\b(?:xit|xtest|xdescribe)\s*\(|@(?:[\w.]*\.)?(?:skip\w*|xfail|expectedFailure)\b|\bpytest(?:mark\s*=.*|\.)(?:skip|xfail)|\bself\.skipTest\s*\(|\bSkipTest\b/;
const FOCUS = /\b(?:test|it|describe|suite)\s*(?:\.\s*\w+)*\.\s*only\b|\b(?:fit|fdescribe)\s*\(/;
/** An assignment to an assertion or a test function, or to what Python compares by. */
const REPLACED =
  /\b(?:assert|expect|test|it|describe)(?:\s*\.\s*\w+)*\s*=(?![=>])|\bself\.assert\w+\s*=|\bunittest\.TestCase\.\w+\s*=|\bglobalThis\.(?:assert|expect|test|it)\b.*=/;

/** How often each line occurs more in `more` than in `less`, as a flat list. */
function surplus(more: readonly string[], less: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of less) left.set(line, (left.get(line) ?? 0) + 1);
  return more.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

type Kind = TamperFinding["kind"];

/** Findings that a list of added lines gives by itself. */
function fromAdded(path: string, added: readonly string[], where: string): readonly TamperFinding[] {
  const patterns: readonly (readonly [Kind, RegExp, string])[] = [
    ["early_exit", EARLY_EXIT, "ends the process"],
    ["test_skipped", SKIP, "skips"],
    ["test_focused", FOCUS, "focuses, which leaves the others out"],
    ["existing_test_changed", REPLACED, "replaces an assertion"],
  ];
  return patterns.flatMap(([kind, pattern, what]) => {
    const line = added.find((one) => pattern.test(one) && !/^(?:\/\/|#|\*)/.test(one));
    return line === undefined ? [] : [{ kind, path, detail: `${where} ${what}: ${line.slice(0, 160)}` }];
  });
}

function byPath(items: readonly TestItem[]): ReadonlyMap<string, readonly TestItem[]> {
  return Map.groupBy(items, (item) => item.path);
}

function changedItem(path: string, before: TestItem, after: TestItem): readonly TamperFinding[] {
  const name = `\`${before.path}\``;
  const findings: TamperFinding[] = [];
  if (after.skipped && !before.skipped)
    findings.push({ kind: "test_skipped", path, detail: `${name} is skipped now` });
  if (after.focused && !before.focused)
    findings.push({ kind: "test_focused", path, detail: `${name} is focused, which leaves the others out` });
  const removed = surplus(before.body, after.body);
  if (removed.length > 0)
    findings.push({
      kind: "existing_test_changed",
      path,
      detail: `${name} no longer has: ${removed[0]?.slice(0, 160)}`,
    });
  const added = surplus(after.body, before.body);
  const known = new Set(findings.map((finding) => finding.kind));
  findings.push(...fromAdded(path, added, name).filter((finding) => !known.has(finding.kind)));
  const returns = added.find(
    (line) => /^return\b(?!\s*(?:assert|expect))/.test(line) && before.body.length > 1,
  );
  if (returns !== undefined && removed.length === 0)
    findings.push({
      kind: "existing_test_changed",
      path,
      detail: `${name} may return early now: ${returns.slice(0, 160)}`,
    });
  return findings;
}

function comparedItems(path: string, before: TestFile, after: TestFile): readonly TamperFinding[] {
  const now = byPath(after.items);
  const old = byPath(before.items);
  const findings: TamperFinding[] = [];
  for (const [name, items] of old) {
    const left = now.get(name) ?? [];
    items.forEach((item, index) => {
      const same = left[index];
      if (same !== undefined) findings.push(...changedItem(path, item, same));
      else if (!item.group) findings.push({ kind: "test_deleted", path, detail: `\`${name}\` is gone` });
    });
  }
  for (const [name, items] of now)
    for (const item of items.slice(old.get(name)?.length ?? 0)) {
      if (item.focused)
        findings.push({
          kind: "test_focused",
          path,
          detail: `the new \`${name}\` is focused, which leaves the others out`,
        });
      findings.push(
        ...fromAdded(path, item.body, `the new \`${name}\``).filter((one) => one.kind === "early_exit"),
      );
    }
  return findings;
}

function comparedOutside(path: string, before: TestFile, after: TestFile): readonly TamperFinding[] {
  const findings: TamperFinding[] = [
    ...fromAdded(path, surplus(after.outside, before.outside), "code outside the tests"),
  ];
  const removed = surplus(before.outside, after.outside);
  const lostImports = surplus(before.imports, after.imports);
  const lost = removed[0] ?? lostImports[0];
  if (lost !== undefined)
    findings.push({
      kind: "existing_test_changed",
      path,
      detail: `code that the tests share no longer has: ${lost.slice(0, 160)}`,
    });
  return findings;
}

function parse(path: string, text: string): TestFile | null {
  if (path.endsWith(".py")) return pythonTests(text);
  return /\.[cm]?[jt]sx?$/.test(path) ? javascriptTests(path, text) : null;
}

function comparedLines(path: string, before: string, after: string): readonly TamperFinding[] {
  const removed = surplus(linesOf(before), linesOf(after));
  const changed: readonly TamperFinding[] =
    removed.length === 0
      ? []
      : [{ kind: "existing_test_changed", path, detail: `no longer has: ${removed[0]?.slice(0, 160)}` }];
  return [...changed, ...fromAdded(path, surplus(linesOf(after), linesOf(before)), "an added line")];
}

/** Both texts of a test file that stood in the base commit. */
export function changedTestFile(path: string, before: string, after: string): readonly TamperFinding[] {
  const old = parse(path, before);
  const now = parse(path, after);
  if (old === null || now === null) return comparedLines(path, before, after);
  return [...comparedItems(path, old, now), ...comparedOutside(path, old, now)];
}

/** A test or support file that the patch adds: it may bring tests, but must not end the process or hide other tests. */
export function addedTestFile(path: string, text: string): readonly TamperFinding[] {
  return fromAdded(path, linesOf(text), "an added line").filter(
    (finding) =>
      finding.kind === "early_exit" ||
      finding.kind === "test_focused" ||
      finding.kind === "existing_test_changed",
  );
}
