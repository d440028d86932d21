/** Which paths a file tool may name: inside the workspace, never through `..`, never in `.git`. Pure. */

import { err, ok, type Result } from "#src/base/result.ts";

/** Where the workspace stands inside the sandbox; the model may spell paths from there. */
const INSIDE_ROOT = "/workspace";
const MOST_CHARS = 4_096;
const MOST_NAME_BYTES = 255;

/** A path as its names from the workspace root; the root itself has none. The error is a sentence for the model. */
export function parsePath(raw: string): Result<readonly string[], string> {
  const shown = JSON.stringify(raw.slice(0, 200));
  if (raw.includes("\0")) return err("The path contains a NUL character, which no file name can have.");
  if (raw.length > MOST_CHARS) return err("The path is too long.");
  const inside = raw === INSIDE_ROOT || raw.startsWith(`${INSIDE_ROOT}/`);
  const relative = inside ? raw.slice(INSIDE_ROOT.length + 1) : raw;
  if (relative.startsWith("/") && !inside)
    return err(`${shown} is outside the repository. Give a path from the repository root, e.g. src/a.js.`);
  if (relative === "~" || relative.startsWith("~/"))
    return err(`${shown} is outside the repository. The tools reach only files of the repository.`);
  const names = relative.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes(".."))
    return err(`${shown} contains "..". Give the path from the repository root without it.`);
  if (names.some((name) => name.toLowerCase() === ".git"))
    return err(
      `${shown} is in .git, which these tools never touch. Use run_command with git to look at history.`,
    );
  if (names.some((name) => Buffer.byteLength(name) > MOST_NAME_BYTES))
    return err("A name in the path is longer than 255 bytes.");
  return ok(names);
}

/** The path as the tools write it: from the root, `.` for the root itself. */
export function showPath(names: readonly string[]): string {
  return names.length === 0 ? "." : names.join("/");
}
