/** Walks a directory whose names may be any bytes: as text a name that is not UTF-8 would lead nowhere. */

import { readdir } from "node:fs/promises";

export interface Below {
  readonly path: Buffer;
  readonly name: Buffer;
  readonly isFile: boolean;
}

const SLASH = Buffer.from("/");

/** Everything below the directory, links not followed. Rejects where a directory cannot be listed. */
export async function* entriesBelow(directory: string): AsyncGenerator<Below> {
  const open = [Buffer.from(directory)];
  for (let here = open.pop(); here !== undefined; here = open.pop()) {
    for (const entry of await readdir(here, { withFileTypes: true, encoding: "buffer" })) {
      const path = Buffer.concat([here, SLASH, entry.name]);
      if (entry.isDirectory()) open.push(path);
      yield { path, name: entry.name, isFile: entry.isFile() };
    }
  }
}

/** Names in a directory; none when it is not there. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
