/** Finds out how long a provider wants us to wait: from headers and from the wording of the body (FAULTS B05). */

/** The one method of `Headers` that is needed. */
export interface HeaderReader {
  get(name: string): string | null;
}

/**
 * Milliseconds to wait at least, rounded up, or null when nothing was said. The longest of all hints counts: `retry-after-ms`,
 * `Retry-After` in seconds or as an HTTP date, and in the body "try again in 3.2s", "retry_after", "retryDelay".
 */
export function retryHint(headers: HeaderReader | null, body: string, nowMs: number): number | null {
  const hints = [
    milliseconds(headers?.get("retry-after-ms") ?? null),
    retryAfter(headers?.get("retry-after") ?? null, nowMs),
    worded(body),
    field(body),
  ].filter((hint): hint is number => hint !== null);
  return hints.length === 0 ? null : Math.ceil(Math.max(0, ...hints));
}

const NUMBER = /^\s*\d+(\.\d+)?\s*$/;

function milliseconds(value: string | null): number | null {
  return value !== null && NUMBER.test(value) ? Number(value) : null;
}

function retryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  if (NUMBER.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

const DURATION =
  /(\d+(?:\.\d+)?)\s*(milliseconds?|ms|minutes?|min|m|hours?|h|seconds?|secs?|s|days?|d)(?![a-z])/gi;
const SENTENCE =
  /(?:try again|retry|available again|resets?|wait)(?: again)?(?: after| in| for)?:?\s+((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|minutes?|min|m|hours?|h|seconds?|secs?|s|days?|d)(?![a-z])[\s,]*(?:and\s+)?)+)/i;

/** "Please try again in 1m30.5s", "retry after 20 seconds". */
function worded(body: string): number | null {
  const match = SENTENCE.exec(body);
  if (match?.[1] === undefined) return null;
  let total = 0;
  for (const [, amount, unit] of match[1].matchAll(DURATION)) total += Number(amount) * unitMs(unit ?? "s");
  return total;
}

function unitMs(unit: string): number {
  const word = unit.toLowerCase();
  if (word === "ms" || word.startsWith("milli")) return 1;
  if (word.startsWith("m")) return 60_000;
  if (word.startsWith("h")) return 3_600_000;
  if (word.startsWith("d")) return 86_400_000;
  return 1_000;
}

/** `"retryDelay":"12s"` (Google), `"retry_after": 3` or `"retry_after_seconds": 3` in seconds. */
function field(body: string): number | null {
  const match = /"(?:retryDelay|retry_after(?:_seconds)?)"\s*:\s*"?(\d+(?:\.\d+)?)s?"?/.exec(body);
  return match === null ? null : Number(match[1]) * 1_000;
}
