/** Compares test files of languages without a syntax tree here by their lines: names of tests, assertions, and what single lines give away. */

import type { TamperFinding } from "#src/run/verdict.ts";
import { comparedAssertions, surplus } from "./assertions.ts";
import type { Assertion } from "./items.ts";
import { linesOf } from "./items.ts";
import { fromChanged } from "./patterns.ts";

/** What names a test, as text: bats, Rust, Go, Java, C, C++, Perl, Ruby, PHP, Elixir, JavaScript, Python. */
const NAMES: readonly RegExp[] = [
  /^@test\s+(["'].*["'])\s*\{/,
  /^(?:pub\s+)?(?:async\s+)?fn\s+(\w+)\s*\(\s*\)/,
  /^func\s+(Test\w+)\s*\(/,
  /^(?:public\s+|protected\s+|private\s+)?(?:static\s+)?void\s+(\w+)\s*\(\s*(?:void)?\s*\)/,
  /^(?:TEST|TEST_F|TEST_P|TEST_CASE|BOOST_AUTO_TEST_CASE|SCENARIO)\s*\(\s*(.+?)\s*\)/,
  /^(?:static\s+)?int\s+(test_\w+)\s*\(/,
  /^subtest\s+(["'].*?["'])/,
  /^(?:it|specify|test|scenario)\s+(["'].*?["'])\s+do\b/,
  /^(?:public\s+)?function\s+(test\w*)\s*\(/,
  /^def\s+(test\w*)/,
  /^(?:test|it)\s*\(\s*(["'`].*?["'`])/,
];

const ASSERTS =
  /^(?:\[?\s*\[\s|test\s|!\s|\(\()|\b(?:assert\w*!?|refute\w*|expect\w*|EXPECT_\w+|ASSERT_\w+|CHECK\w*|check\w*|REQUIRE\w*|is|isnt|ok|like|unlike|is_deeply|cmp_ok|throws_ok|dies_ok|must_\w+|should\w*|fail\w*)\s*[(!"']|\b(?:is|ok|like|is_deeply|cmp_ok)\s+[^=\s]|\b(?:t|b)\.(?:Error|Errorf|Fatal|Fatalf)\(/;

const WEAK =
  /\bassert(?:True|False|NotNull|Null|NotEquals|That)?!?\s*\(|\bassert_(?:ne|true|not_null|success|failure|output_contains)\b|\bassert!\s*\(|\bok\s*[( ]|\bisnt\b|\b(?:EXPECT|ASSERT)_(?:TRUE|FALSE|NE|NO_THROW)\b|\b(?:CHECK|check)\s*\(|-[nz]\s/;
const ALWAYS =
  /\bassert!?\w*\s*\(\s*(?:true|1|True)\s*[),]|\bok\s*\(?\s*1\b|\b(?:EXPECT|ASSERT)_TRUE\s*\(\s*(?:true|1)\s*\)|\bCHECK\s*\(\s*1\s*\)|^(?:true|:|\[\s+1\s+\]|\[\s+-n\s+["']\w+["']\s+\])$|\|\|\s*1\b|\|\|\s*true\b/;

function subjectOf(line: string): string {
  const inside = /[([!"]\s*(.*)$/.exec(line)?.[1] ?? line;
  return inside.split(/,|==|!=|=~|-eq|\s=\s/)[0]?.trim() ?? "";
}

function assertionsOf(lines: readonly string[]): readonly Assertion[] {
  return lines
    .filter((line) => ASSERTS.test(line) && !NAMES.some((name) => name.test(line)))
    .map((line) => ({
      text: line.replace(/\s+/g, " "),
      shown: line,
      subject: subjectOf(line),
      strength: ALWAYS.test(line) ? 0 : WEAK.test(line) && !/==/.test(line) ? 1 : 3,
      guard: "",
      tolerance: toleranceOf(line),
    }));
}

/** The last small number of a comparison that names a tolerance. */
function toleranceOf(line: string): number | null {
  if (!/\b(?:abs|fabs|delta|eps\w*|tolerance|NEAR|within|closeTo|assertEquals)\b/i.test(line)) return null;
  const numbers = [...line.matchAll(/(?<![\w.])(\d*\.\d+(?:e-?\d+)?|\d+e-\d+)/gi)].map((one) =>
    Number(one[1]),
  );
  return numbers.at(-1) ?? null;
}

function namesOf(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => {
    const name = NAMES.map((pattern) => pattern.exec(line)?.[1]).find((one) => one !== undefined);
    return name === undefined || name === "main" ? [] : [name];
  });
}

const itself = (line: string): string => line;
const COMMENTED = /^(?:\/\/|#(?!\[|\s*(?:define|undef|include|if|else|endif|pragma)\b)|--|\*)\s*/;

/** `plan tests => 5` and its kin. */
function planOf(lines: readonly string[]): number | null {
  const found = lines
    .map((line) => /\btests\s*=>\s*(\d+)|\bplan\s*\(?\s*(\d+)/.exec(line))
    .find((one) => one);
  return found === undefined || found === null ? null : Number(found[1] ?? found[2]);
}

/** Findings of a test file whose syntax is not read. */
export function comparedLines(path: string, before: string, after: string): readonly TamperFinding[] {
  const old = linesOf(before);
  const now = linesOf(after).filter((line) => !COMMENTED.test(line));
  const removed = surplus(old, linesOf(after), itself).filter((line) => !COMMENTED.test(line));
  const added = surplus(now, old, itself);
  const findings: TamperFinding[] = surplus(namesOf(old), namesOf(now), itself).map((name) => ({
    kind: "test_deleted",
    path,
    detail: `\`${name}\` is gone`,
  }));
  findings.push(...fromChanged({ path, added, removed, where: "an added line" }));
  const panics = added.find((line) => /#\[should_panic/.test(line));
  if (panics !== undefined && namesOf(now).length <= namesOf(old).length)
    findings.push({ kind: "test_skipped", path, detail: `a test is expected to fail now: ${panics}` });
  const live = assertionsOf(old.filter((line) => !COMMENTED.test(line)));
  if (findings.every((finding) => finding.kind !== "test_deleted"))
    findings.push(
      ...comparedAssertions(live, assertionsOf(now)).map(({ kind, detail }) => ({ kind, path, detail })),
    );
  const [planned, plans] = [planOf(old), planOf(now)];
  if (
    planned !== null &&
    (plans === null || plans < planned) &&
    !now.some((line) => /\bdone_testing\b/.test(line))
  )
    findings.push({
      kind: "test_deleted",
      path,
      detail: `${planned} tests were planned, and ${plans ?? "none"} are now`,
    });
  if (removed.length > 0 && findings.length === 0)
    findings.push({
      kind: "existing_test_changed",
      path,
      detail: `no longer has: ${removed[0]?.slice(0, 160)}`,
    });
  return findings;
}
