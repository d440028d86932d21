/** Keeps a second process off a data directory: each takes the other's sandboxes for leftovers. The kernel gives the lock back when its holder dies. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "#src/base/clock.ts";
import { StoreError } from "./store-error.ts";

export interface DataLock {
  release(): void;
}

const LOCK_FILE = "lock.db";
const LOOK_EVERY_MS = 250;

/**
 * Waits up to `waitMs` for a predecessor that is still stopping. Rejects with a StoreError `locked` when it does not, and
 * with `cannot_open` when the directory cannot be written.
 */
export async function lockDataDir(dataDir: string, clock: Clock, waitMs: number): Promise<DataLock> {
  const end = clock.now() + waitMs;
  for (;;) {
    const lock = tryLock(dataDir);
    if (lock !== null) return lock;
    if (clock.now() >= end)
      throw new StoreError(
        "locked",
        `Another agent-fix uses ${dataDir}. Stop it first, or set DATA_DIR to a directory of its own.`,
      );
    await clock.sleep(LOOK_EVERY_MS);
  }
}

/** SQLite's own file lock: an exclusive transaction that is never committed. */
function tryLock(dataDir: string): DataLock | null {
  let database: DatabaseSync | null = null;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    database = new DatabaseSync(join(dataDir, LOCK_FILE), { timeout: 0 });
    database.exec("BEGIN EXCLUSIVE");
    const held = database;
    return { release: () => held.close() };
  } catch (error) {
    database?.close();
    if (/locked|busy/i.test(String(error))) return null;
    throw new StoreError(
      "cannot_open",
      `The directory ${dataDir} cannot be used (${String(error)}). Set DATA_DIR to a directory that the user running agent-fix can write.`,
      { cause: error },
    );
  }
}
