/** Reads a directory of the host as the files of a commit. */

import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { FileSource } from "./fast-import.ts";

/** What a control takes as a file: its text or bytes, either with a mode, or null to delete it. */
export type FileContent = string | Uint8Array | FileSource | null;

/** Links stay links and the executable bit counts; `.git` and `node_modules` are left out. */
export async function filesFromDirectory(root: string): Promise<ReadonlyMap<string, FileSource>> {
  const found = new Map<string, FileSource>();
  const walk = async (prefix: string): Promise<void> => {
    const names = await readdir(join(root, prefix));
    for (const name of names.sort()) {
      if (name === ".git" || name === "node_modules") continue;
      const path = prefix === "" ? name : `${prefix}/${name}`;
      const stat = await lstat(join(root, path));
      if (stat.isDirectory()) await walk(path);
      else if (stat.isSymbolicLink())
        found.set(path, { mode: "120000", content: Buffer.from(await readlink(join(root, path))) });
      else if (stat.isFile())
        found.set(path, {
          mode: (stat.mode & 0o111) === 0 ? "100644" : "100755",
          content: await readFile(join(root, path)),
        });
    }
  };
  await walk("");
  return found;
}

export function fileSources(
  files: Readonly<Record<string, FileContent>>,
): ReadonlyMap<string, FileSource | null> {
  return new Map(Object.entries(files).map(([path, content]) => [path, fileSource(content)]));
}

function fileSource(content: FileContent): FileSource | null {
  if (content === null) return null;
  if (typeof content === "string") return { mode: "100644", content: Buffer.from(content, "utf8") };
  return content instanceof Uint8Array ? { mode: "100644", content } : content;
}
