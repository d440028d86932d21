/** The files that may define a name: found by ripgrep inside the sandbox, read from outside without following links. */

import type { Session } from "#src/sandbox/sandbox.ts";
import { nearestNames } from "./closest.ts";
import type { Files } from "./files.ts";
import { likelyPattern } from "./find-definition-guess.ts";
import { runScript } from "./in-session.ts";
import { parsePath } from "./paths.ts";
import { decodeFile } from "./text-file.ts";

const MOST_FILES = 200;
const MOST_FILE_BYTES = 1024 * 1024;
/** Together; the likeliest come first. */
const MOST_BYTES = 16 * 1024 * 1024;
const OUTPUT_BYTES = 1024 * 1024;

const OPTIONS = [
  ...["--no-config", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-parent"],
  ...["--no-messages", "--color never", "--max-filesize 1M", "--glob '!.git'"],
].join(" ");

/** Arguments: name, pattern of likely lines. Paths that likely define it, an empty line, all paths that have the word. */
const SCRIPT = `
if command -v rg >/dev/null 2>&1; then
  options=(${OPTIONS} --files-with-matches --sort path)
  rg "\${options[@]}" --regexp "$2" . | head -n 2000
  echo
  rg "\${options[@]}" --fixed-strings --word-regexp --regexp "$1" . | head -n 5000
else
  grep -rIlE --exclude-dir=.git -e "$2" . | head -n 2000
  echo
  grep -rIlwF --exclude-dir=.git -e "$1" . | head -n 5000
fi
exit 0`;

/** Every name that follows a word like \`class\`, once. */
const NAMES_SCRIPT = `
command -v rg >/dev/null 2>&1 || exit 0
rg ${OPTIONS} --no-filename --no-line-number --only-matching --replace '$1$2' --regexp \
  '\\b(?:def|fn|func|fun|function|class|struct|interface|trait|enum|type|module|const|let|var|val)\\s+(?:\\([^)]*\\)\\s*)?([A-Za-z_$][\\w$]{2,60})|^\\s+(?:(?:async|static|public|private|protected|override)\\s+)*([A-Za-z_$][\\w$]{2,60})\\s*\\([^;]*\\{\\s*$' . \
  | LC_ALL=C sort -u | head -c 900000
exit 0`;

export interface Candidate {
  readonly path: string;
  readonly text: string;
}

export interface Candidates {
  readonly files: readonly Candidate[];
  /** Paths of all files that contain the word. */
  readonly paths: readonly string[];
}

/** A string: why the search did not end by itself. */
export async function findCandidates(
  session: Session,
  files: Files,
  name: string,
  signal: AbortSignal,
): Promise<Candidates | string> {
  const ran = await runScript(session, SCRIPT, [name, likelyPattern(name)], {
    outputBytes: OUTPUT_BYTES,
    signal,
  });
  if (typeof ran === "string") return ran;
  const lines = ran.stdout.split("\n").map((line) => line.replace(/^\.\//, ""));
  const gap = lines.indexOf("");
  const paths = lines.slice(gap + 1).filter((line) => line !== "");
  const known = new Set(paths);
  const likely = lines.slice(0, gap).filter((path) => known.has(path));
  const ordered = [...new Set([...likely, ...paths])].slice(0, MOST_FILES);
  return { files: await readAll(files, ordered, signal), paths };
}

async function readAll(
  files: Files,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const read: Candidate[] = [];
  let bytes = 0;
  for (const path of paths) {
    if (signal.aborted || bytes > MOST_BYTES) break;
    const names = parsePath(path);
    // Gone or changed since the search, or a name that the tools do not take: not a candidate.
    const found = names.ok ? await files.read(names.value) : null;
    if (found === null || !found.ok || found.value.bytes.length > MOST_FILE_BYTES) continue;
    const decoded = await decodeFile(found.value.bytes);
    if (decoded.kind === "binary") continue;
    bytes += found.value.bytes.length;
    read.push({ path, text: decoded.file.text });
  }
  return read;
}

/** Names defined somewhere in the repository that are most like `name`, best first. */
export async function findNearest(
  session: Session,
  name: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const ran = await runScript(session, NAMES_SCRIPT, [], { outputBytes: OUTPUT_BYTES, signal });
  if (typeof ran === "string") return [];
  const fits = (other: string) =>
    other !== name && other.length * 2 >= name.length && other.length <= name.length * 2;
  const names = ran.stdout.split("\n").filter(fits);
  // nearestNames compares a bounded number, so those that begin alike come first.
  const head = name.slice(0, 1).toLowerCase();
  const alike = (other: string) => (other.toLowerCase().startsWith(head) ? 0 : 1);
  return nearestNames(
    name,
    names.sort((a, b) => alike(a) - alike(b)),
  );
}
