/** Turns rows of the SQLite store into the port's values; a row that cannot be read is a damaged database. */

import type { SQLOutputValue } from "node:sqlite";
import { messageOf } from "#src/base/result.ts";
import type { RunEvent, RunRequest } from "#src/run/run.ts";
import type { StoredEvent, StoredRun } from "./store.ts";
import { StoreError } from "./store-error.ts";

export type Row = Readonly<Record<string, SQLOutputValue>>;

function damaged(column: string, detail: string): StoreError {
  return new StoreError(
    "corrupt",
    `The database holds an unreadable ${column} (${detail}). Stop agent-fix, keep a copy of the file, and restore the last backup (\`agent-fix restore\`).`,
  );
}

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw damaged(column, `expected text, found ${typeof value}`);
  return value;
}

export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw damaged(column, `expected an integer, found ${typeof value}`);
  return value;
}

export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw damaged(column, `expected bytes, found ${typeof value}`);
  return value;
}

function json(row: Row, column: string): unknown {
  try {
    return JSON.parse(text(row, column));
  } catch (error) {
    throw damaged(column, messageOf(error));
  }
}

export function storedRun(row: Row): StoredRun {
  return {
    runId: text(row, "run_id"),
    request: json(row, "request") as RunRequest,
    state: text(row, "state"),
    ended: integer(row, "ended") === 1,
    supersededBy: row.superseded_by === null ? null : text(row, "superseded_by"),
    createdAt: integer(row, "created_at"),
    updatedAt: integer(row, "updated_at"),
  };
}

export function storedEvent(runId: string, row: Row): StoredEvent {
  return {
    runId,
    seq: integer(row, "seq"),
    at: integer(row, "at"),
    event: json(row, "body") as RunEvent,
  };
}
