/** Compares a test file before and after: tests deleted, skipped, focused, loosened or changed; purely added tests are no finding. */

import type { TamperFinding } from "#src/run/verdict.ts";
import { comparedAssertions, surplus } from "./assertions.ts";
import type { TestFile, TestItem } from "./items.ts";
import { linesOf } from "./items.ts";
import { comparedLines } from "./lines.ts";
import { fromChanged, fromNew } from "./patterns.ts";
import { readTests } from "./tree.ts";

/** Kinds of a test that say more than that it was changed. */
const SPECIFIC: ReadonlySet<TamperFinding["kind"]> = new Set([
  "assertion_loosened",
  "expectation_changed",
  "test_skipped",
  "test_focused",
  "early_exit",
  "timeout_raised",
]);

function byPath(items: readonly TestItem[]): ReadonlyMap<string, readonly TestItem[]> {
  return Map.groupBy(items, (item) => item.path);
}

const itself = (line: string): string => line;

function marks(path: string, before: TestItem, after: TestItem): readonly TamperFinding[] {
  const name = `\`${before.path}\``;
  const findings: TamperFinding[] = [];
  if (after.skipped && !before.skipped)
    findings.push({ kind: "test_skipped", path, detail: `${name} is skipped now` });
  else if (after.conditional && !before.conditional)
    findings.push({ kind: "test_skipped", path, detail: `${name} runs only under a condition now` });
  if (after.focused && !before.focused)
    findings.push({ kind: "test_focused", path, detail: `${name} is focused, which leaves the others out` });
  return findings;
}

function changedItem(path: string, before: TestItem, after: TestItem): readonly TamperFinding[] {
  const findings = [...marks(path, before, after)];
  if (before.tokens === after.tokens) return findings;
  const name = `\`${before.path}\``;
  findings.push(
    ...comparedAssertions(before.assertions, after.assertions).map(({ kind, detail }) => ({
      kind,
      path,
      detail: `${name}: ${detail}`,
    })),
  );
  if (after.returns > before.returns && before.assertions.length > 0)
    findings.push({
      kind: "assertion_loosened",
      path,
      detail: `${name} may return before its assertions now`,
    });
  const known = new Set(findings.map((finding) => finding.kind));
  findings.push(
    ...fromChanged({
      path,
      added: surplus(after.body, before.body, itself),
      removed: surplus(before.body, after.body, itself),
      where: name,
    }).filter((finding) => !known.has(finding.kind)),
  );
  const removed = surplus(before.body, after.body, itself)[0];
  if (removed !== undefined && !findings.some((finding) => SPECIFIC.has(finding.kind)))
    findings.push({
      kind: "existing_test_changed",
      path,
      detail: `${name} no longer has: ${removed.slice(0, 160)}`,
    });
  return findings;
}

function newItem(path: string, item: TestItem): readonly TamperFinding[] {
  const name = `the new \`${item.path}\``;
  const focused: TamperFinding = {
    kind: "test_focused",
    path,
    detail: `${name} is focused, which leaves the others out`,
  };
  const exits = fromNew(path, item.body, name).filter((one) => one.kind === "early_exit");
  return item.focused ? [focused, ...exits] : exits;
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
    for (const item of items.slice(old.get(name)?.length ?? 0)) findings.push(...newItem(path, item));
  return findings;
}

function comparedOutside(path: string, before: TestFile, after: TestFile): readonly TamperFinding[] {
  const where = "code outside the tests";
  const removed = surplus(before.outside, after.outside, itself);
  const findings: TamperFinding[] = [
    ...fromChanged({ path, added: surplus(after.outside, before.outside, itself), removed, where }),
    ...comparedAssertions(before.assertions, after.assertions).map(({ kind, detail }) => ({
      kind,
      path,
      detail: `${where}: ${detail}`,
    })),
  ];
  const lost = removed[0] ?? surplus(before.imports, after.imports, itself)[0];
  if (lost !== undefined && !findings.some((finding) => finding.kind === "existing_test_changed"))
    findings.push({
      kind: "existing_test_changed",
      path,
      detail: `code that the tests share no longer has: ${lost.slice(0, 160)}`,
    });
  return findings;
}

/** Both texts of a test file that stood in the base commit. */
export async function changedTestFile(
  path: string,
  before: string,
  after: string,
): Promise<readonly TamperFinding[]> {
  const old = await readTests(path, before);
  const now = old === null ? null : await readTests(path, after);
  if (old === null || now === null) return comparedLines(path, before, after);
  return [...comparedItems(path, old, now), ...comparedOutside(path, old, now)];
}

/** A test or support file that the patch adds: it may bring tests, but must not end the process or hide other tests. */
export function addedTestFile(path: string, text: string): readonly TamperFinding[] {
  return fromNew(path, linesOf(text), "an added line");
}
