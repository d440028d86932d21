/** The tool edit_file: replaces text that occurs exactly once, or makes a new file; refuses with what is there instead. */

import { z } from "zod";
import { headOf } from "#src/base/cut-text.ts";
import type { Tool, ToolResult } from "#src/harness/tool.ts";
import { findClosest } from "./closest.ts";
import type { FileBytes, FileFault, Files } from "./files.ts";
import { parsePath, showPath } from "./paths.ts";
import { replaceOnce } from "./replace.ts";
import { done, explainFault, refused, type Seen, type ToolSetup } from "./setup.ts";
import { decodeFile, encodeFile, type TextFile } from "./text-file.ts";

const CONTEXT_LINES = 2;
const MOST_SHOWN_LINES = 40;
const LINE_CHARS = 300;
/** read_file's numbering, pasted back by mistake. */
const NUMBERED = /^\s*\d+\t/;

const schema = z.object({
  path: z.string().describe("File, from the repository root"),
  old: z
    .string()
    .describe("Text to replace, exactly as in the file, occurring once; empty to make a new file"),
  new: z.string().describe("Text to put in its place"),
});

type Args = z.infer<typeof schema>;

interface Place {
  readonly names: readonly string[];
  readonly path: string;
}

function changedLines(text: string, first: number, last: number): string {
  const lines = text.split("\n");
  const from = Math.max(1, first - CONTEXT_LINES);
  const to = Math.min(lines.length, last + CONTEXT_LINES);
  const end = Math.min(to, from + MOST_SHOWN_LINES - 1);
  const shown = lines
    .slice(from - 1, end)
    .map((line, offset) => `${from + offset}\t${headOf(line.replace(/\r$/, ""), LINE_CHARS)}`);
  return [...shown, ...(end < to ? [`[${to - end} more lines]`] : [])].join("\n");
}

/** Why nothing matched, with the nearest real lines. */
function missing(path: string, file: TextFile, args: Args): ToolResult {
  const text = file.text.replaceAll("\r\n", "\n");
  const old = args.old.replaceAll("\r\n", "\n");
  const start = `${path}: \`old\` does not occur in the file; nothing was changed.`;
  const filled = old.split("\n").filter((line) => line.trim() !== "");
  if (filled.length > 0 && filled.every((line) => NUMBERED.test(line)))
    return refused(
      `${start} It begins with line numbers: they are read_file's, not the file's. Leave them out.`,
    );
  if (args.new.trim() !== "" && text.includes(args.new.replaceAll("\r\n", "\n")))
    return refused(`${start} But \`new\` is in the file already: this edit seems to be done.`);
  if (old.endsWith("\n") && text.endsWith(old.slice(0, -1)))
    return refused(
      `${start} The file ends without a line break after that text: leave it out at the end of \`old\`.`,
    );
  const closest = findClosest(text, old);
  if (closest === null)
    return refused(
      `${start} Nothing in it is similar. Read it with read_file, or find the place with search.`,
    );
  const why = closest.whiteSpaceOnly
    ? " They differ in white space only (→ is a tab, · a space at the end)."
    : "";
  return refused(
    `${start} The closest lines begin at line ${closest.line}.${why} "-" is what you sent, "+" what the file has:\n${closest.diff}`,
  );
}

export function editFileTool(files: Files, seen: Seen, onEdit: ToolSetup["onEdit"]): Tool<Args> {
  const wrote = (place: Place, bytes: Uint8Array, text: string): ToolResult => {
    seen.note(place.path, bytes);
    onEdit?.(place.path);
    return done(text, [place.path]);
  };

  const create = async (place: Place, text: string): Promise<ToolResult> => {
    const bytes = Buffer.from(text, "utf8");
    const made = await files.create(place.names, bytes);
    if (!made.ok) return refused(made.error.message);
    const lines = text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    return wrote(place, bytes, `Created ${place.path} (${lines} lines).`);
  };

  const save = async (place: Place, bytes: Buffer, text: string): Promise<ToolResult> => {
    const saved = await files.replace(place.names, bytes);
    return saved.ok ? wrote(place, bytes, text) : refused(saved.error.message);
  };

  const fill = async (place: Place, found: FileBytes, args: Args): Promise<ToolResult> => {
    if (found.bytes.length > 0)
      return refused(
        `${place.path} exists already (${found.bytes.length} bytes); \`old\` may be empty only for a new file. Read it, and give the text to replace in \`old\`.`,
      );
    return save(place, Buffer.from(args.new, "utf8"), `Filled ${place.path}, which was empty.`);
  };

  const edit = async (place: Place, found: FileBytes, args: Args): Promise<ToolResult> => {
    const decoded = await decodeFile(found.bytes);
    if (decoded.kind === "binary")
      return refused(`${place.path} is ${decoded.what}; edit_file changes text only.`);
    if (seen.differs(place.path, found.bytes))
      return refused(`${place.path} has changed since you read it. Read it again before you edit it.`);
    const { file } = decoded;
    const result = replaceOnce(file.text, args.old, args.new);
    if (result.kind === "same")
      return refused(`${place.path}: \`old\` and \`new\` are the same; nothing to do.`);
    if (result.kind === "missing") return missing(place.path, file, args);
    if (result.kind === "ambiguous")
      return refused(
        `${place.path}: \`old\` occurs ${result.count} times, at lines ${result.lines.join(", ")}${result.count > result.lines.length ? ", …" : ""}; nothing was changed. Add lines around it until it is unique.`,
      );
    const bytes = encodeFile(result.text, file);
    if (bytes === null)
      return refused(
        `${place.path} is not UTF-8 and has no place for some characters of \`new\`. Use run_command.`,
      );
    const shown = changedLines(result.text, result.firstLine, result.lastLine);
    return save(place, bytes, `Edited ${place.path}. Now:\n${shown}`);
  };

  const whenUnreadable = (place: Place, fault: FileFault, args: Args): Promise<ToolResult> =>
    fault.code === "missing" && args.old === ""
      ? create(place, args.new)
      : explainFault(files, place.names, fault);

  return {
    name: "edit_file",
    description:
      "Replaces `old` by `new` in a file. `old` must occur exactly once; otherwise nothing changes and the answer shows the places or the closest lines. An empty `old` makes a new file (and its directories). Line ends, byte order mark and mode stay. Answers with the changed lines.",
    schema,
    readOnly: false,
    run: async (given) => {
      const args = { ...given, old: withoutMark(given.old), new: withoutMark(given.new) };
      const names = parsePath(args.path);
      if (!names.ok) return refused(names.error);
      const place = { names: names.value, path: showPath(names.value) };
      const found = await files.read(names.value);
      if (!found.ok) return whenUnreadable(place, found.error, args);
      return args.old === "" ? fill(place, found.value, args) : edit(place, found.value, args);
    },
  };
}

/** The model never sees a byte order mark, and the file keeps its own. */
function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}
