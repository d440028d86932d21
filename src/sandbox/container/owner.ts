/** Who made a container, written on it as a label: by it any later start tells the leftovers of the dead from the work of the living. */

import { readFile, readlink } from "node:fs/promises";
import { sha256 } from "#src/base/canonical-json.ts";
import { isAlive, isErrno, isThere, startTime } from "#src/sandbox/command/processes.ts";

/** Label that carries it. */
export const OWNER_LABEL = "agent-fix.owner";

/** A process that cannot be mistaken for another one with its number. */
export interface Owner {
  /** The boot of a machine and the process-id namespace on it: only there the number says anything. */
  readonly place: string;
  readonly pid: number;
  /** Its start, in the kernel's ticks since boot. */
  readonly started: string;
}

/** This process. */
export async function thisOwner(): Promise<Owner> {
  const parts = await Promise.all([
    readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    readlink("/proc/self/ns/pid"),
  ]);
  const place = sha256(parts.join(" ")).slice(0, 12);
  return { place, pid: process.pid, started: (await startTime(process.pid)) ?? "0" };
}

/** The label's text; `madeMs`: when the container is made, in milliseconds since 1970. */
export function ownerText({ place, pid, started }: Owner, madeMs: number): string {
  return [place, pid, started, Math.trunc(madeMs)].join(".");
}

/** One line of what the engine lists. */
export interface Listed {
  readonly name: string;
  /** The engine's word: `created`, `running`, `exited` and others. */
  readonly state: string;
  /** Value of the label that names the data directory; empty: none. */
  readonly data: string;
  /** Null: it carries no such label. */
  readonly owner: (Owner & { readonly madeMs: number }) | null;
}

/** `--format` for `ps`: docker prints labels as `a=b,c=d`, podman as `map[a:b c:d]`. */
export const LIST_FORMAT = "{{.Names}}\t{{.State}}\t{{.Labels}}";

/** Pure. `dataLabel`: name of the label that names the data directory. */
export function parseListed(text: string, dataLabel: string): readonly Listed[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", state = "", labels = ""] = line.split("\t");
    if (!name.startsWith("agent-fix-")) return [];
    const value = (label: string) =>
      new RegExp(`(?:^|[[ ,])${label.replaceAll(".", "\\.")}[:=]([\\w.-]+)`).exec(labels)?.[1] ?? "";
    return [
      { name, state: state.toLowerCase(), data: value(dataLabel), owner: readOwner(value(OWNER_LABEL)) },
    ];
  });
}

function readOwner(text: string): Listed["owner"] {
  const [, place = "", pid, started = "", madeMs] = /^([0-9a-f]+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text) ?? [];
  return pid === undefined ? null : { place, pid: Number(pid), started, madeMs: Number(madeMs) };
}

/** From a place that cannot be looked into: a container is started within seconds of being made, and then runs as long as its owner. */
const SURELY_STARTED_MS = 60 * 60_000;

/** True when nobody can want the container any more, whatever its data directory. */
export async function isLeftover({ owner, state }: Listed, here: Owner, nowMs: number): Promise<boolean> {
  if (owner === null) return false;
  if (owner.place === here.place) return !(await lives(owner));
  return state !== "running" && nowMs - owner.madeMs > SURELY_STARTED_MS;
}

/** A process whose files are hidden from this user counts as living while there is one with its number. */
async function lives({ pid, started }: Owner): Promise<boolean> {
  try {
    const now = await startTime(pid);
    if (now === null) return isThere(pid);
    return now === started && (await isAlive(pid));
  } catch (error) {
    // What cannot be found out is no reason to take a container away.
    if (isErrno(error, "EMFILE", "ENFILE", "ENOMEM")) return true;
    throw error;
  }
}
