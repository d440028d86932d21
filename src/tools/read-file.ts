/** The tool read_file: numbered lines of one text file, bounded by lines and by characters. */

import { z } from "zod";
import { headOf } from "#src/base/cut-text.ts";
import type { Tool, ToolResult } from "#src/harness/tool.ts";
import type { Files } from "./files.ts";
import { parsePath, showPath } from "./paths.ts";
import { done, explainFault, refused, type Seen } from "./setup.ts";
import { decodeFile } from "./text-file.ts";

const DEFAULT_LINES = 200;
/** Less than what the dispatcher clips at, so that a result is cut between lines and never in its middle. */
const MOST_CHARS = 7_400;
const LINE_CHARS = 500;
const ONLY_LINE_CHARS = 6_000;

const schema = z.object({
  path: z.string().describe("File, from the repository root"),
  start: z.coerce.number().int().min(1).max(1e7).optional().describe("First line, from 1"),
  end: z.coerce.number().int().min(1).max(1e7).optional().describe("Last line; default start + 199"),
});

type Args = z.infer<typeof schema>;

function cutLine(line: string, limit: number): string {
  const head = headOf(line, limit);
  const rest = line.length - head.length;
  return rest === 0 ? head : `${head}[… ${rest.toLocaleString("en-US")} more characters in this line]`;
}

interface Window {
  readonly text: string;
  /** Last line shown. */
  readonly last: number;
  readonly cut: boolean;
}

/** Lines `start` to `end` with their numbers, as many as fit. */
function windowOf(lines: readonly string[], start: number, end: number): Window {
  const limit = start === end ? ONLY_LINE_CHARS : LINE_CHARS;
  const shown: string[] = [];
  let used = 0;
  let cut = false;
  for (let number = start; number <= end; number++) {
    const line = (lines[number - 1] ?? "").replace(/\r$/, "");
    const text = `${number}\t${cutLine(line, limit)}`;
    if (shown.length > 0 && used + text.length + 1 > MOST_CHARS) break;
    cut ||= line.length > limit;
    used += text.length + 1;
    shown.push(text);
  }
  return { text: shown.join("\n"), last: start + shown.length - 1, cut };
}

function describe(path: string, text: string, args: Args, note: string): ToolResult {
  if (text === "") return done(`${path} is empty (0 lines).`);
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const start = args.start ?? 1;
  const end = Math.min(args.end ?? start + DEFAULT_LINES - 1, lines.length);
  if (start > lines.length)
    return refused(`${path} has ${lines.length} lines; start ${start} is past its end.`);
  if (end < start) return refused(`end ${args.end} is before start ${start}.`);
  const shown = windowOf(lines, start, end);
  const remain = lines.length - shown.last;
  const parts = [`${path}, lines ${start}-${shown.last} of ${lines.length}${note}`, shown.text];
  if (remain > 0) parts.push(`[${remain} more lines; go on with start ${shown.last + 1}]`);
  if (shown.cut)
    parts.push(
      `[Long lines are cut. Find a place in them with search, or show part of one with run_command: sed -n '${start}p' FILE | cut -c 1-2000]`,
    );
  return done(parts.join("\n"));
}

export function readFileTool(files: Files, seen: Seen): Tool<Args> {
  return {
    name: "read_file",
    description:
      "Shows a text file with line numbers, 200 lines from `start` unless `end` is given, and says how many remain. Line numbers are not part of the file. To find where something is, use search first.",
    schema,
    readOnly: true,
    run: async (args) => {
      const names = parsePath(args.path);
      if (!names.ok) return refused(names.error);
      const path = showPath(names.value);
      const found = await files.read(names.value);
      if (!found.ok) return explainFault(files, names.value, found.error);
      const { bytes } = found.value;
      const decoded = await decodeFile(bytes);
      if (decoded.kind === "binary")
        return done(`${path} is ${decoded.what} (${bytes.length.toLocaleString("en-US")} bytes); not shown.`);
      seen.note(path, bytes);
      const { file } = decoded;
      const notes = [
        ...(file.text.includes("\r\n") ? ["CRLF line ends, which edit_file keeps"] : []),
        ...(file.encoding === "latin1" ? ["not UTF-8, shown as Latin-1"] : []),
      ];
      return describe(path, file.text, args, notes.length === 0 ? "" : ` (${notes.join("; ")})`);
    },
  };
}
