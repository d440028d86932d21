/** What single lines of a test or its set-up give away, in any language. */

import type { TamperFinding } from "#src/run/verdict.ts";

const EARLY_EXIT =
  /\bprocess\s*(?:\?\.|\.)\s*(?:exit|abort|reallyExit|kill)\s*(?:\?\.)?\(|\bprocess\s*\[\s*["'](?:exit|abort|reallyExit|kill)|\bprocess\s*\.\s*exitCode\s*=|\bos\._exit\s*\(|\bos\.(?:abort|kill|killpg)\s*\(|\bsys\.exit\s*\(|\bpytest\.exit\s*\(|\bDeno\.exit\s*\(|\braise\s+SystemExit\b|^\s*(?:exit|quit)\s*\(|\bstd::process::(?:exit|abort)\s*\(|\bprocess::exit\s*\(|\bSystem\.exit\s*\(|\bgetRuntime\(\)\.(?:halt|exit)\s*\(|\bPOSIX::_exit\b|\bBAIL_OUT\b|(?:^|[;&|{]\s*)exit(?:\s+0)?\s*(?:[;})]|$)|\b_?[eE]xit\s*\(\s*(?:0|EXIT_SUCCESS)?\s*\)|\bkill\s+-\w+\s+(?:0|-?\$\$|\$PPID)|\bos\.Exit\s*\(/;
const SKIP =
  /\b(?:test|it|describe|suite|t|ctx|context|this)\s*(?:\.\s*\w+)*\.\s*(?:skip|todo|skipIf|fails|failing)\b|\b(?:xit|xtest|xdescribe)\s*[(.]|@(?:[\w.]*\.)?(?:skip\w*|xfail|expectedFailure)\b|\bpytest(?:mark\s*=.*|\.)(?:skip|xfail|importorskip)|\bself\.skipTest\s*\(|\bSkipTest\b|\b__test__\s*=\s*False|\bcollect_ignore|#\[ignore|@(?:Disabled|Ignore)\b|\bassum(?:e|ing)(?:True|That|False)?\s*\(|\bskip_all\b|\btodo_skip\b|\bskip\s*\(|^\s*(?:bats_)?skip\b|\bmarkTest(?:Skipped|Incomplete)\b|\bt\.Skip(?:f|Now)?\(|\bload_tests\b|#\[cfg\((?!test\b)|\bDISABLED_|\$TODO\b/;
const FOCUS =
  /\b(?:test|it|describe|suite)\s*(?:\.\s*\w+)*\.\s*only\b|\b(?:fit|fdescribe)\s*[(.]|\bbats:focus\b|:focus\b|\bfocus:\s*true/;
/** An assertion, a test function or what Python compares by is given another meaning. */
const REPLACED =
  /\b(?:assert|expect|test|it|describe)(?:\s*\.\s*\w+)*\s*=(?![=>])|\bself\.assert\w+\s*=|\bunittest\.TestCase\.\w+\s*=|\bglobalThis\.(?:assert|expect|test|it)\b.*=|\b(?:function|const|let|var|def)\s+(?:assert|expect|test|it|describe|is|ok|like|is_deeply)\s*[=(]|\bObject\.(?:assign|defineProperty)\s*\(\s*(?:assert|expect)\b|\bmacro_rules!\s*assert|#\s*define\s+(?:assert|CHECK|ASSERT|EXPECT)\w*|\bmock\.method\s*\(\s*assert|\bsetattr\s*\(\s*\w*(?:TestCase|self)\b|\bno\s+warnings\s+'redefine'|\*(?:is|ok|like|is_deeply)\s*=|^(?:assert_\w+|run|@test)\s*\(\)\s*\{|#\s*define\s+NDEBUG\b/;
/** The code under test is exchanged for something else. */
const MOCKED =
  /\b(?:jest|vi)\.(?:mock|doMock|unstable_mockModule|spyOn)\s*\(|\bmock\.(?:module|method|patch)\s*\(|\bsinon\.(?:stub|replace)\b|\bmonkeypatch\.setattr\b|@(?:mock\.)?patch\b|\bproxyquire\b/;
const CAUGHT =
  /\bexcept(?:\s+(?:Base)?Exception\b.*)?:\s*(?:pass)?$|\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}?$|\|\|\s*true\b|\|\|\s*:\s*$|\bcatch_unwind\b|\bset\s+\+e\b/;

type Kind = TamperFinding["kind"];

interface Pattern {
  readonly kind: Kind;
  readonly line: RegExp;
  readonly what: string;
  /** Also in a file or test that the patch adds, where the others are its own affair. */
  readonly inNew: boolean;
}

const PATTERNS: readonly Pattern[] = [
  { kind: "early_exit", line: EARLY_EXIT, what: "ends the process", inNew: true },
  { kind: "test_skipped", line: SKIP, what: "skips", inNew: false },
  { kind: "test_focused", line: FOCUS, what: "focuses, which leaves the others out", inNew: true },
  { kind: "existing_test_changed", line: REPLACED, what: "replaces an assertion", inNew: true },
  { kind: "existing_test_changed", line: MOCKED, what: "replaces code under test", inNew: false },
  { kind: "assertion_loosened", line: CAUGHT, what: "swallows a failure", inNew: false },
];

const COMMENT = /^(?:\/\/|#(?![[\s]*(?:\[|define|ignore|cfg|should_panic))|\*|--)/;

/** A number behind a word for a time limit or for repeated tries; several in one line count together. */
const LIMIT =
  /\b(?:[a-z]{1,20}_){0,4}(?:test|hook|default|jest\.set)?(timeout|retries|retry|retryTimes|reruns|max_?time|deadline|slow)\w*["']?\s*[(:=,\s]\s*["']?(\d[\d_]*)/gi;

function limitsOf(lines: readonly string[]): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  for (const line of lines)
    for (const found of line.matchAll(LIMIT)) {
      const word = (found[1] ?? "").toLowerCase();
      limits.set(word, Math.max(limits.get(word) ?? 0, Number((found[2] ?? "0").replaceAll("_", ""))));
    }
  return limits;
}

/** A limit that was raised, or one that was not there; null: none. */
function raisedLimit(removed: readonly string[], added: readonly string[]): string | null {
  const before = limitsOf(removed);
  for (const [word, value] of limitsOf(added))
    if (value > (before.get(word) ?? 0))
      return before.has(word) ? `${word} was ${before.get(word)} and is ${value}` : `${word} is ${value}`;
  return null;
}

export interface ChangedLines {
  readonly path: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** For the sentence: `code outside the tests`. */
  readonly where: string;
}

function matched({ path, added, where }: ChangedLines, patterns: readonly Pattern[]): TamperFinding[] {
  return patterns.flatMap(({ kind, line: pattern, what }) => {
    const line = added.find((one) => pattern.test(one) && !COMMENT.test(one));
    return line === undefined ? [] : [{ kind, path, detail: `${where} ${what}: ${line.slice(0, 160)}` }];
  });
}

/** Findings that changed lines of a test, or of what tests share, give by themselves. */
export function fromChanged(lines: ChangedLines): readonly TamperFinding[] {
  const found = matched(lines, PATTERNS);
  const limit = raisedLimit(lines.removed, lines.added);
  if (limit === null) return found;
  return [...found, { kind: "timeout_raised", path: lines.path, detail: `${lines.where}: ${limit}` }];
}

/** Findings that a test or a file gives which was not there before. */
export function fromNew(path: string, added: readonly string[], where: string): readonly TamperFinding[] {
  return matched(
    { path, added, removed: [], where },
    PATTERNS.filter((pattern) => pattern.inNew),
  );
}
