/** What a stopped server must not have left: processes, mounts, workspaces of ended runs, leases, an open port. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "#src/base/clock.ts";

/** Killed processes need a moment to disappear. */
const GRACE_MS = 3_000;
const POLL_MS = 50;

/** One line for each thing left; `url` is where the server listened. Call it when the server has ended. */
export async function leftBehind(dataDir: string, url: string | null): Promise<readonly string[]> {
  return [
    ...(await processesLeft(dataDir)),
    ...workspacesLeft(dataDir),
    ...leasesLeft(dataDir),
    ...(url !== null && (await listens(url)) ? [`something still listens at ${url}`] : []),
  ];
}

/** Processes that have the directory in their command line, environment, working directory or mounts. */
export async function processesLeft(dataDir: string): Promise<readonly string[]> {
  const end = systemClock.now() + GRACE_MS;
  for (;;) {
    const left = processesOn(dataDir);
    if (left.length === 0 || systemClock.now() > end) return left;
    await systemClock.sleep(POLL_MS);
  }
}

/** The same without waiting; a run id will do for a directory. */
export function processesOn(dataDir: string): readonly string[] {
  if (!existsSync("/proc/self")) return [];
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    const at = (file: string) => readIfThere(`/proc/${name}/${file}`);
    const stat = at("stat");
    // A zombie is dead, only not yet waited for.
    if (stat === "" || /^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))) return [];
    const where = ["cmdline", "environ", "mountinfo"].find((file) => at(file).includes(dataDir));
    if (where === undefined) return [];
    return [
      `process ${name} still runs (its ${where} names DATA_DIR): ${at("cmdline").replaceAll("\0", " ")}`,
    ];
  });
}

/** Empty for what is gone or may not be read. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Directories below DATA_DIR/runs whose run is over or unknown; while a run waits for an answer, only its objects may stay. */
export function workspacesLeft(dataDir: string): readonly string[] {
  const directory = join(dataDir, "runs");
  if (!existsSync(directory)) return [];
  const working = new Set([
    "queued",
    "preparing",
    "solving",
    "verifying",
    "approved",
    "rechecking",
    "publishing",
  ]);
  const states = new Map(runRows(dataDir).map((row) => [row.runId, row.state]));
  return readdirSync(directory).flatMap((name) => {
    const state = states.get(name) ?? "unknown";
    const kept = readdirSync(join(directory, name));
    if (state === "awaiting_approval" && kept.every((entry) => entry === "pristine.git")) return [];
    return working.has(state) ? [] : [`workspace ${join(directory, name)} of a run that is ${state}`];
  });
}

export function leasesLeft(dataDir: string): readonly string[] {
  return runRows(dataDir)
    .filter((row) => row.worker !== null)
    .map((row) => `run ${row.runId} (${row.state}) is still leased to ${row.worker}`);
}

export interface RunRow {
  readonly runId: string;
  readonly issue: number;
  readonly repositoryId: number;
  readonly state: string;
  readonly worker: string | null;
}

/** The runs in the server's database, oldest first; it may be running. */
export function runRows(dataDir: string): readonly RunRow[] {
  return queryState(
    dataDir,
    `SELECT run_id AS runId, issue, repository_id AS repositoryId, state, lease_worker AS worker
     FROM run ORDER BY created_at, run_id`,
  ) as unknown as readonly RunRow[];
}

/** Reads DATA_DIR/state.db without being able to write; no rows when there is no database. */
export function queryState(
  dataDir: string,
  sql: string,
  ...values: readonly string[]
): readonly Readonly<Record<string, unknown>>[] {
  const path = join(dataDir, "state.db");
  if (!existsSync(path)) return [];
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    return database.prepare(sql).all(...values);
  } finally {
    database.close();
  }
}

function listens(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
