/** A name for this very process that another one can later ask about: has it ended? */

import { readFileSync, readlinkSync } from "node:fs";

/** `<boot>-<pid namespace>-<pid>-<start time>`: letters, digits and dashes; parts that the system does not tell are empty. */
export function processIdentity(): string {
  return [bootId(), pidNamespace(), process.pid, startTime(process.pid)].join("-");
}

/** True only for certain: the process ran on this machine since its start and in this pid namespace, and is no more. Anything else gets the benefit of the doubt. */
export function hasEnded(identity: string): boolean {
  const [boot, namespace, pid, started] = identity.split("-");
  if (boot !== bootId() || namespace !== pidNamespace() || !/^[1-9]\d*$/.test(pid ?? "")) return false;
  return !isAlive(Number(pid)) || startTime(Number(pid)) !== started;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Without its dashes, and only as much as makes it one of its kind. */
function bootId(): string {
  return orEmpty(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"))
    .replaceAll("-", "")
    .slice(0, 12);
}

function pidNamespace(): string {
  return /\d+/.exec(orEmpty(() => readlinkSync("/proc/self/ns/pid")))?.[0] ?? "";
}

/** In clock ticks since the system's start; empty for a process that is gone, dead but not yet waited for, or on a system that does not tell. */
function startTime(pid: number): string {
  const fields = orEmpty(() => readFileSync(`/proc/${pid}/stat`, "utf8"))
    .replace(/^.*\) /s, "")
    .split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? "" : (fields[19] ?? "");
}

function orEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return ""; // Not Linux, or a process that ended meanwhile.
  }
}
