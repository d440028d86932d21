/** The store on one SQLite file: every method is one statement or one short synchronous transaction, so nothing interleaves. */

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Clock } from "#src/base/clock.ts";
import { err, ok, type Result } from "#src/base/result.ts";
import type { RunEvent, RunRequest } from "#src/run/run.ts";
import { bytes, integer, type Row, storedEvent, storedRun, text } from "./rows.ts";
import { SQL } from "./sql.ts";
import { openDatabase } from "./sqlite-database.ts";
import type { AppendRefusal, Lease, NewFact, Receipt, Store, StoredEvent } from "./store.ts";
import { StoreError, storeError } from "./store-error.ts";
import { type Answer, type GroupedCall, inTransaction, together } from "./together.ts";

/** GitHub offers redelivery for three days; a busy installation sends fewer deliveries than this in that time. */
const DELIVERIES_KEPT = 10_000;

type Values = Record<string, SQLInputValue>;

interface Connection {
  row(sql: string, values: Values): Row | undefined;
  /** All rows; also for a writing statement with RETURNING, which must be run to its end. */
  rows(sql: string, values: Values): readonly Row[];
  /** The number of rows changed. */
  change(sql: string, values: Values): number;
  /** Runs `work` in a write transaction; undone when it throws or when `keep` says no to what it returned. */
  transaction<T>(work: () => T, keep?: (value: T) => boolean): T;
}

export interface SqliteStore extends Store {
  /** Makes calls of this store's methods in one transaction: see `together.ts`. */
  together(calls: readonly GroupedCall[]): Promise<readonly Answer[]>;
}

export interface SqliteOptions {
  readonly path: string;
  readonly clock: Now;
}

type Now = Pick<Clock, "now">;

/** Opens the store at `path`, creating directory and file; throws a StoreError that says what to do. */
export function openSqliteStore(options: SqliteOptions): SqliteStore {
  return createSqliteStore(openDatabase(options.path), options);
}

/** The store over a database that `openDatabase` has opened; `close` closes it. */
export function createSqliteStore(database: DatabaseSync, options: SqliteOptions): SqliteStore {
  const connection = connect(database);
  const parts = {
    ...deliveries(connection, options.clock),
    ...runs(connection, options.clock),
    ...log(connection, options.clock),
    ...leases(connection, options.clock),
    ...blobs(connection, options.clock),
  };
  const store: Store = {
    ...parts,
    ready: async () => connection.row(SQL.probe, {}) !== undefined,
    close: async () => {
      if (database.isOpen) database.close();
    },
  };
  const guarded = guard(store, options.path);
  return {
    ...guarded,
    ready: () => guarded.ready().catch(() => false),
    together: (calls) => together(database, calls),
  };
}

/** Every rejection becomes a StoreError with the path and the remedy in it. */
function guard(store: Store, path: string): Store {
  type Method = (...values: readonly unknown[]) => Promise<unknown>;
  const methods = Object.entries(store) as [string, Method][];
  const wrapped = methods.map(([name, method]) => [
    name,
    async (...values: readonly unknown[]) => {
      try {
        return await method(...values);
      } catch (error) {
        throw storeError(error, path);
      }
    },
  ]);
  return Object.fromEntries(wrapped) as Store;
}

function connect(database: DatabaseSync): Connection {
  const prepared = new Map<string, ReturnType<DatabaseSync["prepare"]>>();
  const statement = (sql: string) => {
    const known = prepared.get(sql) ?? database.prepare(sql);
    prepared.set(sql, known);
    return known;
  };
  return {
    row: (sql, values) => statement(sql).get(values),
    rows: (sql, values) => statement(sql).all(values),
    change: (sql, values) => Number(statement(sql).run(values).changes),
    transaction: (work, keep = () => true) => inTransaction(database, work, keep),
  };
}

function deliveries(
  connection: Connection,
  clock: Now,
): Pick<Store, "receive" | "knownDeliveries" | "newestDeliveryAt"> {
  const { row, rows, change, transaction } = connection;

  const become = (receipt: Receipt): readonly string[] => {
    switch (receipt.kind) {
      case "nothing":
        return [];
      case "run": {
        const created = addRun(connection, clock, receipt.request);
        return [created.ok ? created.value.runId : created.error.activeRunId];
      }
      case "facts":
        for (const fact of receipt.facts) addFact(connection, clock, fact);
        return receipt.facts.map(({ runId }) => runId);
    }
  };
  return {
    receive: async ({ id, name, bodyHash }, receipt) =>
      transaction(() => {
        if (row(SQL.knownDelivery, { id, name, bodyHash }) !== undefined) return "duplicate";
        const [inserted] = rows(SQL.insertDelivery, { id, name, bodyHash, at: clock.now() });
        change(SQL.trimDeliveries, { newest: integer(inserted ?? {}, "n"), keep: DELIVERIES_KEPT });
        return { runIds: become(receipt) };
      }),
    knownDeliveries: async (ids) =>
      new Set(ids.filter((id) => row(SQL.deliveryOnRecord, { id }) !== undefined)),
    newestDeliveryAt: async () => {
      const newest = row(SQL.newestDelivery, {});
      return newest === undefined ? null : integer(newest, "at");
    },
  };
}

function runs(
  connection: Connection,
  clock: Now,
): Pick<Store, "createRun" | "run" | "latestRun" | "runs" | "runsOf" | "runsOfPullRequest" | "openRuns"> {
  const { row, rows, transaction } = connection;
  const oneRun = (found: Row | undefined) => (found === undefined ? null : storedRun(found));
  return {
    createRun: async (request, supersedes) =>
      transaction(
        () => addRun(connection, clock, request, supersedes),
        (result) => result.ok,
      ),
    run: async (runId) => oneRun(row(SQL.run, { runId })),
    latestRun: async (repositoryId, issue) => oneRun(row(SQL.latestRun, { repositoryId, issue })),
    runs: async ({ ended, limit }) =>
      rows(SQL.runs, { ended: ended === undefined ? null : Number(ended), limit }).map(storedRun),
    runsOf: async (repositoryId, issue) => rows(SQL.runsOf, { repositoryId, issue }).map(storedRun),
    runsOfPullRequest: async (repositoryId, pullRequest) =>
      rows(SQL.runsOfPullRequest, { repositoryId, pullRequest }).map(storedRun),
    openRuns: async () => rows(SQL.openRuns, {}).map(storedRun),
  };
}

/** Must run inside a transaction, which is undone when the answer is a refusal. */
function addRun(
  connection: Connection,
  clock: Now,
  request: RunRequest,
  supersedes?: string,
): Result<StoredEvent, { readonly activeRunId: string }> {
  const { row, change } = connection;
  const issue = { repositoryId: request.repository.id, issue: request.issue.number };
  if (supersedes !== undefined) change(SQL.supersede, { ...issue, runId: supersedes, by: request.runId });
  const active = row(SQL.activeRun, issue);
  if (active !== undefined) return err({ activeRunId: text(active, "run_id") });
  const at = clock.now();
  change(SQL.insertRun, { ...issue, runId: request.runId, request: JSON.stringify(request), at });
  return ok(addEvent(connection, request.runId, { type: "requested", request }, at));
}

/** Must run inside a transaction. */
function addFact(connection: Connection, clock: Now, { runId, key, event }: NewFact): StoredEvent | null {
  const { row, change } = connection;
  if (row(SQL.fact, { runId, key }) !== undefined) return null;
  const at = clock.now();
  if (change(SQL.touch, { runId, at }) === 0)
    throw new StoreError("unknown_run", `There is no run ${runId}; \`agent-fix trace\` lists the runs.`);
  const stored = addEvent(connection, runId, event, at);
  change(SQL.insertFact, { runId, key, seq: stored.seq });
  return stored;
}

/** Must run inside a transaction: the number is read and used there. */
function addEvent(connection: Connection, runId: string, event: RunEvent, at: number): StoredEvent {
  const seq = integer(connection.row(SQL.lastSeq, { runId }) ?? {}, "seq") + 1;
  connection.change(SQL.insertEvent, { runId, seq, at, body: JSON.stringify(event) });
  return { runId, seq, at, event };
}

function refusal({ row }: Connection, lease: Lease): AppendRefusal | null {
  const found = row(SQL.leaseOf, { runId: lease.runId });
  if (found === undefined) return "unknown_run";
  const holds = found.lease_worker === lease.worker && found.fence === lease.fence;
  return holds ? null : "stale_lease";
}

function log(connection: Connection, clock: Now): Pick<Store, "events" | "append" | "settle" | "appendFact"> {
  const { rows, change, transaction } = connection;
  return {
    events: async (runId, afterSeq = 0) =>
      rows(SQL.events, { runId, afterSeq }).map((found) => storedEvent(runId, found)),
    append: async (lease, events, head) =>
      transaction(() => {
        const refused = refusal(connection, lease);
        if (refused !== null) return err(refused);
        const at = clock.now();
        const stored = events.map((event) => addEvent(connection, lease.runId, event, at));
        for (const event of events)
          if (event.type === "published")
            change(SQL.insertPullRequest, { runId: lease.runId, pullRequest: event.pullRequest });
        change(SQL.setHead, { runId: lease.runId, state: head.state, ended: Number(head.ended), at });
        return ok(stored);
      }),
    settle: async (lease, seq) =>
      transaction(() => {
        const refused = refusal(connection, lease);
        if (refused !== null) return err(refused);
        change(SQL.settle, { runId: lease.runId, seq });
        return ok(null);
      }),
    appendFact: async (runId, key, event) =>
      transaction(() => addFact(connection, clock, { runId, key, event })),
  };
}

function leases(
  { rows, change }: Connection,
  clock: Now,
): Pick<Store, "claim" | "renew" | "release" | "leases"> {
  return {
    claim: async (runId, worker, ttlMs) => {
      const now = clock.now();
      const [claimed] = rows(SQL.claim, { runId, worker, now, expiresAt: now + ttlMs });
      return claimed === undefined ? null : { runId, worker, fence: integer(claimed, "fence") };
    },
    renew: async ({ runId, worker, fence }, ttlMs) =>
      change(SQL.renew, { runId, worker, fence, expiresAt: clock.now() + ttlMs }) === 1,
    release: async ({ runId, worker, fence }) => {
      change(SQL.release, { runId, worker, fence });
    },
    leases: async () =>
      rows(SQL.leases, { now: clock.now() }).map((found) => ({
        runId: text(found, "run_id"),
        worker: text(found, "lease_worker"),
        fence: integer(found, "fence"),
      })),
  };
}

function blobs(connection: Connection, clock: Now): Pick<Store, "putBlob" | "blob"> {
  const { row, change, transaction } = connection;
  return {
    putBlob: async (lease, name, value) =>
      transaction(() => {
        const refused = refusal(connection, lease);
        if (refused !== null) return err(refused);
        change(SQL.putBlob, { runId: lease.runId, name, value, at: clock.now() });
        return ok(null);
      }),
    blob: async (runId, name) => {
      const found = row(SQL.blob, { runId, name });
      return found === undefined ? null : bytes(found, "value");
    },
  };
}
