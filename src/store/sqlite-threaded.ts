/** The SQLite store in a thread of its own: a caller never waits for the disk in its own thread, and calls made meanwhile are committed together. */

import { getCompileCacheDir } from "node:module";
import { Worker } from "node:worker_threads";
import type { Clock } from "#src/base/clock.ts";
import { messageOf } from "#src/base/result.ts";
import type { Store } from "./store.ts";
import { StoreError } from "./store-error.ts";
import { METHODS, type ServiceAnswer, type ServiceCall, type ServiceMessage } from "./store-service.ts";

export interface ThreadedOptions {
  readonly path: string;
  /** Asked where the call is made. */
  readonly clock: Pick<Clock, "now">;
}

/** The thread's own program. CommonJS, since a string of code has no address. */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const { enableCompileCache } = require("node:module");
if (workerData.compiled !== undefined) enableCompileCache(workerData.compiled);
import(workerData.service).then(({ serveStore }) => serveStore(parentPort, workerData.path));`;

/** Opens the store as `openSqliteStore` does; rejects with its StoreError. An open store without calls does not keep the process alive. */
export async function openThreadedStore(options: ThreadedOptions): Promise<Store> {
  const service = new URL("./store-service.ts", import.meta.url).href;
  const thread = new Worker(PROGRAM, {
    eval: true,
    // Where the process keeps compiled modules, if it does: a thread does not look there by itself.
    workerData: { service, path: options.path, compiled: getCompileCacheDir() },
    execArgv: [],
    // The thread needs no secret of ours.
    env: {},
  });
  return connectStore(thread, options, async () => {
    await thread.terminate();
  });
}

/** What `Worker` and `MessagePort` have in common. */
export interface StoreWire {
  postMessage(value: ServiceCall): void;
  on(event: string, listener: (value: unknown) => void): unknown;
  ref(): unknown;
  unref(): unknown;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: StoreError) => void;
}

/** The store that `serveStore` serves at the other end; `hangUp` is called when it was closed or could not be opened. */
export async function connectStore(
  wire: StoreWire,
  { path, clock }: ThreadedOptions,
  hangUp: () => Promise<void>,
): Promise<Store> {
  const calls = new Map<number, Waiting>();
  const opening = Promise.withResolvers<unknown>();
  let gone: StoreError | null = null;
  let ids = 0;

  const settle = (answer: ServiceAnswer) => {
    const call = calls.get(answer.id);
    calls.delete(answer.id);
    if (calls.size === 0) wire.unref();
    if ("error" in answer) call?.reject(new StoreError(answer.error.code, answer.error.message));
    else call?.resolve(answer.value);
  };
  const fail = (why: string) => {
    gone ??= new StoreError("failed", `The thread of the database ${path} ${why}. Start agent-fix again.`);
    opening.reject(gone);
    for (const call of calls.values()) call.reject(gone);
    calls.clear();
  };
  wire.on("message", (sent) => {
    const message = sent as ServiceMessage;
    if ("answers" in message) for (const answer of message.answers) settle(answer);
    else if ("error" in message) opening.reject(new StoreError(message.error.code, message.error.message));
    else opening.resolve(null);
  });
  wire.on("error", (error) => fail(`failed (${messageOf(error)})`));
  wire.on("exit", () => fail("has ended"));

  const call = async (method: keyof Store, values: readonly unknown[]): Promise<unknown> => {
    if (gone !== null) throw gone;
    const asked = Promise.withResolvers<unknown>();
    const id = ++ids;
    wire.postMessage({ id, method, values, now: clock.now() });
    calls.set(id, asked);
    wire.ref();
    return asked.promise;
  };
  await opening.promise.catch(async (error: unknown) => {
    await hangUp();
    throw error;
  });
  wire.unref();
  const methods = Object.keys(METHODS) as (keyof Store)[];
  const store = Object.fromEntries(
    methods.map((method) => [method, (...values: readonly unknown[]) => call(method, values)]),
  ) as unknown as Store;
  const close = async () => {
    if (gone !== null) return;
    await store.close();
    gone ??= new StoreError("failed", `The database ${path} was closed.`);
    await hangUp();
  };
  let closing: Promise<void> | null = null;
  return {
    ...store,
    ready: () => store.ready().catch(() => false),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
