/** JSON as the embedded GitHub reads and writes it, and careful reading of members of a request body. */

import type { Json } from "#src/base/canonical-json.ts";

export type JsonObject = { readonly [key: string]: Json | undefined };

/** GitHub's spelling of an instant: UTC, whole seconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** GitHub's node ids are opaque; these name the kind and the number. */
export function nodeId(kind: string, id: number): string {
  return Buffer.from(`${kind}:${id}`).toString("base64url");
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member when it is a string, else null. */
export function textOf(body: JsonObject, key: string): string | null {
  const value = body[key];
  return typeof value === "string" ? value : null;
}

/** The member when it is an array, else an empty one. */
export function listOf(body: JsonObject, key: string): readonly Json[] {
  const value = body[key];
  return Array.isArray(value) ? value : [];
}
