/** Processor time of other processes, from Linux's /proc. */

import { readFileSync } from "node:fs";

const TICKS_PER_S = 100;

/** Milliseconds that the process itself has used so far, all its threads together, without those it started. */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_S;
}

/** Milliseconds that all cores of the machine have been at work so far. */
export function machineMs(): number {
  const [total = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = total.split(/\s+/).slice(1).map(Number);
  return ((user + nice + system + irq + softirq) * 1_000) / TICKS_PER_S;
}
