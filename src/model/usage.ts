/** Reads token counts from the places where providers put them. */

import { asCount, asRecord, type JsonRecord } from "./json-values.ts";
import type { Usage } from "./model.ts";

export const UNKNOWN_USAGE: Usage = { inputTokens: null, cachedTokens: null, outputTokens: null };

/** The counts after this chunk: what it reports replaces what was known, what it leaves out stays. */
export function mergeUsage(known: Usage, chunk: JsonRecord): Usage {
  const reported = findUsage(chunk);
  if (reported === null) return known;
  const details = asRecord(reported.prompt_tokens_details) ?? asRecord(reported.input_tokens_details);
  return {
    inputTokens: asCount(reported.prompt_tokens) ?? asCount(reported.input_tokens) ?? known.inputTokens,
    cachedTokens:
      asCount(details?.cached_tokens) ??
      asCount(reported.prompt_cache_hit_tokens) ??
      asCount(reported.cached_tokens) ??
      known.cachedTokens,
    outputTokens:
      asCount(reported.completion_tokens) ?? asCount(reported.output_tokens) ?? known.outputTokens,
  };
}

/** On the chunk (most), on its first choice (Moonshot), or under the vendor's name (Groq). */
function findUsage(chunk: JsonRecord): JsonRecord | null {
  const choice = Array.isArray(chunk.choices) ? asRecord(chunk.choices[0]) : null;
  return asRecord(chunk.usage) ?? asRecord(choice?.usage) ?? asRecord(asRecord(chunk.x_groq)?.usage);
}

/** Input counts of the Messages API are apart: what was neither read from nor written to the cache, and both of these. */
export type MessagesCounts = Readonly<
  Partial<
    Record<
      "input_tokens" | "cache_read_input_tokens" | "cache_creation_input_tokens" | "output_tokens",
      number
    >
  >
>;

const MESSAGES_COUNTS = [
  "input_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "output_tokens",
] as const;

/** The counts after another `usage` object. They are running totals, so the larger one stands: some servers end with zeros. */
export function mergeMessagesCounts(known: MessagesCounts, usage: JsonRecord | null): MessagesCounts {
  const merged: Partial<Record<(typeof MESSAGES_COUNTS)[number], number>> = { ...known };
  for (const name of MESSAGES_COUNTS) {
    const count = asCount(usage?.[name]);
    if (count !== null) merged[name] = Math.max(count, merged[name] ?? 0);
  }
  return merged;
}

/** Input is the sum of its three parts, so that it means the same as with every other provider. */
export function messagesUsage(counts: MessagesCounts): Usage {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = counts;
  const reported = input_tokens !== undefined || cache_read_input_tokens !== undefined;
  const sum = (input_tokens ?? 0) + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0);
  return {
    inputTokens: reported ? sum : null,
    cachedTokens: cache_read_input_tokens ?? null,
    outputTokens: output_tokens ?? null,
  };
}
