/** Opens the SQLite file: private modes, durable settings, and the schema brought to the newest version. */

import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "#src/base/result.ts";
import { APPLICATION_ID, MIGRATIONS, type Migration } from "./migrations.ts";
import { StoreError, storeError } from "./store-error.ts";

/** How long a statement waits for another process's transaction before it fails as `locked`. */
const BUSY_TIMEOUT_MS = 5_000;
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Opens or creates the database at `path` (directories made 0700, the file kept at 0600) and migrates it in one transaction.
 * Throws a StoreError: `newer_version` for a file written by a later release, `not_a_database` for a file that is not ours.
 */
export function openDatabase(path: string, migrations: readonly Migration[] = MIGRATIONS): DatabaseSync {
  makePrivateFile(path);
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
    refuseForeign(database, path);
    // WAL lets readers of other processes go on while one writes; FULL syncs the log at each commit, so that an answered delivery survives a power cut.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    migrate(database, path, migrations);
    return database;
  } catch (error) {
    database?.close();
    throw storeError(error, path);
  }
}

function makePrivateFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
    // Made before SQLite opens it: SQLite gives its side files the mode of the main file, whatever the umask.
    closeSync(openSync(path, "a", FILE_MODE));
    const { mode, uid } = statSync(path);
    if ((mode & 0o077) !== 0 && uid === process.getuid?.()) chmodSync(path, FILE_MODE);
  } catch (error) {
    throw new StoreError(
      "cannot_open",
      `The database ${path} cannot be created or opened (${messageOf(error)}). Set DATA_DIR to a directory that the user running agent-fix can write.`,
      { cause: error },
    );
  }
}

function numberOf(database: DatabaseSync, sql: string): number {
  const row = database.prepare(sql).get() ?? {};
  return Number(Object.values(row)[0] ?? 0);
}

function refuseForeign(database: DatabaseSync, path: string): void {
  if (numberOf(database, "PRAGMA application_id") === APPLICATION_ID) return;
  if (numberOf(database, "SELECT count(*) FROM sqlite_master") === 0) return;
  // Another process may have migrated a new file between the two reads.
  if (numberOf(database, "PRAGMA application_id") === APPLICATION_ID) return;
  throw new StoreError(
    "not_a_database",
    `The database ${path} belongs to another program. Move it away, or set DATA_DIR to another directory.`,
  );
}

/** Applies what is missing; two processes that start together take turns on the write lock. */
function migrate(database: DatabaseSync, path: string, migrations: readonly Migration[]): void {
  const newest = Math.max(...migrations.map((migration) => migration.version));
  database.exec("BEGIN IMMEDIATE");
  try {
    const current = numberOf(database, "PRAGMA user_version");
    if (current > newest) {
      throw new StoreError(
        "newer_version",
        `The database ${path} was written by a newer version of agent-fix (schema ${current}, this version knows ${newest}). Start the newer version, or restore the backup made before the upgrade.`,
      );
    }
    for (const migration of migrations) {
      if (migration.version <= current) continue;
      for (const statement of migration.statements) database.exec(statement);
      database.exec(`PRAGMA user_version = ${migration.version}`);
    }
    if (current === 0) database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
