/** The agent's reasons for tests that it changed: lines `Changed test: path: reason` of its last answer, beside what was found. Pure. */

import type { TamperFinding } from "#src/run/verdict.ts";
import { oneLine } from "./neutralise.ts";

const LINE = /^[ \t>*_-]{0,20}changed tests?[*_]{0,2}:[*_ \t]{0,20}(\S.*)$/gim;
/** More would be no reasons. */
const MOST_LINES = 50;

const OF_TESTS: ReadonlySet<TamperFinding["kind"]> = new Set([
  "test_deleted",
  "test_skipped",
  "test_focused",
  "fewer_tests",
  "existing_test_changed",
  "assertion_loosened",
  "expectation_changed",
  "timeout_raised",
  "snapshot_changed",
]);

/** What `line` says of the file; null: it is about another one. */
function reasonIn(line: string, path: string): string | null {
  const bare = line.replace(/^[`'"*]+/, "");
  if (!bare.startsWith(path)) return null;
  const rest = bare.slice(path.length);
  // `test/a.test.js` is no part of `test/a.test.jsx`; a full stop or a dash may stand behind a path.
  if (/^(?:\w|[./-]\w)/.test(rest)) return null;
  return rest.replace(/^[`'"*]*\s*(?:[:–—>-]+\s*)*/, "").trim();
}

/** Gives the words to stand behind a finding, neutralised and at most `max` characters of the agent's; each file's only once, and none for what is no file of tests, or where `words` is null because no agent was asked. */
export function createReasons(words: string | null, max: number): (finding: TamperFinding) => string {
  if (words === null) return () => "";
  const lines = [...words.matchAll(LINE)].slice(0, MOST_LINES).map((match) => match[1] ?? "");
  const told = new Set<string>();
  return ({ kind, path }) => {
    // What the runs find is about the suite's directory.
    if (!OF_TESTS.has(kind) || !/\.\w+$/.test(path) || told.has(path)) return "";
    told.add(path);
    const reasons = lines.flatMap((line) => reasonIn(line, path) || []);
    if (reasons.length === 0) return " (the agent gave no reason)";
    return ` (the agent's reason: ${oneLine(reasons.join("; "), max)})`;
  };
}
