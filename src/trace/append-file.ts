/** A file of numbered lines that only grows: whole lines, one write each, also after a line that was torn. */

import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";

export interface AppendFile {
  /** Writes what `make` returns for the next number as one line; throws when it cannot, and then the number is used again. */
  append(make: (n: number) => string): void;
  close(): void;
}

const NEWLINE = 0x0a;

/**
 * Opens nothing yet: the first line does, and tries again after a failure. `numberOf` reads a line's number; null for a line that has none.
 * `write` is the system call; it may write less than it was given, as on a full disk.
 */
export function appendFile(
  path: string,
  numberOf: (line: string) => number | null,
  write: (fd: number, bytes: Uint8Array) => number = writeSync,
): AppendFile {
  let open: { readonly fd: number } | null = null;
  let last = 0;
  /** The file may end in the middle of a line. */
  let torn = false;

  const ensureOpen = () => {
    if (open !== null) return open;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(path, "a", 0o600);
    try {
      if (!fstatSync(fd).isFile()) throw new Error(`${path} is not a regular file`);
      const content = readFileSync(path);
      torn = content.length > 0 && content.at(-1) !== NEWLINE;
      last = lastNumber(content.toString("utf8"), numberOf);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    open = { fd };
    return open;
  };

  return {
    append: (make) => {
      const { fd } = ensureOpen();
      const line = `${torn ? "\n" : ""}${make(last + 1)}\n`;
      const bytes = Buffer.from(line, "utf8");
      torn = true;
      const written = write(fd, bytes);
      if (written < bytes.length) throw new Error("no space left on the disk");
      torn = false;
      last++;
    },
    close: () => {
      if (open !== null) closeSync(open.fd);
      open = null;
    },
  };
}

function lastNumber(content: string, numberOf: (line: string) => number | null): number {
  for (const line of content.split("\n").reverse()) {
    const number = numberOf(line);
    if (number !== null) return number;
  }
  return 0;
}
