/** What a probe is: one promise of the sandbox as a small script, how its result tells that the promise holds, and what to do if not. */

import type { ExecEnd, ExecResult, Limits, Sandbox, Session } from "#src/sandbox/sandbox.ts";

/** What a sandbox must be able to do for the promise: `any` is asked of every one, the others need what the word says. */
export type ProbeKind = "any" | "isolation" | "kernel memory" | "processes";

/** Where a probe runs. */
export interface ProbePlace {
  readonly sandbox: Sandbox;
  readonly session: Session;
  /** The session's workspace on the host. */
  readonly workspace: string;
  /** The app's data directory, links resolved. */
  readonly dataDir: string;
  /** A text that no other process has on its command line. */
  readonly unique: string;
  /** A TCP port of this machine on which somebody answers. */
  readonly port: number;
  /** The app's own process id on the host. */
  readonly pid: number;
  readonly isRoot: boolean;
}

export interface Probe {
  /** A few words, unique: the name of the line. */
  readonly name: string;
  readonly kind: ProbeKind;
  /** bash; `$UNIQUE`, `$DATA_DIR`, `$PORT` and `$APP_PID` are the place's. */
  readonly script: string;
  readonly stdin?: string;
  /** What differs from the usual limits; such a probe gets a session of its own. */
  readonly limits?: Partial<Limits>;
  readonly timeoutMs?: number;
  readonly outputBytes?: number;
  readonly holds: (result: ExecResult, place: ProbePlace) => boolean | Promise<boolean>;
  /** What is said when it holds. */
  readonly held: string | ((result: ExecResult, place: ProbePlace) => string | Promise<string>);
  /** What it means and what to install or switch on when it does not. */
  readonly remedy: string;
}

const MIB = 1024 * 1024;
export const PROBE_LIMITS: Limits = {
  memoryBytes: 96 * MIB,
  processes: 40,
  diskBytes: 256 * MIB,
  openFiles: 256,
};
export const PROBE_TIMEOUT_MS = 20_000;

/** The whole standard output. */
export function textOf(result: ExecResult): string {
  return result.stdout.head + result.stdout.tail;
}

/** Ended with 0 and printed exactly this. */
export function prints(text: string): (result: ExecResult) => boolean {
  return (result) => ended(result, { kind: "exited", code: 0 }) && textOf(result) === text;
}

export function exits(code: number): (result: ExecResult) => boolean {
  return (result) => ended(result, { kind: "exited", code });
}

export function isKilled(...reasons: readonly string[]): (result: ExecResult) => boolean {
  return ({ end }) => end.kind === "killed" && reasons.includes(end.reason);
}

function ended(result: ExecResult, end: ExecEnd): boolean {
  return result.end.kind === "exited" && end.kind === "exited" && result.end.code === end.code;
}

/** How a command ended, for a line that does not hold. */
export function describeEnd({ end, stdout, stderr }: ExecResult): string {
  if (end.kind === "not_started") return end.message;
  const how = end.kind === "exited" ? `exit code ${end.code}` : `stopped for ${end.reason}`;
  const said = `${stdout.head.trim()} ${stderr.head.trim()}`.trim().replaceAll(/\s+/g, " ").slice(0, 200);
  return said === "" ? how : `${how}: ${said}`;
}
