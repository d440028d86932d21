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
