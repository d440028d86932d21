/** Judges a repository or a patch where there is no run: in a data directory of its own, which is gone afterwards with all that was started. */

import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err, ok, type Result } from "#src/base/result.ts";
import type { Config } from "#src/config/config.ts";
import type { Environment } from "#src/config/environment.ts";
import { createLog, toStandardError } from "./logger.ts";
import { openSandbox } from "./open-sandbox.ts";
import { localDataDir } from "./places.ts";
import { type Sources, verificationPorts } from "./ports.ts";
import { exitCodeOf, listenToSignals } from "./signals.ts";

export interface JudgingParts {
  readonly config: Config;
  readonly env: Environment;
  readonly redactor: Redactor;
  /** Names the directory, beside those of other commands. */
  readonly name: "verify" | "look";
  readonly sources: Sources;
}

export interface Judging {
  readonly ports: ReturnType<typeof verificationPorts>;
  readonly runId: string;
  /** Aborted when the command is told to stop. */
  readonly signal: AbortSignal;
}

/** What `work` comes to, or the exit code of a command that was told to stop. Rejects where the sandbox cannot be had, as `openSandbox` does. */
export async function judge<T>(
  { config, env, redactor, name, sources }: JudgingParts,
  work: (judging: Judging) => Promise<T>,
): Promise<Result<T, number>> {
  const runId = systemIds.runId(systemClock.now());
  const dataDir = join(localDataDir(config.server.dataDir), name, runId);
  const own = { ...config, server: { ...config.server, dataDir } };
  const log = createLog("silent", redactor, toStandardError);
  const parts = { config: own, env, clock: systemClock, ids: systemIds, log, redactor };
  const sandbox = await openSandbox({ ...parts, home: homedir() });
  const ports = verificationPorts({ ...parts, sandbox }, sources);
  const stop = new AbortController();
  const signals = listenToSignals();
  const stopped = signals.come().then(() => stop.abort(new Error("stopped")));
  try {
    const done = work({ ports, runId, signal: stop.signal });
    // Of work that was stopped only its end counts, however it ends.
    const ended = done.then(
      () => undefined,
      () => undefined,
    );
    await Promise.race([done, stopped.then(() => ended)]);
    const signal = signals.take();
    return signal === null ? ok(await done) : err(exitCodeOf(signal));
  } finally {
    signals.close();
    await ports.workspaces.remove(runId, false);
    await sandbox.sweep();
    await rm(dataDir, { recursive: true, force: true });
  }
}
