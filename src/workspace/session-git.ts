/** Runs a script over one directory in a networkless sandbox of its own, and reads back what it wrote, as untrusted bytes. */

import { constants } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Ids } from "#src/base/ids.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err, ok, type Result } from "#src/base/result.ts";
import type { Captured, ExecEnd, Limits, Mount, Sandbox, Session } from "#src/sandbox/sandbox.ts";
import { classify, thrownFailure } from "./failure.ts";
import { safeVariables } from "./git-settings.ts";
import { makeOwnedPlace, makeRunPlace, type Places } from "./places.ts";
import { INSIDE } from "./scripts.ts";
import type { GitFailure } from "./workspace.ts";

const SCRIPT_TIMEOUT_MS = 10 * 60_000;
const STDERR_BYTES = 8_192;

/** Generous, since the work is git's and not the repository's; the disk limit only stops a runaway. */
const LIMITS: Limits = {
  memoryBytes: 4 * 1024 ** 3,
  processes: 128,
  diskBytes: 64 * 1024 ** 3,
  openFiles: 4_096,
};

export interface GitSessionRequest {
  readonly runId: string;
  /** Host directory shown at /workspace; no process of the run may be alive. */
  readonly directory: string;
  /** The run's repository, shown read-only; null for scripts that need no git. */
  readonly gitDir: string | null;
  /** Further directories. */
  readonly mounts?: readonly Mount[];
}

export interface GitSession {
  /** Writes a list of paths for a script to read. */
  put(name: string, paths: readonly string[]): Promise<void>;
  run(script: string, ...args: readonly string[]): Promise<Result<null, GitFailure>>;
  /** A file that a script wrote; larger ones are a failure. */
  get(name: string, maxBytes: number): Promise<Result<Buffer, GitFailure>>;
}

export type WithGitSession = <T>(
  request: GitSessionRequest,
  work: (session: GitSession) => Promise<Result<T, GitFailure>>,
) => Promise<Result<T, GitFailure>>;

export interface GitSessionOptions {
  readonly sandbox: Sandbox;
  readonly places: Places;
  readonly ids: Ids;
  readonly redactor: Redactor;
}

/** Git's variables inside: its index and new objects lie in the exchange directory, so that the run's repository can stay read-only. */
function insideVariables(): Record<string, string> {
  return {
    ...safeVariables({
      gitDir: INSIDE.gitDir,
      workTree: INSIDE.workspace,
      indexFile: `${INSIDE.exchange}/index`,
    }),
    GIT_OBJECT_DIRECTORY: `${INSIDE.exchange}/objects`,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: `${INSIDE.gitDir}/objects`,
    TMPDIR: INSIDE.exchange,
  };
}

function textOf(captured: Captured): string {
  return captured.head + captured.tail;
}

/** Null when the script went well. */
function failureOf(end: ExecEnd, stderr: string, redactor: Redactor): GitFailure | null {
  if (end.kind === "exited") {
    if (end.code === 0) return null;
    return classify("git over the workspace", stderr || `exit code ${end.code}`, redactor);
  }
  if (end.kind === "not_started")
    return {
      code: "git_failed",
      message: `The sandbox for git could not start: ${redactor.redact(end.message)}`,
    };
  if (end.reason === "disk")
    return { code: "disk_full", message: "Git over the workspace was stopped: the workspace is too large." };
  if (end.reason === "cancelled")
    return { code: "cancelled", message: "Git over the workspace was cancelled." };
  return {
    code: "git_failed",
    message: `Git over the workspace was stopped (${end.reason}): the workspace has too many or too large files.`,
  };
}

/**
 * The exchange directory is written to by a process that read hostile files: opened without following links or waiting on
 * a pipe, and only a regular file of bounded size is read.
 */
async function readBounded(path: string, maxBytes: number): Promise<Result<Buffer, GitFailure>> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (found.isFile() && found.size <= maxBytes) return ok(await file.readFile());
    return err({
      code: "git_failed",
      message: `The workspace has too many or too large changes (${found.size} bytes where ${maxBytes} are allowed): keep generated files out of it, e.g. by .gitignore.`,
    });
  } finally {
    await file.close();
  }
}

function sessionOver(session: Session, exchange: string, redactor: Redactor): GitSession {
  return {
    put: async (name, paths) => {
      const file = await open(join(exchange, name), "wx", 0o644);
      try {
        await file.writeFile(paths.map((entry) => `${entry}\0`).join(""));
        await file.chmod(0o644);
      } finally {
        await file.close();
      }
    },
    run: async (script, ...args) => {
      const result = await session.exec({
        argv: ["bash", "--noprofile", "--norc", "-c", script, "bash", ...args],
        timeoutMs: SCRIPT_TIMEOUT_MS,
        outputBytes: STDERR_BYTES,
        signal: new AbortController().signal,
      });
      const failure = failureOf(result.end, textOf(result.stderr), redactor);
      return failure === null ? ok(null) : err(failure);
    },
    get: (name, maxBytes) => readBounded(join(exchange, name), maxBytes),
  };
}

export function createGitSessions({ sandbox, places, ids, redactor }: GitSessionOptions): WithGitSession {
  return async (request, work) => {
    const exchange = join(places.run(request.runId), `git-${ids.hex(6)}`);
    try {
      await makeRunPlace(places, request.runId);
      await makeOwnedPlace(places, exchange);
      const opened = await sandbox.open({
        runId: request.runId,
        phase: "git",
        workspace: request.directory,
        mounts: [
          { source: exchange, target: INSIDE.exchange, mode: "rw" },
          ...(request.gitDir === null
            ? []
            : [{ source: request.gitDir, target: INSIDE.gitDir, mode: "ro" } as const]),
          ...(request.mounts ?? []),
        ],
        network: { kind: "none" },
        limits: LIMITS,
        env: insideVariables(),
      });
      if (!opened.ok)
        return err({
          code: "git_failed",
          message: `The sandbox for git could not start: ${opened.error.message}`,
        });
      try {
        return await work(sessionOver(opened.value, exchange, redactor));
      } finally {
        await opened.value.close();
      }
    } catch (error) {
      return err(thrownFailure("git over the workspace", error, redactor));
    } finally {
      await rm(exchange, { recursive: true, force: true });
    }
  };
}

/** A private directory of the app for one job, e.g. an index of its own; removed afterwards. */
export async function withPrivatePlace<T>(
  places: Places,
  runId: string,
  ids: Ids,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const path = join(await makeRunPlace(places, runId), `git-${ids.hex(6)}`);
  await mkdir(path, { mode: 0o700 });
  try {
    return await work(path);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}
