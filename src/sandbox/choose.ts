/** Chooses the sandbox that the operator asked for, or says exactly why there is none; `auto` never means "without". */

import { chown, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { err, ok, type Result } from "#src/base/result.ts";
import { type BubblewrapOptions, createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import { isErrno } from "#src/sandbox/command/processes.ts";
import { createContainer } from "#src/sandbox/container/container.ts";
import type { ContainerOptions } from "#src/sandbox/container/context.ts";
import { createNone } from "#src/sandbox/none.ts";
import type { Sandbox, SandboxFailure } from "#src/sandbox/sandbox.ts";

export type SandboxKind = "auto" | "bubblewrap" | "docker" | "podman" | "none";

/** `images` and `engineEnv` are for containers; without images there is none. */
export type SandboxOptions = BubblewrapOptions & Partial<Pick<ContainerOptions, "images" | "engineEnv">>;

/** Resolves to a sandbox in which a command was run just now. Never rejects for what an operator can put right. */
export async function chooseSandbox(
  kind: SandboxKind,
  options: SandboxOptions,
): Promise<Result<Sandbox, SandboxFailure>> {
  const problems: string[] = [];
  const candidates = candidatesOf(kind, options);
  for (const sandbox of candidates) {
    const problem = await tryOne(sandbox, options);
    if (problem === null) return ok(sandbox);
    problems.push(candidates.length === 1 ? problem : `${sandbox.name}: ${problem}`);
  }
  const advice = kind === "auto" ? " SANDBOX=auto does not run commands without a sandbox." : "";
  return err({ code: "unavailable", message: `${problems.join("; ")}.${advice}` });
}

/** In the order in which they are tried. */
function candidatesOf(kind: SandboxKind, options: SandboxOptions): readonly Sandbox[] {
  const { images = [], engineEnv = {} } = options;
  const container = (engine: "docker" | "podman") =>
    createContainer({ ...options, engine, images, engineEnv });
  switch (kind) {
    case "none":
      return [createNone(options)];
    case "docker":
    case "podman":
      return [container(kind)];
    case "bubblewrap":
      return [createBubblewrap(options)];
    case "auto": {
      const containers = images.length === 0 ? [] : [container("podman"), container("docker")];
      return [createBubblewrap(options), ...containers];
    }
  }
}

const MIB = 1024 * 1024;

async function tryOne(sandbox: Sandbox, options: SandboxOptions): Promise<string | null> {
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
    const request = { argv: ["/bin/sh", "-c", "echo here > trial"], timeoutMs: 20_000, outputBytes: 4_096 };
    const result = await session.value.exec({ ...request, signal: new AbortController().signal });
    await session.value.close();
    if (result.end.kind === "exited" && result.end.code === 0) {
      // An engine on another machine has directories of the same name.
      return (await isThere(join(workspace, "trial"))) ? null : "the files of commands do not arrive here";
    }
    return result.end.kind === "not_started"
      ? result.end.message
      : `a trial command ended with ${JSON.stringify(result.end)}`;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await readFile(path, "utf8")) === "here\n";
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}
