/** Group commit: calls that wait for the database at the same moment share one transaction, and with it one write to the disk. */

import type { DatabaseSync } from "node:sqlite";

export interface GroupedCall {
  /** False for a call that only reads. */
  readonly writes: boolean;
  /** Makes the call; all it does to the database is done when this returns its promise. */
  readonly make: () => Promise<unknown>;
}

export type Answer = PromiseSettledResult<unknown>;

/**
 * Makes the calls in their order and answers when what they wrote is on the disk: each as if it had been made alone. A call that
 * fails or refuses takes back only its own part (`inTransaction` gives it a savepoint). When the whole cannot be committed,
 * nothing of it stays and each call is made again alone.
 */
export async function together(
  database: DatabaseSync,
  calls: readonly GroupedCall[],
): Promise<readonly Answer[]> {
  const alone = () => Promise.allSettled(calls.map(({ make }) => make()));
  if (calls.filter(({ writes }) => writes).length < 2) return alone();
  try {
    database.exec("BEGIN IMMEDIATE");
  } catch (error) {
    // Another process holds the lock: each would wait for it in vain once more. Reading goes on meanwhile.
    return Promise.allSettled(calls.map(({ writes, make }) => (writes ? Promise.reject(error) : make())));
  }
  return (await committed(database, calls)) ?? alone();
}

/** Null when nothing of it was kept. */
async function committed(
  database: DatabaseSync,
  calls: readonly GroupedCall[],
): Promise<readonly Answer[] | null> {
  const made: Promise<unknown>[] = [];
  for (const { make } of calls) {
    // A full disk makes SQLite take back the whole transaction; what is made after that would stand alone.
    if (!database.isTransaction) break;
    made.push(make());
  }
  const answers = Promise.allSettled(made);
  if (!database.isTransaction) {
    await answers;
    return null;
  }
  try {
    database.exec("COMMIT");
  } catch {
    // Whichever call it was learns of it when it is made alone.
    if (database.isTransaction) database.exec("ROLLBACK");
    await answers;
    return null;
  }
  return answers;
}

/** Runs `work` all or nothing, inside the transaction that is open or in one of its own; undone when it throws or when `keep` says no. */
export function inTransaction<T>(database: DatabaseSync, work: () => T, keep: (value: T) => boolean): T {
  const nested = database.isTransaction;
  const undo = nested ? "ROLLBACK TO call; RELEASE call" : "ROLLBACK";
  database.exec(nested ? "SAVEPOINT call" : "BEGIN IMMEDIATE");
  try {
    const value = work();
    const done = nested ? "RELEASE call" : "COMMIT";
    database.exec(keep(value) ? done : undo);
    return value;
  } catch (error) {
    if (database.isTransaction) database.exec(undo);
    throw error;
  }
}
