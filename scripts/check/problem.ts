/** What a check reports, and how it is printed: file and line, the rule, and what to do. */

export interface Problem {
  /** From the repository root, with forward slashes. */
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
  readonly rule: string;
  /** What is wrong and what to do instead. */
  readonly message: string;
}

export function formatProblem(problem: Problem): string {
  return `${problem.file}:${problem.line}  ${problem.rule}: ${problem.message}`;
}
