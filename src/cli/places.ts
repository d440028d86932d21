/** Where state lies, for the commands that only read it and need no other setting. */

import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Environment } from "#src/config/environment.ts";
import { tracePath } from "#src/trace/jsonl.ts";

export function dataDirOf(env: Environment): string {
  return resolve(env.DATA_DIR?.trim() || "./data");
}

export function traceDirectory(dataDir: string): string {
  return join(dataDir, "traces");
}

/** Throws a TypeError for what cannot be a run id. */
export function traceFile(dataDir: string, runId: string): string {
  return tracePath(traceDirectory(dataDir), runId);
}

/** Run ids that have a trace, newest first; run ids sort by age. */
export async function knownTraces(dataDir: string): Promise<readonly string[]> {
  const names = await readdir(traceDirectory(dataDir)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => name.slice(0, -".jsonl".length))
    .sort()
    .reverse();
}
