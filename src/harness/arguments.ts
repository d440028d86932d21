/** Puts a model's tool call into the form every provider takes back: a legal name, arguments that are a JSON object. */

import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import type { ToolCall } from "#src/model/model.ts";
import { presentable } from "./clip.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

/** Arguments text as an object; no text is `{}` (FAULTS A07), an object inside a JSON string is unpacked. The error is a sentence. */
export function parseArguments(text: string): Result<JsonObject, string> {
  if (text.trim() === "") return ok({});
  try {
    const value: unknown = JSON.parse(text);
    const inner: unknown = typeof value === "string" ? JSON.parse(value) : value;
    return isObject(inner) ? ok(inner) : err(`it is ${kindOf(inner)}, not an object`);
  } catch (error) {
    return err(messageOf(error));
  }
}

/** The known tool a name stands for: exact, or what comes before a control token that leaked into it (FAULTS A26). */
export function resolveToolName(name: string, toolNames: readonly string[]): string | null {
  const bare = name.trim();
  const cut = bare.split("<|")[0]?.trim() ?? "";
  return toolNames.find((known) => known === bare) ?? toolNames.find((known) => known === cut) ?? null;
}

function legalName(name: string): string {
  const legal = name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 64);
  return legal === "" ? "unnamed" : legal;
}

/** The call as it is stored: what could not be read as an object is kept in `malformed`, and `{}` stands in its place. */
export function normaliseCall(call: ToolCall, toolNames: readonly string[]): ToolCall {
  const name = resolveToolName(call.name, toolNames) ?? legalName(call.name);
  if (call.malformed !== undefined) return { ...call, name, arguments: "{}" };
  const parsed = parseArguments(call.arguments);
  if (!parsed.ok) return { ...call, name, arguments: "{}", malformed: presentable(call.arguments) };
  const text = call.arguments.trim();
  return { ...call, name, arguments: text.startsWith("{") ? text : JSON.stringify(parsed.value) };
}
