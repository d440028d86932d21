/** Running a tool's own small commands in the session, and what it means when one did not end by itself. */

import type { Captured, ExecResult, Session } from "#src/sandbox/sandbox.ts";

/** Searching and listing must not hold the run up. */
const TIMEOUT_MS = 60_000;

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What was kept of a stream, with the gap marked. */
export function joined({ head, tail, droppedBytes }: Captured): string {
  if (droppedBytes === 0) return head + tail;
  return `${head}\n[… ${droppedBytes.toLocaleString("en-US")} bytes left out …]\n${tail}`;
}

/** A sentence on a command that was stopped or never started; null when it ended by itself. */
export function stoppedBecause(result: ExecResult): string | null {
  const { end } = result;
  if (end.kind === "exited") return null;
  if (end.kind === "not_started") return `The sandbox could not start it: ${end.message}`;
  const reasons = {
    timeout: "It took too long and was stopped with everything it started.",
    cancelled: "It was stopped because the run was cancelled.",
    memory: "It used more memory than the sandbox allows and was stopped.",
    disk: "It filled the disk space the sandbox allows and was stopped.",
  };
  return reasons[end.reason];
}

/** Runs shell text with positional arguments (never put into the text). A string means that it did not end by itself. */
export async function runScript(
  session: Session,
  script: string,
  args: readonly string[],
  options: { readonly outputBytes: number; readonly signal: AbortSignal },
): Promise<Ran | string> {
  const result = await session.exec({
    argv: ["bash", "-o", "pipefail", "-c", script, "agent-fix-tool", ...args],
    timeoutMs: TIMEOUT_MS,
    ...options,
  });
  if (result.end.kind !== "exited") return stoppedBecause(result) ?? "It did not end.";
  return { code: result.end.code, stdout: joined(result.stdout), stderr: joined(result.stderr) };
}
