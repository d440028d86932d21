/** Small host programs (`mkfifo`, `du`), started by a thread so that their start holds up no webhook. */

import { systemClock } from "#src/base/clock.ts";
import { createOffload, type Offload } from "#src/base/offload.ts";
import type { HostChildEnd } from "#src/sandbox/command/host-child.ts";

const IDLE_MS = 60_000;
const MEMORY_MB = 64;

/** One for the whole process, whoever asks; it starts with the first program. Idle time is the machine's own, whatever clock the work goes by. */
const shared: { thread: Offload | null } = { thread: null };

/** Runs the program with that environment and nothing else. Rejects only when the thread died. */
export async function hostProgram(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<HostChildEnd> {
  shared.thread ??= createOffload({
    module: new URL("./host-child.ts", import.meta.url),
    clock: systemClock,
    idleMs: IDLE_MS,
    memoryMb: MEMORY_MB,
  });
  return (await shared.thread.call("runChild", [file, args, environment])) as HostChildEnd;
}
