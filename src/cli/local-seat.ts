/** What every command for a local run begins with: the data directory under lock, its store, and where output goes. */

import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import { createRedactor, type Redactor } from "#src/base/redact.ts";
import { type Config, formatProblems, secretsOf } from "#src/config/config.ts";
import { loadEnv, processEnvironment } from "#src/config/environment.ts";
import { lockDataDir } from "#src/store/data-lock.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import type { Store } from "#src/store/store.ts";
import { createLog, toStandardError } from "./logger.ts";
import { localDataDir } from "./places.ts";
import { createScreen, type Screen } from "./screen.ts";

export interface LocalSeat {
  /** With the data directory of local runs. */
  readonly config: Config;
  readonly store: Store;
  readonly redactor: Redactor;
  readonly log: Log;
  readonly screen: Screen;
  /** Somebody can be asked: both input and output are a terminal. */
  readonly hasPerson: boolean;
}

/** Exit code 1 with the list of problems when the settings are wrong; else what `work` says. Rejects when another process works here. */
export async function inLocalSeat(work: (seat: LocalSeat) => Promise<number>): Promise<number> {
  const loaded = loadEnv(processEnvironment(), "local");
  if (!loaded.ok) {
    console.error(formatProblems(loaded.error));
    return 1;
  }
  const config = loaded.value;
  const dataDir = localDataDir(config.server.dataDir);
  const redactor = createRedactor(secretsOf(config));
  const level = config.server.logLevel === "info" ? "warn" : config.server.logLevel;
  const lock = await lockDataDir(dataDir, systemClock, 0);
  try {
    const store = openSqliteStore({ path: join(dataDir, "state.db"), clock: systemClock });
    try {
      return await work({
        config: { ...config, server: { ...config.server, dataDir } },
        store,
        redactor,
        log: createLog(level, redactor, toStandardError),
        screen: openScreen(redactor),
        hasPerson: process.stdin.isTTY === true && process.stdout.isTTY === true,
      });
    } finally {
      await store.close();
    }
  } finally {
    lock.release();
  }
}

function openScreen(redactor: Redactor): Screen {
  const { stdout } = process;
  const terminal = stdout.isTTY === true;
  // A reader that has gone away (a closed window, `| head`) is told nothing more; the run and its patch do not depend on it.
  stdout.on("error", () => undefined);
  return createScreen({ stream: stdout, redactor, terminal, colour: terminal && stdout.hasColors() });
}
