/** Reads a patch from a file or from standard input. */

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf } from "#src/base/result.ts";

/** `-` is standard input. Rejects with a sentence when the file cannot be read. */
export async function readPatch(file: string): Promise<string> {
  if (file === "-") {
    const parts: Buffer[] = [];
    for await (const part of process.stdin) parts.push(part as Buffer);
    return Buffer.concat(parts).toString("utf8");
  }
  return readFile(resolve(file), "utf8").catch((error: unknown) => {
    throw new Error(`the patch file ${file} cannot be read: ${messageOf(error)}`);
  });
}
