/**
 * A reply as a list of parts, for the APIs whose replies are lists: text and calls in our own terms, everything else kept as it
 * came (reasoning with its signature), so that the next request can send all of it back unchanged and in the same order.
 */

import type { Ids } from "#src/base/ids.ts";
import { settleArguments } from "./call-arguments.ts";
import { freeId } from "./call-ids.ts";
import { asList, asRecord, asText, type JsonRecord } from "./json-values.ts";
import type { Message, Reply, ToolCall } from "./model.ts";
import { cleanToolName } from "./tool-names.ts";

export type Part =
  | { readonly kind: "text"; readonly text: string; readonly rest: JsonRecord }
  | {
      readonly kind: "call";
      readonly id: string | null;
      readonly name: string;
      readonly arguments: string;
      readonly rest: JsonRecord;
    }
  | { readonly kind: "raw"; readonly item: JsonRecord };

/** The field of `extra` that holds the parts; one for each API, so that none is sent what belongs to another. */
export type PartField = "responses_parts" | "anthropic_parts";

export const PART_FIELDS: ReadonlySet<string> = new Set<PartField>(["responses_parts", "anthropic_parts"]);

/** Between two texts of one reply, so that they don't run into each other. */
const TEXT_GAP = "\n\n";

/** Sets the text of each part off from that of an earlier one while it streams, as the settled content will have it. */
export function createVoice(): (part: object, text: string) => string {
  const heard = new Set<object>();
  return (part, text) => {
    if (text === "" || heard.has(part)) return text;
    heard.add(part);
    return heard.size > 1 ? TEXT_GAP + text : text;
  };
}

export interface SettleOptions {
  readonly field: PartField;
  /** Parts go back only to the model they came from: reasoning is signed or encrypted for it. */
  readonly modelId: string;
  readonly ids: Ids;
  readonly usedCallIds: ReadonlySet<string>;
  readonly toolNames: ReadonlySet<string>;
}

/** What is stored of a part: texts and calls are in the message itself, and may have been put in order there. */
type Stored =
  | { readonly kind: "text"; readonly from: number; readonly to: number; readonly rest: JsonRecord }
  | { readonly kind: "call"; readonly rest: JsonRecord }
  | { readonly kind: "raw"; readonly item: JsonRecord };

/** The reply's content, calls and (only when there is more than these say) `extra`. */
export function settleParts(
  parts: readonly Part[],
  options: SettleOptions,
): Pick<Reply, "content" | "calls" | "extra"> {
  const taken = new Set(options.usedCallIds);
  const calls: ToolCall[] = [];
  const stored: Stored[] = [];
  let content = "";
  for (const part of parts) {
    if (part.kind === "raw") {
      stored.push(part);
    } else if (part.kind === "text") {
      const from = content.length + (content === "" || part.text === "" ? 0 : TEXT_GAP.length);
      content = content.padEnd(from, "\n") + part.text;
      stored.push({ kind: "text", from, to: content.length, rest: part.rest });
    } else {
      const id = freeId(part.id, taken, options.ids);
      taken.add(id);
      const name = cleanToolName(part.name, options.toolNames);
      calls.push({ id, name, ...settleArguments(part.arguments) });
      stored.push({ kind: "call", rest: part.rest });
    }
  }
  const plain = stored.every((part) => part.kind !== "raw" && Object.keys(part.rest).length === 0);
  if (plain) return { content, calls };
  const { field, modelId } = options;
  return {
    content,
    calls,
    extra: { [field]: { model: modelId, length: content.length, parts: stored } },
  };
}

/** A part as it is sent back: its text or call as the transcript has it now, with the fields it came with. */
export type Replayed =
  | { readonly kind: "text"; readonly text: string; readonly rest: JsonRecord }
  | { readonly kind: "call"; readonly call: ToolCall; readonly rest: JsonRecord }
  | { readonly kind: "raw"; readonly item: JsonRecord };

type Assistant = Extract<Message, { role: "assistant" }>;

/**
 * The parts of an assistant message in the order they came. Without stored parts of this field and model: its text, then its
 * calls. Every text and call of the message is there exactly once, whatever was stored.
 */
export function replayParts(
  message: Assistant,
  { field, modelId }: Pick<SettleOptions, "field" | "modelId">,
): readonly Replayed[] {
  const { content, calls } = message;
  const kept = asRecord(message.extra?.[field]);
  const stored = kept?.model === modelId ? asList(kept.parts).map(asRecord) : [];
  const sameText = kept?.length === content.length;
  const replayed: Replayed[] = [];
  let textIsSent = content === "";
  let nextCall = 0;
  for (const part of stored) {
    const rest = asRecord(part?.rest) ?? {};
    if (part?.kind === "raw") {
      replayed.push({ kind: "raw", item: asRecord(part.item) ?? {} });
    } else if (part?.kind === "text" && (sameText || !textIsSent)) {
      const text = sameText ? content.slice(Number(part.from), Number(part.to)) : content;
      if (text !== "") replayed.push({ kind: "text", text, rest });
      textIsSent = true;
    } else if (part?.kind === "call") {
      const call = calls[nextCall++];
      if (call !== undefined) replayed.push({ kind: "call", call, rest });
    }
  }
  if (!textIsSent) {
    const firstCall = replayed.findIndex((part) => part.kind === "call");
    const place = firstCall === -1 ? replayed.length : firstCall;
    replayed.splice(place, 0, { kind: "text", text: content, rest: {} });
  }
  for (const call of calls.slice(nextCall)) replayed.push({ kind: "call", call, rest: {} });
  return replayed;
}

/** The fields of `record` but for those named, without those that say nothing. */
export function restOf(record: JsonRecord, known: readonly string[]): JsonRecord {
  return Object.fromEntries(
    Object.entries(record).filter(([name, value]) => !known.includes(name) && value !== null && value !== ""),
  );
}

/** A name or id: text, or a number that a careless server sent. */
export function asLabel(value: unknown): string | null {
  return typeof value === "number" ? String(value) : asText(value);
}
