/** The tool search: ripgrep (or grep) in the sandbox, its first matches and the number of the others. */

import { z } from "zod";
import { headOf } from "#src/base/cut-text.ts";
import type { Tool, ToolResult } from "#src/harness/tool.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import type { Files } from "./files.ts";
import { type Ran, runScript } from "./in-session.ts";
import { parsePath, showPath } from "./paths.ts";
import { done, explainFault, refused } from "./setup.ts";

const MOST_MATCHES = 50;
const LINE_CHARS = 300;
const MOST_CHARS = 7_400;
/** 50 lines of at most 2,000 bytes fit whole. */
const OUTPUT_BYTES = 256 * 1024;
const SPECIAL = /[\\^$.|?*+()[\]{}]/;

/**
 * Arguments: pattern, path, glob or nothing, `literal` or `regex`. Matches are counted and cut inside, so that no line of a
 * megabyte leaves the sandbox; the last line of the output is their number. Sorting makes ripgrep work on one processor
 * only, so it counts unsorted first, and only the first files with matches are searched once more, in order.
 */
const SCRIPT = `
if command -v rg >/dev/null 2>&1; then
  options=(--no-config --hidden --no-require-git --no-ignore-global --no-ignore-parent --with-filename --color never --glob '!.git')
  [ "$4" = literal ] && options+=(--fixed-strings)
  [ -n "$3" ] && options+=(--glob "$3")
  counted=$(rg "\${options[@]}" --count --stats --regexp "$1" -- "$2"; echo "$?")
  code=\${counted##*$'\\n'}
  # Lines of path:count, an empty one, and the statistics. The slash sorts before all else, as in a listing by directory.
  mapfile -t files < <(sed '/^$/,$d' <<<"$counted" | tr / '\\001' | LC_ALL=C sort | head -n ${MOST_MATCHES} | tr '\\001' / | sed 's/:[0-9]*$//')
  [ "\${#files[@]}" = 0 ] && exit "$code"
  rg --no-config --line-number --no-heading --with-filename --color never --max-columns 1500 --max-columns-preview --sort path \
    $([ "$4" = literal ] && echo --fixed-strings) --regexp "$1" -- "\${files[@]}" | cut -b 1-2000 | sed -n '1,${MOST_MATCHES}p'
  sed -n 's/ matched lines$//p' <<<"$counted" | tail -n 1
  exit "$code"
fi
options=(-rnIHE --exclude-dir=.git)
[ "$4" = literal ] && options=(-rnIHF --exclude-dir=.git)
[ -n "$3" ] && options+=(--include="\${3##*/}")
grep "\${options[@]}" -e "$1" -- "$2" | cut -b 1-2000 | sed -n '1,${MOST_MATCHES}p;$='
exit "\${PIPESTATUS[0]}"`;

const schema = z.object({
  pattern: z
    .string()
    .min(1)
    .describe("Regular expression, matched line by line; (?i) at its start ignores case"),
  path: z.string().optional().describe("File or directory to search; default: all"),
  glob: z.string().optional().describe('Only files like this, e.g. "*.ts" or "!test/**"'),
});

type Args = z.infer<typeof schema>;

interface Found {
  readonly lines: readonly string[];
  readonly total: number;
}

function parseOutput(stdout: string): Found {
  const lines = stdout.split("\n").filter((line) => line !== "");
  const total = Number(lines.pop() ?? 0);
  return { lines: lines.map((line) => line.replace(/^\.\//, "").replace(/\r$/, "")), total };
}

function cutLine(line: string): string {
  const head = headOf(line, LINE_CHARS);
  return head.length === line.length ? line : `${head}[…]`;
}

function describe(found: Found, note: string): ToolResult {
  const shown: string[] = [];
  let used = note.length;
  for (const line of found.lines.map(cutLine)) {
    if (used + line.length + 1 > MOST_CHARS) break;
    used += line.length + 1;
    shown.push(line);
  }
  const more = found.total - shown.length;
  if (more > 0)
    shown.push(`[${more.toLocaleString("en-US")} more matches; narrow the pattern, path or glob]`);
  return done(note + shown.join("\n"));
}

/** First line of what the program complained about, without its own name. */
function complaint(ran: Ran): string {
  const line = ran.stderr.split("\n").find((text) => text.trim() !== "") ?? `it ended with code ${ran.code}`;
  return headOf(line.replace(/^(?:rg|grep): /, ""), 300);
}

function isPatternFault(ran: Ran): boolean {
  return (
    ran.code >= 2 && /regex|parse|unmatched|invalid|literal/i.test(ran.stderr) && !/glob/i.test(ran.stderr)
  );
}

export function searchTool(session: Session, files: Files): Tool<Args> {
  const look = (args: Args, path: string, kind: "regex" | "literal", signal: AbortSignal) =>
    runScript(session, SCRIPT, [args.pattern, path === "." ? path : `./${path}`, args.glob ?? "", kind], {
      outputBytes: OUTPUT_BYTES,
      signal,
    });

  const lookLiterally = async (
    args: Args,
    path: string,
    note: string,
    signal: AbortSignal,
  ): Promise<ToolResult> => {
    const ran = await look(args, path, "literal", signal);
    if (typeof ran === "string") return refused(ran);
    const found = parseOutput(ran.stdout);
    if (found.total > 0) return describe(found, note);
    return ran.code >= 2 ? refused(`The search failed: ${complaint(ran)}`) : nothing(args, path);
  };

  return {
    name: "search",
    description:
      "Finds lines by regular expression in files that are not ignored. Answers with path:line:text, the first 50 matches and how many more there are. A pattern that is no valid expression is searched as plain text. Use this before read_file.",
    schema,
    readOnly: true,
    run: async (args, { signal }) => {
      if (/[\n\0]/.test(args.pattern))
        return refused("The pattern must be one line: lines are matched one by one.");
      const names = parsePath(args.path ?? ".");
      if (!names.ok) return refused(names.error);
      const path = showPath(names.value);
      const kind = await files.kind(names.value);
      if (!kind.ok) return explainFault(files, names.value, kind.error);
      if (kind.value === "symlink" || kind.value === "other")
        return refused(`${path} is neither a file nor a directory; nothing was searched.`);
      const ran = await look(args, path, "regex", signal);
      if (typeof ran === "string") return refused(ran);
      const found = parseOutput(ran.stdout);
      if (found.total > 0) return describe(found, "");
      if (isPatternFault(ran))
        return lookLiterally(
          args,
          path,
          "[The pattern is no valid regular expression; searched as plain text.]\n",
          signal,
        );
      if (ran.code >= 2) return refused(`The search failed: ${complaint(ran)}`);
      const note = SPECIAL.test(args.pattern)
        ? "[No match as a regular expression; searched as plain text.]\n"
        : "";
      return note === "" ? nothing(args, path) : lookLiterally(args, path, note, signal);
    },
  };
}

function nothing(args: Args, path: string): ToolResult {
  const where = `${path === "." ? "the repository" : path}${args.glob === undefined ? "" : ` (files ${args.glob})`}`;
  return done(`No matches in ${where}. Ignored files and .git are not searched. Try a shorter pattern.`);
}
