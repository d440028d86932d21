/** Runs exported functions of a module in a worker thread, so that heavy computing does not hold up the process, and can be ended. */

import { getCompileCacheDir } from "node:module";
import { Worker } from "node:worker_threads";
import type { Clock } from "./clock.ts";
import { messageOf } from "./result.ts";

export interface Offload {
  /**
   * Calls the exported function `name` in the thread; arguments and result are copied. Calls run one after another.
   * Rejects with what the function threw, with the signal's reason, or when the thread died (out of memory).
   */
  call(name: string, args: readonly unknown[], signal?: AbortSignal): Promise<unknown>;
  /** Ends the thread; calls under way are rejected. A later call starts a new one. */
  close(): Promise<void>;
}

export interface OffloadOptions {
  /** A file URL; the module's exported functions are what can be called. */
  readonly module: URL;
  readonly clock: Clock;
  /** The thread ends after so long without a call, in ms, and gives its memory back. */
  readonly idleMs: number;
  /** The thread dies beyond it; its calls are rejected. */
  readonly memoryMb: number;
}

/** The thread's own program: it imports the module and answers calls. CommonJS, since a string of code has no address. */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const { enableCompileCache } = require("node:module");
if (workerData.compiled !== undefined) enableCompileCache(workerData.compiled);
const loading = import(workerData.module);
loading.catch(() => undefined);
parentPort.on("message", async ({ id, name, args }) => {
  try {
    parentPort.postMessage({ id, value: await (await loading)[name](...args) });
  } catch (error) {
    parentPort.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
});`;

interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Answer = { readonly id: number } & ({ readonly value: unknown } | { readonly error: string });

/** Starts nothing until the first call. A thread without work does not keep the process alive. */
export function createOffload({ module, clock, idleMs, memoryMb }: OffloadOptions): Offload {
  const calls = new Map<number, Call>();
  let thread: Worker | null = null;
  let ids = 0;
  let stopIdling: (() => void) | null = null;

  const end = async (): Promise<void> => {
    const ending = thread;
    thread = null;
    stopIdling?.();
    await ending?.terminate();
  };
  const settle = (id: number, how: (call: Call) => void) => {
    const call = calls.get(id);
    calls.delete(id);
    if (call !== undefined) how(call);
    if (calls.size > 0) return;
    thread?.unref();
    stopIdling?.();
    stopIdling = clock.timer(idleMs, () => void end());
  };
  const failAll = (error: Error) => {
    for (const id of [...calls.keys()]) settle(id, (call) => call.reject(error));
  };
  const start = (): Worker => {
    const fresh = new Worker(PROGRAM, {
      eval: true,
      // Where the process keeps compiled modules, if it does: a thread does not look there by itself.
      workerData: { module: module.href, compiled: getCompileCacheDir() },
      execArgv: [],
      // The thread computes on texts of strangers; it needs no secret of ours.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    fresh.on("message", (answer: Answer) =>
      settle(answer.id, (call) =>
        "error" in answer ? call.reject(new Error(answer.error)) : call.resolve(answer.value),
      ),
    );
    const died = (error: Error) => {
      if (thread !== fresh) return;
      thread = null;
      failAll(error);
    };
    fresh.on("error", (error) => died(new Error(`the worker thread failed: ${messageOf(error)}`)));
    fresh.on("exit", (code) => died(new Error(`the worker thread ended with code ${code}`)));
    return fresh;
  };
  const post = (id: number, { name, args }: Call) => {
    stopIdling?.();
    thread ??= start();
    thread.ref();
    thread.postMessage({ id, name, args });
  };
  /** A call that computes can only be stopped with its thread; the others begin again in a new one. */
  const abandon = (id: number, reason: unknown) => {
    void end();
    settle(id, (call) => call.reject(reason));
    for (const [other, call] of calls) post(other, call);
  };

  return {
    call: (name, args, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const id = ++ids;
        const onAbort = () => abandon(id, signal?.reason);
        const over = <T>(then: (value: T) => void) => {
          return (value: T) => {
            signal?.removeEventListener("abort", onAbort);
            then(value);
          };
        };
        const call = { name, args, resolve: over(resolve), reject: over(reject) };
        calls.set(id, call);
        signal?.addEventListener("abort", onAbort, { once: true });
        try {
          post(id, call);
        } catch (error) {
          settle(id, (unsent) => unsent.reject(error)); // Arguments that cannot be copied.
        }
      }),
    close: async () => {
      const ended = end();
      failAll(new Error("the worker thread was closed"));
      stopIdling?.();
      await ended;
    },
  };
}
