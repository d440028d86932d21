/** What the operator allows every run, from the configuration and the limits of this version. */

import { availableParallelism } from "node:os";
import type { Config } from "#src/config/config.ts";
import type { OperatorLimits } from "#src/config/repository-file.ts";
import type { OperatorSettings } from "#src/fix/ports.ts";
import { allowedRegistries } from "#src/sandbox/network/registries.ts";

const GIB = 1024 ** 3;
const MINUTE = 60_000;

/** The patched tree, the original tests and the new tests: there is nothing more to run at a time. */
const MOST_SUITES = 3;

/** What one run may use of the machine, and of the model where no price is known. */
export const RUN_LIMITS = {
  memoryBytes: 4 * GIB,
  processes: 512,
  diskBytes: 8 * GIB,
  openFiles: 4_096,
  cpuSeconds: 2 * 3_600,
  maxTurns: 50,
  maxMinutes: 30,
  maxTotalTokens: 3_000_000,
  maxOutputTokens: 16_000,
  setupTimeoutMs: 20 * MINUTE,
  suiteTimeoutMs: 15 * MINUTE,
  maxRounds: 3,
} as const;

/** What a repository file can only tighten. */
export function operatorLimits(config: Config): OperatorLimits {
  return {
    model: config.model.id,
    modelsAllowed: config.model.allowed,
    imagesAllowed: config.sandbox.imagesAllowed,
    networkAllow: allowedRegistries(config.sandbox.networkAllow),
    protectedExcept: config.sandbox.protectedExcept,
    budgetUsd: config.limits.budgetUsd,
    maxTurns: RUN_LIMITS.maxTurns,
    maxMinutes: RUN_LIMITS.maxMinutes,
  };
}

export function operatorSettings(config: Config, tracePlace: (runId: string) => string): OperatorSettings {
  const { memoryBytes, processes, diskBytes, openFiles, cpuSeconds, ...rest } = RUN_LIMITS;
  return {
    budgetUsd: config.limits.budgetUsd,
    modelId: config.model.id,
    price: (modelId) => {
      const price = config.model.prices[modelId];
      return price === undefined
        ? null
        : { inputUsd: price.input, cachedUsd: price.cached, outputUsd: price.output };
    },
    maxTotalTokens: rest.maxTotalTokens,
    // A reply as long as the window would leave no room for the question.
    maxOutputTokens: Math.min(rest.maxOutputTokens, Math.floor(config.model.contextTokens / 4)),
    contextTokens: config.model.contextTokens,
    limits: { memoryBytes, processes, diskBytes, openFiles, cpuSeconds },
    setupTimeoutMs: rest.setupTimeoutMs,
    suiteTimeoutMs: rest.suiteTimeoutMs,
    parallelSuites: Math.min(MOST_SUITES, availableParallelism()),
    maxRounds: rest.maxRounds,
    tracePlace,
  };
}
