/** Narrowing of values that came as JSON from a provider, of which nothing can be taken for granted. */

export type JsonRecord = Readonly<Record<string, unknown>>;

/** The value when it is an object that is no array. */
export function asRecord(value: unknown): JsonRecord | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonRecord) : null;
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value when it is a string with something in it. */
export function asText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A count of tokens: a finite number that is not negative. */
export function asCount(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}
