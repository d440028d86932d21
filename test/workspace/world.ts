/** What most workspace tests need: a git server, a data directory, the real sandbox, and workspaces over them. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createRedactor, type Redactor } from "#src/base/redact.ts";
import type { Result } from "#src/base/result.ts";
import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import type { ExecResult, Sandbox } from "#src/sandbox/sandbox.ts";
import { createWorkspaces, type WorkspacesOptions } from "#src/workspace/create-workspaces.ts";
import type { GitFailure, RepositorySource, Workspaces } from "#src/workspace/workspace.ts";
import { type GitServer, startGitServer } from "#test/support/git-server.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { createBare } from "./repository.ts";

export const REPOSITORY_ID = 42;
export const RUN = "run1";
export const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export interface World {
  readonly directory: string;
  readonly dataDir: string;
  readonly server: GitServer;
  /** The bare repository behind the server. */
  readonly bare: string;
  readonly source: RepositorySource;
  readonly sandbox: Sandbox;
  readonly redactor: Redactor;
  readonly workspaces: Workspaces;
  /** Further workspaces over the same data directory. */
  again(changes: Partial<WorkspacesOptions>): Workspaces;
  /** Fetches `main` and returns its commit. */
  fetch(branch?: string): Promise<string>;
  /** Fetches `main` and checks it out under `name`. */
  checkout(name?: string): Promise<{ readonly sha: string; readonly directory: string }>;
  /** Runs a shell text in a checkout as the agent would. */
  shell(directory: string, text: string): Promise<ExecResult>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The value of a result that must have gone well. */
export function value<T>(result: Result<T, GitFailure>): T {
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

/** The failure of a result that must not have gone well. */
export function failure<T>(result: Result<T, GitFailure>): GitFailure {
  if (result.ok) throw new Error(`went well: ${JSON.stringify(result.value)}`);
  return result.error;
}

export const noToken = async () => null;
export const never = new AbortController().signal;

/** `make`: another sandbox than bubblewrap. */
export async function createWorld(
  changes: Partial<WorkspacesOptions> = {},
  make?: (dataDir: string) => Sandbox,
): Promise<World> {
  const temp = await tempDir("workspace-");
  const directory = temp.path;
  const dataDir = join(directory, "data");
  mkdirSync(dataDir, { mode: 0o755 });
  const server = await startGitServer(join(directory, "server"));
  const bare = createBare(join(directory, "server", "owner", "name.git"));
  const redactor = createRedactor();
  const ours = () =>
    createBubblewrap({
      dataDir,
      clock: systemClock,
      ids: systemIds,
      log: silentLog,
      hostPath: PATH,
    });
  const sandbox = make === undefined ? ours() : make(dataDir);
  const options: WorkspacesOptions = {
    dataDir,
    sandbox,
    owner: sandbox.owner,
    allowedHosts: [server.host],
    gitEnvironment: { PATH },
    clock: systemClock,
    ids: systemIds,
    redactor,
    log: silentLog,
    ...changes,
  };
  const workspaces = createWorkspaces(options);
  const source = { id: REPOSITORY_ID, cloneUrl: `${server.url}/owner/name.git` };
  const fetch = async (branch = "main") =>
    value(await workspaces.fetch(source, branch, noToken, never)).headSha;
  return {
    directory,
    dataDir,
    server,
    bare,
    source,
    sandbox,
    redactor,
    workspaces,
    again: (more) => createWorkspaces({ ...options, ...more }),
    fetch,
    checkout: async (name = "work") => {
      const sha = await fetch();
      return { sha, directory: value(await workspaces.checkout(RUN, REPOSITORY_ID, sha, name, never)) };
    },
    shell: (where, text) => runShell(sandbox, where, text),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      for (const run of await workspaces.leftovers()) await workspaces.remove(run, false);
      await temp.remove();
    },
  };
}

async function runShell(sandbox: Sandbox, workspace: string, text: string): Promise<ExecResult> {
  const session = await sandbox.open({
    runId: RUN,
    phase: "agent",
    workspace,
    mounts: [],
    network: { kind: "none" },
    limits: { memoryBytes: 1 << 30, processes: 256, diskBytes: 1 << 30, openFiles: 1024 },
    env: {},
  });
  if (!session.ok) throw new Error(session.error.message);
  try {
    const result = await session.value.exec({
      argv: ["bash", "-euo", "pipefail", "-c", text],
      timeoutMs: 30_000,
      outputBytes: 1 << 20,
      signal: never,
    });
    if (result.end.kind !== "exited" || result.end.code !== 0)
      throw new Error(`${JSON.stringify(result.end)}: ${result.stderr.head}${result.stderr.tail}`);
    return result;
  } finally {
    await session.value.close();
  }
}
