/** A workspace in a real sandbox session for the benchmarks, removed again with everything in it. */

import { chown, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import type { Tool } from "#src/harness/tool.ts";
import { chooseSandbox, type SandboxKind } from "#src/sandbox/choose.ts";
import { engineEnvironment } from "#src/sandbox/container/engine.ts";
import type { SandboxOwner, Session } from "#src/sandbox/sandbox.ts";
import { createTools } from "#src/tools/tools.ts";

const GIB = 1024 ** 3;

export interface Place {
  /** Everything of this benchmark is below it. */
  readonly root: string;
  readonly workspace: string;
  readonly session: Session;
  readonly owner: SandboxOwner | null;
  readonly tools: readonly Tool[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** A string says why no sandbox opens here. `fill` writes the workspace's files before the session is opened. */
export async function openPlace(
  fill: (workspace: string) => Promise<void> = async () => undefined,
  kind: SandboxKind = "auto",
  images: readonly string[] = [],
): Promise<Place | string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "agent-fix-bench-")));
  const remove = () => rm(root, { recursive: true, force: true });
  const workspace = join(root, "workspace");
  await mkdir(workspace);
  const chosen = await chooseSandbox(kind, {
    dataDir: root,
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
    hostPath: process.env.PATH ?? "/usr/bin:/bin",
    ripgrep: rgPath,
    images,
    engineEnv: engineEnvironment(process.env),
  });
  if (!chosen.ok) {
    await remove();
    return chosen.error.message;
  }
  const { owner } = chosen.value;
  await fill(workspace);
  if (owner !== null) await chown(workspace, owner.uid, owner.gid);
  const session = await chosen.value.open({
    runId: "bench",
    phase: "agent",
    workspace,
    mounts: [],
    network: { kind: "none" },
    limits: { memoryBytes: 2 * GIB, processes: 256, diskBytes: 4 * GIB, openFiles: 1_024 },
    env: {},
  });
  if (!session.ok) {
    await remove();
    return session.error.message;
  }
  const tools = createTools({
    session: session.value,
    directory: workspace,
    owner,
    runTests: async () => "no tests",
  });
  return {
    root,
    workspace,
    session: session.value,
    owner,
    tools,
    [Symbol.asyncDispose]: async () => {
      await session.value.close();
      await remove();
    },
  };
}

export function toolNamed(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  return tool;
}
