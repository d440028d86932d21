/** Finds files that commands hold open although their names are gone: they take space that no walk through directories sees. */

import { readdir, stat } from "node:fs/promises";
import { isErrno } from "#src/sandbox/command/processes.ts";

export interface NamelessBytes {
  /** On the file systems of the given directories. */
  readonly onDisk: number;
  /** On any other: memory that is a file (memfd, deleted files of /dev/shm). */
  readonly elsewhere: number;
}

/** Blocks are of 512 bytes here, whatever the file system's own are. */
const BLOCK = 512;

/** Each file once, however many processes hold it; what cannot be looked at is not counted. */
export async function namelessBytes(
  pids: readonly number[],
  directories: readonly string[],
): Promise<NamelessBytes> {
  const devices = new Set((await Promise.all(directories.map((path) => stat(path)))).map(({ dev }) => dev));
  const seen = new Set<string>();
  let onDisk = 0;
  let elsewhere = 0;
  for (const pid of pids) {
    const names = (await missingIsNull(readdir(`/proc/${pid}/fd`))) ?? [];
    const open = await Promise.all(names.map((fd) => missingIsNull(stat(`/proc/${pid}/fd/${fd}`))));
    for (const file of open) {
      if (file === null || !file.isFile() || file.nlink > 0) continue;
      const key = `${file.dev} ${file.ino}`;
      if (seen.has(key)) continue;
      seen.add(key);
      if (devices.has(file.dev)) onDisk += file.blocks * BLOCK;
      else elsewhere += file.blocks * BLOCK;
    }
  }
  return { onDisk, elsewhere };
}

/** The process or its descriptor has gone meanwhile, or is not ours to look at. */
async function missingIsNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM", "ESTALE", "ENXIO")) return null;
    throw error;
  }
}
