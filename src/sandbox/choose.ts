/** Chooses the sandbox that the operator asked for, or says exactly why there is none; `auto` never means "without". */

import { chown, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { err, ok, type Result } from "#src/base/result.ts";
import { type BubblewrapOptions, createBubblewrap } from "#src/sandbox/bubblewrap.ts";
import { createNone } from "#src/sandbox/none.ts";
import type { Sandbox, SandboxFailure } from "#src/sandbox/sandbox.ts";

export type SandboxKind = "auto" | "bubblewrap" | "none";

/** Resolves to a sandbox in which a command was run just now. Never rejects for what an operator can put right. */
export async function chooseSandbox(
  kind: SandboxKind,
  options: BubblewrapOptions,
): Promise<Result<Sandbox, SandboxFailure>> {
  const sandbox = kind === "none" ? createNone(options) : createBubblewrap(options);
  const problem = await tryOne(sandbox, options);
  if (problem === null) return ok(sandbox);
  const advice = kind === "auto" ? " SANDBOX=auto does not run commands without a sandbox." : "";
  return err({ code: "unavailable", message: `${problem}.${advice}` });
}

const MIB = 1024 * 1024;

async function tryOne(sandbox: Sandbox, options: BubblewrapOptions): Promise<string | null> {
  const runId = `probe-${options.ids.hex(4)}`;
  const directory = join(options.dataDir, "runs", runId);
  const workspace = join(directory, "workspace");
  await mkdir(workspace, { recursive: true });
  try {
    if (sandbox.owner !== null) await chown(workspace, sandbox.owner.uid, sandbox.owner.gid);
    const session = await sandbox.open({
      ...{ runId, phase: "setup", workspace, mounts: [], network: { kind: "none" }, env: {} },
      limits: { memoryBytes: 256 * MIB, processes: 32, diskBytes: 64 * MIB, openFiles: 256 },
    });
    if (!session.ok) return session.error.message;
    const request = { argv: ["/bin/sh", "-c", "exit 0"], timeoutMs: 20_000, outputBytes: 4_096 };
    const result = await session.value.exec({ ...request, signal: new AbortController().signal });
    await session.value.close();
    if (result.end.kind === "exited" && result.end.code === 0) return null;
    return result.end.kind === "not_started"
      ? result.end.message
      : `a trial command ended with ${JSON.stringify(result.end)}`;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
