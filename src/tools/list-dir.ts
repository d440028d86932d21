/** The tool list_dir: one directory's files and sub-directories, without what the repository ignores. */

import { z } from "zod";
import type { Tool, ToolResult } from "#src/harness/tool.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import type { Files } from "./files.ts";
import { runScript } from "./in-session.ts";
import { parsePath, showPath } from "./paths.ts";
import { done, explainFault, refused } from "./setup.ts";

const MOST_ENTRIES = 200;
const MOST_CHARS = 7_000;
/** Room for some 30,000 paths; beyond it counts are marked as lower bounds. */
const OUTPUT_BYTES = 2 * 1024 * 1024;

/** Argument: the directory. Every file below it that is not ignored, one a line; git and find stand in where ripgrep is missing. */
const SCRIPT = `
cd -- "$1" || exit 3
if command -v rg >/dev/null 2>&1; then
  rg --no-config --files --hidden --no-require-git --no-ignore-global --no-messages --sort path --glob '!.git' .
  code=$?
  # 1: no files; 2: some could not be read, which is no reason to show none.
  [ $code -le 2 ] && exit 0
  exit $code
elif git rev-parse --git-dir >/dev/null 2>&1; then
  git -c core.quotePath=false ls-files --cached --others --exclude-standard
else
  find . -name .git -prune -o -type f -print
fi`;

const schema = z.object({ path: z.string().optional().describe("Directory; default: the repository root") });

type Args = z.infer<typeof schema>;

interface Listing {
  readonly files: readonly string[];
  /** Sub-directories with the number of files below each. */
  readonly directories: ReadonlyMap<string, number>;
  readonly complete: boolean;
}

function parseOutput(stdout: string): Listing {
  const files: string[] = [];
  const directories = new Map<string, number>();
  let complete = true;
  for (const line of stdout.split("\n")) {
    if (line === "") continue;
    if (line.startsWith("[… ")) {
      complete = false;
      continue;
    }
    const path = line.replace(/^\.\//, "");
    const slash = path.indexOf("/");
    if (slash === -1) files.push(path);
    else directories.set(path.slice(0, slash), (directories.get(path.slice(0, slash)) ?? 0) + 1);
  }
  return { files, directories, complete };
}

function describe(path: string, listing: Listing): ToolResult {
  const atLeast = listing.complete ? "" : "at least ";
  const entries = [
    ...[...listing.directories].map(([name, count]) => `${name}/ (${atLeast}${count} files)`),
    ...listing.files,
  ].sort((a, b) => (a < b ? -1 : 1));
  if (entries.length === 0) return done(`${path} has no files that are not ignored.`);
  const shown: string[] = [];
  let used = 0;
  for (const entry of entries) {
    if (shown.length >= MOST_ENTRIES || used + entry.length + 1 > MOST_CHARS) break;
    used += entry.length + 1;
    shown.push(entry);
  }
  const left = entries.length - shown.length;
  if (left > 0)
    shown.push(
      `[${left.toLocaleString("en-US")} more entries; list a sub-directory or use search with a glob]`,
    );
  if (!listing.complete) shown.push("[The tree is too large to count whole.]");
  return done([`${path === "." ? "Repository root" : `${path}/`}:`, ...shown].join("\n"));
}

export function listDirTool(session: Session, files: Files): Tool<Args> {
  return {
    name: "list_dir",
    description:
      "Lists one directory: files, and sub-directories with the number of files below them. Ignored files and .git are left out; at most 200 entries. To find a file by its content use search.",
    schema,
    readOnly: true,
    run: async (args, { signal }) => {
      const names = parsePath(args.path ?? ".");
      if (!names.ok) return refused(names.error);
      const path = showPath(names.value);
      const kind = await files.kind(names.value);
      if (!kind.ok) return explainFault(files, names.value, kind.error);
      if (kind.value === "file") return refused(`${path} is a file. Use read_file.`);
      if (kind.value !== "directory")
        return refused(`${path} is not a directory, and these tools follow no links.`);
      const ran = await runScript(session, SCRIPT, [`./${path}`], { outputBytes: OUTPUT_BYTES, signal });
      if (typeof ran === "string") return refused(ran);
      if (ran.code !== 0) return refused(`${path} could not be listed: ${ran.stderr.slice(0, 300)}`);
      return describe(path, parseOutput(ran.stdout));
    },
  };
}
