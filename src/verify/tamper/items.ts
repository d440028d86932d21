/** The tests of one file as data, whatever language they are written in: what the tamper report compares. */

export interface Assertion {
  /** The whole assertion without layout and comments, preceded by what guards it: `try`, `if`. */
  readonly text: string;
  /** The same as it stands in the file, for people. */
  readonly shown: string;
  /** What is looked at: the first argument, or the left side of a comparison. */
  readonly subject: string;
  /** 0: always true; 1: something is there; 2: a part or an approximation; 3: the value; 4: value and type. */
  readonly strength: number;
  /** `try`, `if`, both or neither: it may not be reached, or not be heard. */
  readonly guard: string;
  /** How far the value may lie away, as a number: larger is wider; null where the assertion names no tolerance. */
  readonly tolerance: number | null;
}

export interface TestItem {
  /** Names from the outermost group to the test, joined by ` > `. */
  readonly path: string;
  readonly group: boolean;
  readonly skipped: boolean;
  readonly focused: boolean;
  /** It exists only under a condition. */
  readonly conditional: boolean;
  /** The test's own code without layout and comments; empty for a group. */
  readonly tokens: string;
  /** Trimmed non-blank lines of the test's own code; empty for a group. */
  readonly body: readonly string[];
  readonly assertions: readonly Assertion[];
  /** `return` statements of the test itself that stand before an assertion of its own. */
  readonly returns: number;
}

export interface TestFile {
  readonly items: readonly TestItem[];
  /** Trimmed non-blank lines that belong to no test: helpers, set-up; imports are listed apart. */
  readonly outside: readonly string[];
  /** Assertions of helpers that tests share. */
  readonly assertions: readonly Assertion[];
  /** One entry per imported name, `module#name`. */
  readonly imports: readonly string[];
}

export function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .flatMap((line) => pieces(line.trim()))
    .filter((line) => line !== "");
}

const LONGEST = 500;
const OVERLAP = 100;

/** A very long line in pieces that overlap: what patterns cost grows with the square of a line made for that. */
function pieces(line: string): readonly string[] {
  if (line.length <= LONGEST) return [line];
  const count = Math.ceil((line.length - OVERLAP) / (LONGEST - OVERLAP));
  return Array.from({ length: count }, (_, index) => {
    const start = index * (LONGEST - OVERLAP);
    return line.slice(start, start + LONGEST);
  });
}
