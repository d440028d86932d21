/** Files beside the traces: the evidence of each run's verdict, and baselines that later runs on the same commit need not repeat. */

import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "#src/base/log.ts";
import { messageOf } from "#src/base/result.ts";
import type { Baselines } from "#src/fix/ports.ts";

/** The newest are kept. */
const MOST_BASELINES = 200;
/** A baseline is the machine's answer of that week: what it runs on changes too. */
const BASELINE_AGE_MS = 7 * 24 * 60 * 60_000;

export function evidencePath(traces: string, runId: string): string {
  return join(traces, `${runId}.evidence.json`);
}

/** Written whole or not at all; a full disk is a line in the log, since the verdict does not depend on the file. */
export function createEvidenceKeeper(
  traces: string,
  log: Log,
): (runId: string, json: string) => Promise<void> {
  return async (runId, json) => {
    await writeWhole(evidencePath(traces, runId), json, traces).catch((error: unknown) =>
      log.warn({ run: runId }, `the evidence file could not be written: ${messageOf(error)}`),
    );
  };
}

async function writeWhole(path: string, text: string, directory: string, unique = ""): Promise<void> {
  const part = `${path}.part${unique}`;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(part, text, { mode: 0o600 });
  await rename(part, path);
}

/** `now` in ms; a file that cannot be read is a baseline that is not there, and said in the log when it should have been. */
export function createBaselines(directory: string, now: () => number, log: Log): Baselines {
  const file = (key: string) => join(directory, `${key}.json`);
  // Two runs on one commit may end their baselines at once.
  let written = 0;
  return {
    read: async (key) => {
      try {
        const { mtimeMs } = await stat(file(key));
        return now() - mtimeMs > BASELINE_AGE_MS ? null : await readFile(file(key), "utf8");
      } catch (error) {
        const absent = error instanceof Error && "code" in error && error.code === "ENOENT";
        if (!absent) log.warn({}, `a kept baseline could not be read: ${messageOf(error)}`);
        return null;
      }
    },
    write: async (key, text) => {
      try {
        await writeWhole(file(key), text, directory, `${written++}`);
        await prune(directory);
      } catch (error) {
        log.warn({}, `the baseline could not be kept: ${messageOf(error)}`);
      }
    },
  };
}

async function prune(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".json"));
  if (names.length <= MOST_BASELINES) return;
  const ages = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(directory, name))).mtimeMs })),
  );
  const old = ages.sort((a, b) => b.at - a.at).slice(MOST_BASELINES);
  for (const { name } of old) await rm(join(directory, name), { force: true });
}
