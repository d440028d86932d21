/** JSON with one spelling per value, and its SHA-256: what digests and step-input hashes are made of. */

import { createHash } from "node:crypto";

/** A value JSON can carry. `undefined` members are left out, as `JSON.stringify` does. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/** Text that JSON writes as it is: nearly all keys and most values, so that they need no look at each character. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Keys sorted by code unit, no white space; throws a TypeError on a number JSON cannot write (NaN, Infinity). */
export function canonicalJson(value: Json): string {
  if (typeof value === "string") return quoted(value);
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError(`not a JSON number: ${value}`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const object = value as Record<string, Json | undefined>;
  let members = "";
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member === undefined) continue;
    members += `${members === "" ? "" : ","}${quoted(key)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Lower-case hex SHA-256 of text (as UTF-8) or bytes. */
export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
