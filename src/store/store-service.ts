/** A SQLite store behind a message port: what runs in the thread that the database has for itself, so that waiting for the disk holds up nobody else. */

import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { openSqliteStore, type SqliteStore } from "./sqlite.ts";
import type { Store } from "./store.ts";
import { type StoreErrorCode, storeError } from "./store-error.ts";
import type { Answer } from "./together.ts";

/** What each method does to the database; a group of calls ends before one that closes it. */
export const METHODS: Readonly<Record<keyof Store, "reads" | "writes" | "closes">> = {
  receive: "writes",
  knownDeliveries: "reads",
  newestDeliveryAt: "reads",
  createRun: "writes",
  run: "reads",
  latestRun: "reads",
  runsOf: "reads",
  runsOfPullRequest: "reads",
  runs: "reads",
  openRuns: "reads",
  events: "reads",
  append: "writes",
  settle: "writes",
  appendFact: "writes",
  claim: "writes",
  renew: "writes",
  release: "writes",
  leases: "reads",
  putBlob: "writes",
  blob: "reads",
  ready: "reads",
  close: "closes",
};

export interface ServiceCall {
  readonly id: number;
  readonly method: keyof Store;
  readonly values: readonly unknown[];
  /** The caller's time, ms since the epoch. */
  readonly now: number;
}

interface SentError {
  readonly code: StoreErrorCode;
  readonly message: string;
}

export type ServiceAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: SentError };

/** The first message says whether the store was opened; each later one answers the calls of one group. */
export type ServiceMessage =
  | { readonly opened: true }
  | { readonly error: SentError }
  | { readonly answers: readonly ServiceAnswer[] };

/** Larger groups would let the first of them wait for too many others. */
const GROUP_SIZE = 100;

/** Opens the store at `path` and answers calls until it is closed, those that wait at the same moment together. */
export function serveStore(port: MessagePort, path: string): void {
  const send = (message: ServiceMessage) => port.postMessage(message);
  const time = { now: 0 };
  let store: SqliteStore;
  try {
    store = openSqliteStore({ path, clock: { now: () => time.now } });
  } catch (error) {
    send({ error: sentError(error, path) });
    return;
  }
  const waiting: ServiceCall[] = [];
  let atWork = false;
  const work = async () => {
    atWork = true;
    while (waiting.length > 0) {
      const group = nextGroup(waiting);
      const answers = await answerTogether(store, group, time);
      send({ answers: answers.map((answer, at) => sentAnswer(group[at]?.id ?? 0, answer, path)) });
      takeWaiting(port, waiting);
    }
    atWork = false;
  };
  port.on("message", (call: ServiceCall) => {
    waiting.push(call);
    takeWaiting(port, waiting);
    if (!atWork) void work();
  });
  send({ opened: true });
}

function takeWaiting(port: MessagePort, waiting: ServiceCall[]): void {
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
    waiting.push(next.message);
}

function nextGroup(waiting: ServiceCall[]): readonly ServiceCall[] {
  const closing = waiting.findIndex(({ method }) => METHODS[method] === "closes");
  const until = closing === -1 ? waiting.length : Math.max(1, closing);
  return waiting.splice(0, Math.min(until, GROUP_SIZE));
}

function answerTogether(
  store: SqliteStore,
  group: readonly ServiceCall[],
  time: { now: number },
): Promise<readonly Answer[]> {
  const calls = group.map(({ method, values, now }) => ({
    writes: METHODS[method] === "writes",
    make: () => {
      time.now = now;
      return (store[method] as (...given: readonly unknown[]) => Promise<unknown>)(...values);
    },
  }));
  return store.together(calls);
}

function sentAnswer(id: number, answer: Answer, path: string): ServiceAnswer {
  return answer.status === "fulfilled"
    ? { id, value: answer.value }
    : { id, error: sentError(answer.reason, path) };
}

function sentError(error: unknown, path: string): SentError {
  const { code, message } = storeError(error, path);
  return { code, message };
}
