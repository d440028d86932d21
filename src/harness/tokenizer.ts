/** The real tokenizer, in a worker thread of its own that is started at the first count and ends when it is not needed. */

import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import { createOffload } from "#src/base/offload.ts";
import { messageOf } from "#src/base/result.ts";

export interface Tokenizer {
  /** Tokens of each text; null when it cannot count, in which case characters must do. Never rejects. */
  count(texts: readonly string[]): Promise<readonly number[] | null>;
  close(): Promise<void>;
}

const IDLE_MS = 60_000;
const MEMORY_MB = 512;

/** One for the whole process: all runs share its thread. */
export function createTokenizer({ clock, log }: { readonly clock: Clock; readonly log: Log }): Tokenizer {
  const offload = createOffload({
    module: new URL("./o200k.ts", import.meta.url),
    clock,
    idleMs: IDLE_MS,
    memoryMb: MEMORY_MB,
  });
  return {
    count: async (texts) => {
      try {
        return (await offload.call("countTexts", [texts])) as readonly number[];
      } catch (error) {
        log.warn({ error: messageOf(error) }, "the tokenizer cannot count; characters are counted instead");
        return null;
      }
    },
    close: () => offload.close(),
  };
}
