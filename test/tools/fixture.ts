/** A workspace in a real sandbox session with the agent's tools over it. */

import { chown, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import type { Tool, ToolResult } from "#src/harness/tool.ts";
import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import { createNone } from "#src/sandbox/none.ts";
import type { Sandbox, Session } from "#src/sandbox/sandbox.ts";
import { createTools } from "#src/tools/tools.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const MIB = 1024 * 1024;

export interface Workspace {
  readonly directory: string;
  /** A directory beside the workspace that no tool may reach. */
  readonly outside: string;
  readonly session: Session;
  readonly owner: Sandbox["owner"];
  readonly edited: readonly string[];
  readonly tools: readonly Tool[];
  /** Checks the arguments as the parser does, and runs the tool. */
  run(name: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult>;
  /** Writes a file below the workspace (or any absolute path inside it), owned as a checkout's files are. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  bytes(path: string): Promise<Buffer>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens a sandbox at the first command: most tests of file tools need none. */
function lazySession(open: () => Promise<Session>): Session {
  let opened: Promise<Session> | null = null;
  return {
    enforcement: {},
    exec: async (request) => {
      opened ??= open();
      return (await opened).exec(request);
    },
    close: async () => (await opened)?.close(),
  };
}

function sandboxes(root: string): readonly [Sandbox, Sandbox] {
  const options = {
    dataDir: root,
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
    hostPath: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  };
  return [createBubblewrap(options), createNone(options)];
}

async function openSession(candidates: readonly Sandbox[], workspace: string): Promise<Session> {
  const failures: string[] = [];
  for (const sandbox of candidates) {
    const session = await sandbox.open({
      runId: "tools",
      phase: "agent",
      workspace,
      mounts: [],
      network: { kind: "none" },
      limits: { memoryBytes: 512 * MIB, processes: 64, diskBytes: 256 * MIB, openFiles: 1024 },
      env: {},
    });
    if (session.ok) return session.value;
    failures.push(session.error.message);
  }
  throw new Error(`no sandbox opens on this machine: ${failures.join("; ")}`);
}

/** `files` by path; `runTests` answers for run_tests. */
export async function openWorkspace(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  runTests: (filter: string | null) => Promise<string> = async () => "no tests",
): Promise<Workspace> {
  const root = await tempDir("tools-");
  const directory = join(root.path, "workspace");
  const outside = join(root.path, "outside");
  await mkdir(directory);
  await mkdir(outside);
  const candidates = sandboxes(root.path);
  const { owner } = candidates[0];
  if (owner !== null) await chown(directory, owner.uid, owner.gid);
  const session = lazySession(() => openSession(candidates, directory));
  const edited: string[] = [];
  const tools = createTools({
    session,
    directory,
    owner,
    runTests,
    onEdit: (path) => void edited.push(path),
  });
  const write = async (path: string, content: string | Uint8Array) => {
    const absolute = join(directory, path);
    const made = await mkdir(dirname(absolute), { recursive: true });
    await writeFile(absolute, content);
    if (owner === null) return;
    await chown(absolute, owner.uid, owner.gid);
    if (made !== undefined) await chown(dirname(absolute), owner.uid, owner.gid);
  };
  for (const [path, content] of Object.entries(files)) await write(path, content);
  return {
    directory,
    outside,
    session,
    owner,
    edited,
    tools,
    write,
    bytes: (path) => readFile(join(directory, path)),
    run: async (name, args, signal = new AbortController().signal) => {
      const tool = tools.find((candidate) => candidate.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      return tool.run(tool.schema.parse(args), { signal });
    },
    [Symbol.asyncDispose]: async () => {
      await session.close();
      await root.remove();
    },
  };
}
