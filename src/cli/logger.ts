/** The program's log: pino, every line passed through the redactor before it leaves the process. */

import { pino } from "pino";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import type { LogLevel } from "#src/config/config.ts";

/** Lines of JSON on standard error; standard output belongs to what a command answers. */
export function createLog(level: LogLevel, redactor: Redactor, write: (line: string) => void): Log {
  return pino({ level, base: null }, { write: (line: string) => write(redactor.redact(line)) });
}

export function toStandardError(line: string): void {
  process.stderr.write(line);
}
