/**
 * The store port: the append-only event log of each run, with leases, deliveries and transcripts beside it.
 * A refusal a caller decides on is a value; a store that cannot work (locked, full, damaged) rejects with a sentence that says what to do.
 */

import type { Result } from "#src/base/result.ts";
import type { RunEvent, RunRequest } from "#src/run/run.ts";

/** An event as stored: `seq` counts from 1 within its run without gaps. */
export interface StoredEvent {
  readonly runId: string;
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly event: RunEvent;
}

/**
 * The right to write decisions of one run; `fence` grows with each claim, and the store refuses an older one.
 * Expiry only makes a lease claimable: its holder may write and renew until another has claimed it or it was released.
 */
export interface Lease {
  readonly runId: string;
  readonly worker: string;
  readonly fence: number;
}

export interface StoredRun {
  readonly runId: string;
  readonly request: RunRequest;
  /** `Run["state"]` after the last append, for listing; the events are the truth. */
  readonly state: string;
  readonly ended: boolean;
  /** The run that took its place before it had ended; whoever finds it unended closes it as superseded. */
  readonly supersededBy: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Delivery {
  /** X-GitHub-Delivery. */
  readonly id: string;
  /** SHA-256 of the raw body, so that a redelivery under a new id is recognised too. */
  readonly bodyHash: string;
  readonly name: string;
}

/** What a delivery becomes in the log. */
export type Receipt =
  | { readonly kind: "nothing" }
  | { readonly kind: "run"; readonly request: RunRequest }
  | { readonly kind: "facts"; readonly facts: readonly NewFact[] };

/** A fact for one run; `key` is unique within the run, so that it is recorded once. */
export interface NewFact {
  readonly runId: string;
  readonly key: string;
  readonly event: RunEvent;
}

export type AppendRefusal = "stale_lease" | "unknown_run";

export interface Store {
  /**
   * Records a delivery together with what it becomes, all or nothing, so that a crash or a failure in between leaves a delivery
   * that GitHub can send again. `duplicate` when its id or its body was recorded before; else the runs that have something new to
   * look at (for a request that met the issue's active run: that one). Keeps the newest 10,000. Rejects for a fact of a run that does not exist.
   */
  receive(
    delivery: Delivery,
    receipt: Receipt,
  ): Promise<"duplicate" | { readonly runIds: readonly string[] }>;
  /** Those of the delivery ids that are on record. */
  knownDeliveries(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** When the newest delivery on record was taken, ms since the epoch; null when there is none. */
  newestDeliveryAt(): Promise<number | null>;

  /**
   * Creates a run (state `queued`) with its first event, unless the issue has a run that has not ended: then that one's id. Atomic.
   * A run of the same issue named in `supersedes` no longer blocks: it stays as it is until its lease holder ends it, but from then on the new run is the issue's run.
   */
  createRun(
    request: RunRequest,
    supersedes?: string,
  ): Promise<Result<StoredEvent, { readonly activeRunId: string }>>;
  run(runId: string): Promise<StoredRun | null>;
  /** The issue's run that has not ended and is not superseded; else its newest one; null when it never had one. */
  latestRun(repositoryId: number, issue: number): Promise<StoredRun | null>;
  /** All runs of an issue, newest first. */
  runsOf(repositoryId: number, issue: number): Promise<readonly StoredRun[]>;
  /** Runs that opened the pull request or pushed to it, newest first. */
  runsOfPullRequest(repositoryId: number, pullRequest: number): Promise<readonly StoredRun[]>;
  /** Newest first. */
  runs(filter: { readonly ended?: boolean; readonly limit: number }): Promise<readonly StoredRun[]>;
  /** What a worker has to look at, oldest first: runs that have not ended, and ended ones with events beyond what was settled. */
  openRuns(): Promise<readonly StoredRun[]>;

  events(runId: string, afterSeq?: number): Promise<readonly StoredEvent[]>;
  /** Appends decisions of the lease holder; all or nothing. `state` and `ended` become the run's listing columns. */
  append(
    lease: Lease,
    events: readonly RunEvent[],
    head: { readonly state: string; readonly ended: boolean },
  ): Promise<Result<readonly StoredEvent[], AppendRefusal>>;
  /** Notes that the run has ended and that everything up to event `seq` was dealt with: comments are written, answers given, files removed. Fenced like `append`. */
  settle(lease: Lease, seq: number): Promise<Result<null, AppendRefusal>>;
  /** Appends a fact from outside (a command, a label taken off) without a lease; null when `key` was recorded for the run before. Rejects for a run that does not exist. */
  appendFact(runId: string, key: string, event: RunEvent): Promise<StoredEvent | null>;

  /** Takes the lease when it is free, expired or `worker`'s own from a former life; null when another holds it or the run does not exist. `worker` must be unique per process, or the same after a restart. */
  claim(runId: string, worker: string, ttlMs: number): Promise<Lease | null>;
  /** False when the lease was lost: the holder must stop at once. */
  renew(lease: Lease, ttlMs: number): Promise<boolean>;
  release(lease: Lease): Promise<void>;
  /** Those held now: neither released nor expired. */
  leases(): Promise<readonly Lease[]>;

  /** Large values of a run (transcripts, plan bodies, step outputs), by name; overwriting is allowed. Fenced like `append`. */
  putBlob(lease: Lease, name: string, value: Uint8Array): Promise<Result<null, AppendRefusal>>;
  blob(runId: string, name: string): Promise<Uint8Array | null>;

  /** False when a read fails. */
  ready(): Promise<boolean>;
  close(): Promise<void>;
}
