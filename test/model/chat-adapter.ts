/** The adapters as the tests set them up: a clock moved by hand or one that does not wait, repeatable ids, no log. */

import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import type { Model } from "#src/model/model.ts";
import { createOpenAiChat } from "#src/model/openai-chat.ts";
import type { ProviderOptions } from "#src/model/provider.ts";

export function countingIds(): Ids {
  let count = 0;
  return {
    runId: () => "run",
    hex: (bytes) => "0".repeat(bytes * 2),
    callId: () => `minted${String(++count).padStart(3, "0")}`,
    chance: () => 0,
  };
}

/** Notes every wait and ends it at once; timers never fire. */
export function impatientClock(): Clock & { readonly waits: readonly number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: () => Date.UTC(2025, 0, 1),
    timer: () => () => undefined,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      waits.push(ms);
    },
  };
}

/** Options of any adapter; `options` replaces what a test cares about. */
export function providerOptions(baseUrl: string, options: Partial<ProviderOptions> = {}): ProviderOptions {
  return {
    baseUrl,
    apiKey: "key-for-tests-only",
    modelId: "test-model",
    clock: impatientClock(),
    ids: countingIds(),
    redactor: createRedactor(),
    log: silentLog,
    ...options,
  };
}

export function chatAdapter(baseUrl: string, options: Partial<ProviderOptions> = {}): Model {
  return createOpenAiChat(providerOptions(baseUrl, options));
}
