/** What a request cost, from the tokens its provider reported. */

import type { Usage } from "#src/model/model.ts";

/** US dollars for a million tokens. */
export interface Price {
  readonly input: number;
  /** For the part of the input that the provider served from its cache. */
  readonly cached: number;
  readonly output: number;
}

const TOKENS_PER_PRICE = 1_000_000;

/** US dollars; null when no price is known or the provider did not report input and output. An unreported cached part counts as none. */
export function costUsd(usage: Usage, price: Price | null): number | null {
  if (price === null || usage.inputTokens === null || usage.outputTokens === null) return null;
  const cached = Math.min(usage.cachedTokens ?? 0, usage.inputTokens);
  const uncached = usage.inputTokens - cached;
  return (
    (uncached * price.input + cached * price.cached + usage.outputTokens * price.output) / TOKENS_PER_PRICE
  );
}
