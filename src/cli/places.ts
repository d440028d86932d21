/** Where state lies, for the commands that only read it and need no other setting. */

import { access, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Environment } from "#src/config/environment.ts";
import { tracePath } from "#src/trace/jsonl.ts";

export function dataDirOf(env: Environment): string {
  return resolve(env.DATA_DIR?.trim() || "./data");
}

export function traceDirectory(dataDir: string): string {
  return join(dataDir, "traces");
}

/** Where `agent-fix run` keeps its state: apart from the server's, so that neither takes up the other's runs. */
export function localDataDir(dataDir: string): string {
  return join(dataDir, "local");
}

function traceDirectories(dataDir: string): readonly string[] {
  return [dataDir, localDataDir(dataDir)].map(traceDirectory);
}

/** Throws a TypeError for what cannot be a run id. */
export function traceFile(dataDir: string, runId: string): string {
  return tracePath(traceDirectory(dataDir), runId);
}

/** The trace of a run of the server or of `agent-fix run`; where the server's would be when there is none. Rejects with a TypeError for what cannot be a run id. */
export async function findTrace(dataDir: string, runId: string): Promise<string> {
  const files = traceDirectories(dataDir).map((directory) => tracePath(directory, runId));
  for (const file of files) if (await exists(file)) return file;
  return traceFile(dataDir, runId);
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Run ids that have a trace, newest first; run ids sort by age. */
export async function knownTraces(dataDir: string): Promise<readonly string[]> {
  const names = await Promise.all(traceDirectories(dataDir).map(filesOf));
  return names
    .flat()
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => name.slice(0, -".jsonl".length))
    .sort()
    .reverse();
}

async function filesOf(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}
