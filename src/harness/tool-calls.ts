/** Turns a reply into things to do: calls with checked arguments, or errors that tell the model how to do it right. */

import { z } from "zod";
import { headOf } from "#src/base/cut-text.ts";
import type { Reply, ToolCall, ToolSpec } from "#src/model/model.ts";
import { type JsonObject, parseArguments } from "./arguments.ts";
import type { Tool } from "./tool.ts";

/** More calls in one reply than this are answered with an error, so that their results cannot flood the window. */
export const MOST_CALLS = 32;

export type CallError = "truncated" | "refused" | "malformed" | "unknown_tool" | "bad_arguments" | "too_many";

export type Entry =
  | { readonly kind: "call"; readonly call: ToolCall; readonly tool: Tool; readonly args: unknown }
  | { readonly kind: "error"; readonly call: ToolCall; readonly code: CallError; readonly text: string };

/** A tool as the model is told of it: the JSON Schema of its arguments without the members no provider needs. */
export function toolSpec(tool: Tool): ToolSpec {
  const { $schema: _, ...parameters } = z.toJSONSchema(tool.schema, { io: "input" });
  return { name: tool.name, description: tool.description, parameters };
}

const TRUNCATED =
  "This call did not run: your reply was cut off at the output limit. Send it again in smaller pieces: one call at a time, and long text split over several edits.";

/** What was wrong with each field, by its name; values the model sent are not repeated. */
function validationText(tool: Tool, args: JsonObject, error: z.ZodError): string {
  const problems = error.issues.map((issue) => {
    const field = issue.path.map(String).join(".");
    const missing = issue.path.length === 1 && !(field in args);
    return `\`${field || "arguments"}\`: ${missing ? "is missing" : issue.message}`;
  });
  const known = Object.keys((toolSpec(tool).parameters.properties ?? {}) as JsonObject);
  const unknown = Object.keys(args).filter((key) => !known.includes(key));
  const strangers =
    unknown.length > 0 ? ` It has no ${headOf(unknown.map((key) => `\`${key}\``).join(", "), 200)}.` : "";
  return `${tool.name} did not run. ${problems.join("; ")}. It takes: ${known.map((key) => `\`${key}\``).join(", ")}.${strangers}`;
}

/** Optional fields are often sent as null; null means "not given" for every tool here. */
function withoutNulls(args: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
}

function entryOf(call: ToolCall, tools: readonly Tool[]): Entry {
  const failed = (code: CallError, text: string): Entry => ({ kind: "error", call, code, text });
  const tool = tools.find((candidate) => candidate.name === call.name);
  if (tool === undefined)
    return failed(
      "unknown_tool",
      `There is no tool named ${call.name}. The tools are: ${tools.map((known) => known.name).join(", ")}.`,
    );
  const parsed = parseArguments(call.malformed ?? call.arguments);
  if (call.malformed !== undefined || !parsed.ok)
    return failed(
      "malformed",
      `${call.name} did not run: its arguments are not a JSON object (${parsed.ok ? "they could not be read whole" : headOf(parsed.error, 200)}). Send one object in valid JSON; inside strings write line breaks as \\n and quotes as \\".`,
    );
  const args = withoutNulls(parsed.value);
  const checked = tool.schema.safeParse(args);
  if (!checked.success) return failed("bad_arguments", validationText(tool, args, checked.error));
  return { kind: "call", call, tool, args: checked.data };
}

/**
 * One entry for each of `calls` (the reply's calls as stored by `appendReply`), in order. Of a truncated or refused
 * reply none is run: half a call must never be executed.
 */
export function parseCalls(
  finish: Reply["finish"],
  calls: readonly ToolCall[],
  tools: readonly Tool[],
): readonly Entry[] {
  return calls.map((call, place): Entry => {
    if (finish === "truncated") return { kind: "error", call, code: "truncated", text: TRUNCATED };
    if (finish === "refused")
      return { kind: "error", call, code: "refused", text: "This call did not run: the reply was refused." };
    if (place >= MOST_CALLS)
      return {
        kind: "error",
        call,
        code: "too_many",
        text: `This call did not run: one reply may hold ${MOST_CALLS} calls. Send it again in your next reply.`,
      };
    return entryOf(call, tools);
  });
}
