/** What a store rejects with when it cannot work: a code for the caller and a sentence that says what to do. */

import { messageOf } from "#src/base/result.ts";

export type StoreErrorCode =
  | "newer_version"
  | "not_a_database"
  | "corrupt"
  | "locked"
  | "read_only"
  | "disk_full"
  | "cannot_open"
  | "unknown_run"
  | "failed";

export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
  }
}

/** Primary result codes of SQLite (the low byte of an extended code). */
const SQLITE = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const;

function sentence(code: number, path: string): { code: StoreErrorCode; message: string } | null {
  switch (code) {
    case SQLITE.busy:
    case SQLITE.locked:
      return {
        code: "locked",
        message: `The database ${path} is locked by another process. Stop what else uses it (a backup, a SQLite shell, a hung server) and try again.`,
      };
    case SQLITE.readOnly:
      return {
        code: "read_only",
        message: `The database ${path} cannot be written. Give the user that runs agent-fix write permission on it and its directory, and check that the file system is not mounted read-only.`,
      };
    case SQLITE.full:
      return {
        code: "disk_full",
        message: `There is no space left for the database ${path}. Free some space on its disk; what was recorded so far is safe.`,
      };
    case SQLITE.corrupt:
      return {
        code: "corrupt",
        message: `The database ${path} is damaged. Stop agent-fix, keep a copy of the file, and restore the last backup (\`agent-fix restore\`).`,
      };
    case SQLITE.notADatabase:
      return {
        code: "not_a_database",
        message: `The file ${path} is not a SQLite database. Move it away, or set DATA_DIR to another directory.`,
      };
    case SQLITE.cannotOpen:
      return {
        code: "cannot_open",
        message: `The database ${path} cannot be opened. Check that its directory exists and belongs to the user that runs agent-fix.`,
      };
    case SQLITE.ioError:
      return {
        code: "failed",
        message: `Reading or writing the database ${path} failed. Check its disk and the system log.`,
      };
    default:
      return null;
  }
}

/** Any error from the database as a StoreError; one that already is one is returned unchanged. */
export function storeError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const native = error instanceof Error && "errcode" in error ? Number(error.errcode) : Number.NaN;
  const known = sentence(native & 0xff, path);
  if (known !== null) {
    return new StoreError(known.code, `${known.message} (${messageOf(error)})`, { cause: error });
  }
  return new StoreError("failed", `The database ${path} failed: ${messageOf(error)}.`, { cause: error });
}
