/** One phase of `webhooks.ts`: the same load on one server, with what it cost and how long its answers took. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { machineMs, processorMs } from "./processor-time.ts";
import type { LoadOrder, LoadReport } from "./webhook-load.ts";

export interface Phase {
  readonly sent: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  /** Milliseconds the generator itself was late, at the 99th percentile. */
  readonly latenessP99: number;
  readonly refused: LoadReport["refused"];
  readonly tookMs: number;
  /** Processor time of the server, of the one watched beside it, of the generator, and of the whole machine. */
  readonly cpuMs: {
    readonly server: number;
    readonly beside: number;
    readonly generator: number;
    readonly machine: number;
  };
}

/** Loads the server whose process is `pid`; `beside` is a process whose time is counted too. */
export async function loadPhase(
  order: LoadOrder,
  { pid, beside }: { readonly pid: number; readonly beside: number },
): Promise<Phase> {
  const clock = () => ({ server: processorMs(pid), beside: processorMs(beside), machine: machineMs() });
  const generator = spawn(process.execPath, [join(import.meta.dirname, "webhook-load.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(generator, "close");
  const before = clock();
  generator.stdin.end(JSON.stringify(order));
  const report = (await json(generator.stdout)) as LoadReport;
  const after = clock();
  await closed;
  const at = percentiles(report.latenciesMs);
  return {
    sent: report.latenciesMs.length,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    max: at(1),
    latenessP99: percentiles(report.latenessMs)(0.99),
    refused: report.refused,
    tookMs: report.tookMs,
    cpuMs: {
      server: after.server - before.server,
      beside: after.beside - before.beside,
      generator: report.cpuMs,
      machine: after.machine - before.machine,
    },
  };
}

/** The value that the given share of them does not exceed. */
export function percentiles(values: readonly number[]): (share: number) => number {
  const sorted = values.toSorted((a, b) => a - b);
  return (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
