/** Reads fields of a trace payload that came from a file: a field of the wrong kind counts as missing. */

import type { TraceEvent } from "./trace.ts";

type Data = TraceEvent["data"];

/** Empty when missing. */
export function textField(data: Data, name: string): string {
  const value = data[name];
  return typeof value === "string" ? value : "";
}

export function numberField(data: Data, name: string): number | null {
  const value = data[name];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function flagField(data: Data, name: string): boolean {
  return data[name] === true;
}

/** An object member as a payload of its own; empty when missing. */
export function objectField(data: Data, name: string): Data {
  return asObject(data[name]) ?? {};
}

/** The objects of a list; empty when missing. */
export function objectsField(data: Data, name: string): readonly Data[] {
  const value = data[name];
  return Array.isArray(value) ? value.map(asObject).filter((item) => item !== null) : [];
}

/** The strings of a list; empty when missing. */
export function textsField(data: Data, name: string): readonly string[] {
  const value = data[name];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function asObject(value: unknown): Data | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Data) : null;
}
