/** Reads what a test run left in the report directory, as hostile input: regular files only, no links followed, bounded. */

import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "#src/base/result.ts";

export interface ReportFile {
  readonly name: string;
  readonly text: string;
}

export interface ReportFiles {
  readonly files: readonly ReportFile[];
  /** Why a file with a report's name was not read, one sentence each. */
  readonly refused: readonly string[];
}

/** Over all files of one run, in bytes. */
export const MAX_REPORT_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 500;
const REPORT_NAME = /^[a-z]+-[\w.-]*\.(?:ndjson|json|xml|tap|libtest|gotest|trx)$/;
const PLACES = "places.txt";
const MAX_PLACES_BYTES = 8 * 1024 * 1024;

async function readOne(
  directory: string,
  name: string,
  room: number,
): Promise<string | { readonly refused: string }> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(join(directory, name), flags).catch((error: unknown) => messageOf(error));
  if (typeof handle === "string") return { refused: `the report ${name} cannot be opened: ${handle}` };
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) return { refused: `the report ${name} is not a regular file` };
    if (facts.size > room) return { refused: `the report ${name} is larger than ${room} bytes` };
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** Never rejects for what a test run can do to the directory; `limit` is in bytes. */
export async function readReports(directory: string, limit: number = MAX_REPORT_BYTES): Promise<ReportFiles> {
  const names = (await readdir(directory)).filter((name) => REPORT_NAME.test(name)).sort();
  const files: ReportFile[] = [];
  const refused: string[] = [];
  if (names.length > MAX_FILES) refused.push(`there are ${names.length} reports, more than ${MAX_FILES}`);
  let room = limit;
  for (const name of names.slice(0, MAX_FILES)) {
    const read = await readOne(directory, name, room);
    if (typeof read === "string") {
      room -= Buffer.byteLength(read);
      files.push({ name, text: read });
    } else refused.push(read.refused);
  }
  return { files, refused };
}

/** The list of source files that the collecting script wrote; empty when there is none to be had. */
export async function readPlaces(directory: string): Promise<string> {
  const read = await readOne(directory, PLACES, MAX_PLACES_BYTES);
  return typeof read === "string" ? read : "";
}
