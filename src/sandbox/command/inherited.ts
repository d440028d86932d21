/** Finds descriptors that the app itself inherited and that its children would inherit too, past every wall of the sandbox. */

import { readdirSync, readFileSync } from "node:fs";
import { isErrno } from "#src/sandbox/command/processes.ts";

const STANDARD = 3;
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Numbers above standard error that are open and not closed on exec. Node marks its own; these came from whoever started
 * the app, so the answer does not change while it runs. A child must be given something harmless in their place.
 */
export function inheritedDescriptors(): readonly number[] {
  return readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd >= STANDARD && !closesOnExec(fd))
    .sort((a, b) => a - b);
}

function closesOnExec(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "0";
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return true; // It was the listing's own, closed by now.
    throw error;
  }
}
