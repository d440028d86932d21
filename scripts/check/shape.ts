/** The rules on names, sizes and file heads: what a file may be called, how it opens, and what a port may hold. */

import { basename, dirname } from "node:path/posix";
import { folderOf, PORTS } from "./folders.ts";
import type { Problem } from "./problem.ts";
import type { AstNode, Source } from "./source.ts";

const BANNED_NAMES = new Set([
  ...["util", "utils", "utilities", "helper", "helpers", "common", "lib", "core", "misc"],
  ...["shared", "service", "services", "manager", "managers"],
]);

/** A port is read before anything else of its family; what needs more code lines is two families. */
const PORT_CODE_LINES = 120;
/** The loop reads as a paragraph: check limits, ask, record, dispatch, stop? */
const LOOP_LINES = 200;
/** A subcommand reads its arguments and wires; the work is below. */
const SUBCOMMAND_LINES = 150;
/** `base` is imported by everything, so that it must stay small enough to know by heart. */
const BASE_FILES = 9;
/** Shorter than this is no sentence. */
const HEAD_WORDS = 4;

/** The only file of src that does something when it is imported: the program's start. */
const PROGRAM_START = "src/cli/main.ts";

/** Rules on a path alone; for src, test, scripts and bench. */
export function checkName(path: string): readonly Problem[] {
  const problems: Problem[] = [];
  const report = (rule: string, message: string) => problems.push({ file: path, line: 1, rule, message });
  if (basename(path) === "index.ts")
    report("no-index", "name the file after what it holds, and import it by that name");
  if (path === "src/types.ts") report("banned-name", "a type lives with the module that owns its meaning");
  for (const part of [...dirname(path).split("/"), basename(path, ".ts").replace(/\.test$/, "")]) {
    if (BANNED_NAMES.has(part)) report("banned-name", `"${part}" says nothing; name it after what it holds`);
  }
  return problems;
}

/** Rules on one file of src. */
export function checkShape(source: Source): readonly Problem[] {
  return [
    ...source.syntaxErrors.map((message) => at(source, 0, "syntax", message)),
    ...checkHead(source),
    ...checkImportTime(source),
    ...(PORTS.has(source.path) ? checkPort(source) : []),
    ...checkLines(source),
  ];
}

export function checkBaseSize(paths: readonly string[]): readonly Problem[] {
  const count = paths.filter((path) => folderOf(path) === "base").length;
  if (count <= BASE_FILES) return [];
  const message = `base has ${count} files, at most ${BASE_FILES} are allowed; give the newest a folder that owns it`;
  return [{ file: "src/base", line: 1, rule: "base-size", message }];
}

function at(source: Source, offset: number, rule: string, message: string): Problem {
  return { file: source.path, line: source.lineOf(offset), rule, message };
}

function checkHead(source: Source): readonly Problem[] {
  const first = source.comments[0];
  const before = source.text.slice(0, first?.start ?? 0);
  const opens = first !== undefined && /^(?:#![^\n]*\n)?\s*$/.test(before);
  if (opens && first.value.split(/\s+/).filter((word) => /\w/.test(word)).length >= HEAD_WORDS) return [];
  return [at(source, 0, "file-head", "open the file with one sentence on its job: /** … */")];
}

function checkImportTime(source: Source): readonly Problem[] {
  if (source.path === PROGRAM_START) return [];
  const declares = /^(?:Import|Export|TS|Function|Class|Variable)/;
  return (source.program.body as readonly AstNode[])
    .filter((statement) => !declares.test(statement.type) && typeof statement.directive !== "string")
    .map((statement) =>
      at(
        source,
        statement.start,
        "import-time",
        "nothing happens on import; put this into a function its caller calls",
      ),
    );
}

function checkPort(source: Source): readonly Problem[] {
  const problems = source.imports
    .filter((one) => !one.typesOnly)
    .map((one) => ({
      file: source.path,
      line: one.line,
      rule: "port-types-only",
      message: `a port imports types only; write \`import type\` for ${one.specifier}, or move the code out`,
    }));
  for (const statement of source.program.body as readonly AstNode[]) {
    const declared = (statement.declaration ?? statement) as AstNode;
    if (!/^(?:Function|Class)/.test(declared.type)) continue;
    problems.push(
      at(
        source,
        statement.start,
        "port-types-only",
        "a port holds types and constants; move code into another file",
      ),
    );
  }
  const lines = codeLines(source);
  if (lines > PORT_CODE_LINES) {
    const message = `${lines} lines of code, a port has at most ${PORT_CODE_LINES}; split the family`;
    problems.push(at(source, 0, "port-size", message));
  }
  return problems;
}

function checkLines(source: Source): readonly Problem[] {
  const lines = source.text.trimEnd().split("\n").length;
  const limit =
    source.path === "src/harness/loop.ts"
      ? LOOP_LINES
      : folderOf(source.path) === "cli"
        ? SUBCOMMAND_LINES
        : Number.POSITIVE_INFINITY;
  if (lines <= limit) return [];
  return [at(source, 0, "file-size", `${lines} lines, at most ${limit} here; move a part into its own file`)];
}

/** Lines that hold something besides comments and white space. */
export function codeLines(source: Source): number {
  const blanked = source.comments.reduceRight(
    (text, comment) =>
      text.slice(0, comment.start) +
      text.slice(comment.start, comment.end).replace(/[^\n]/g, " ") +
      text.slice(comment.end),
    source.text,
  );
  return blanked.split("\n").filter((line) => line.trim() !== "").length;
}
