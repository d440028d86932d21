/** Puts tool-call deltas together: decides which call each delta belongs to, by index and id, and what that call becomes. */

import type { Ids } from "#src/base/ids.ts";
import { createObjectScanner, type ObjectScanner, settleArguments } from "./call-arguments.ts";
import { freeId } from "./call-ids.ts";
import { asRecord, asText, type JsonRecord } from "./json-values.ts";
import type { ToolCall } from "./model.ts";
import { cleanToolName } from "./tool-names.ts";

export interface CallSlots {
  /** Folds one element of `tool_calls`, as it came. */
  add(delta: unknown): void;
  /** Every call that was opened is there and has a whole object (or nothing at all) as arguments. */
  readonly complete: boolean;
  readonly count: number;
  /** The calls in the order they were opened, with ids unique among themselves and against `usedIds`. */
  settle(usedIds: ReadonlySet<string>): readonly ToolCall[];
}

/** One element of `tool_calls`, with absent, null and empty made the same. */
interface CallDelta {
  readonly index: number | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly arguments: string | null;
  readonly extra: JsonRecord;
  readonly functionExtra: JsonRecord;
}

/** A call while its pieces arrive. Pieces are joined once, at the end: linear in the size of the reply. */
interface Slot {
  index: number | null;
  id: string | null;
  name: string;
  readonly pieces: string[];
  scanner: ObjectScanner;
  extra: JsonRecord;
  functionExtra: JsonRecord;
}

export function createCallSlots(toolNames: ReadonlySet<string>, ids: Ids): CallSlots {
  const slots: Slot[] = [];
  const opened = () => slots.filter((slot) => slot.name !== "" || slot.scanner.begun);
  return {
    add: (raw) => {
      const delta = readDelta(raw);
      if (delta === null) return;
      const candidate = findCandidate(slots, delta);
      if (candidate === undefined || opensNewCall(candidate, delta, toolNames)) {
        slots.push(openSlot(delta));
      } else {
        continueSlot(candidate, delta, toolNames);
      }
    },
    get complete() {
      return opened().every((slot) => slot.name !== "" && (slot.scanner.whole || !slot.scanner.begun));
    },
    get count() {
      return opened().length;
    },
    settle: (usedIds) => {
      const taken = new Set(usedIds);
      return opened().map((slot) => {
        const id = freeId(slot.id, taken, ids);
        taken.add(id);
        const extra = {
          ...slot.extra,
          ...(isEmpty(slot.functionExtra) ? {} : { function: slot.functionExtra }),
        };
        return {
          id,
          name: cleanToolName(slot.name, toolNames),
          ...settleArguments(slot.pieces.join("")),
          ...(isEmpty(extra) ? {} : { extra }),
        };
      });
    },
  };
}

const CALL_FIELDS: ReadonlySet<string> = new Set(["index", "id", "type", "function"]);
const FUNCTION_FIELDS: ReadonlySet<string> = new Set(["name", "arguments"]);

function readDelta(raw: unknown): CallDelta | null {
  const call = asRecord(raw);
  if (call === null) return null;
  const { index, id } = call;
  const fn = asRecord(call.function) ?? NOTHING;
  return {
    index: readIndex(index),
    id: typeof id === "number" ? String(id) : asText(id),
    name: asText(fn.name),
    arguments: readArguments(fn.arguments),
    extra: othersOf(call, CALL_FIELDS),
    functionExtra: othersOf(fn, FUNCTION_FIELDS),
  };
}

function readIndex(value: unknown): number | null {
  if (typeof value === "string" && /^\d+$/.test(value)) return Number(value);
  return typeof value === "number" ? value : null;
}

/** Some servers send the arguments as an object instead of its text. */
function readArguments(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? asText(value) : JSON.stringify(value);
}

const NOTHING: JsonRecord = {};

/** The fields that say something and are not `known`; most pieces of a long call have none, and then nothing is built. */
function othersOf(fields: JsonRecord, known: ReadonlySet<string>): JsonRecord {
  let others: Record<string, unknown> | null = null;
  for (const name in fields) {
    const value = fields[name];
    if (known.has(name) || value === null || value === "") continue;
    others ??= {};
    others[name] = value;
  }
  return others ?? NOTHING;
}

function merged(before: JsonRecord, added: JsonRecord): JsonRecord {
  return isEmpty(added) ? before : { ...before, ...added };
}

function isEmpty(fields: JsonRecord): boolean {
  for (const _ in fields) return false;
  return true;
}

/** The call that this delta continues unless it turns out to open a new one. */
function findCandidate(slots: readonly Slot[], delta: CallDelta): Slot | undefined {
  const { id, index } = delta;
  const sameIndex = (slot: Slot) => slot.index === index || slot.index === null || index === null;
  const byId = id === null ? undefined : slots.findLast((slot) => slot.id === id && sameIndex(slot));
  if (byId !== undefined) return byId;
  const last = slots.at(-1);
  // Neither index nor id: the call last opened (FAULTS A01).
  if (index === null) return last;
  const byIndex = slots.findLast((slot) => slot.index === index);
  if (byIndex !== undefined) return byIndex;
  return delta.name === null && last?.index === null ? last : undefined;
}

/** Providers reuse an index for several calls (FAULTS A02) and repeat or cut names and ids, so no single field decides. */
function opensNewCall(slot: Slot, delta: CallDelta, toolNames: ReadonlySet<string>): boolean {
  const sameId = delta.id !== null && delta.id === slot.id;
  const otherId = delta.id !== null && slot.id !== null && !sameId;

  if (slot.scanner.whole && opensObject(delta)) {
    if (delta.name === null) return otherId;
    if (sameId && isEmptyObject(slot)) return false;
    return !isRepetition(slot, delta);
  }
  if (otherId) {
    if (delta.name !== null) return !joinsToKnownName(slot, delta.name, toolNames);
    // Some servers make up another id for each piece; a different id after a whole object is a call whose name is late.
    return slot.scanner.whole;
  }
  if (delta.name === null || slot.name === "" || delta.name === slot.name) return false;
  if (slot.scanner.begun) return slot.scanner.whole || !sameId;
  return toolNames.has(slot.name) && toolNames.has(delta.name) && !toolNames.has(slot.name + delta.name);
}

function opensObject(delta: CallDelta): boolean {
  return delta.arguments?.trimStart().startsWith("{") ?? false;
}

/** `{}` sent in advance by servers that then stream the real object. */
function isEmptyObject(slot: Slot): boolean {
  return slot.pieces.length === 1 && /^\s*\{\s*\}\s*$/.test(slot.pieces[0] ?? "");
}

/** The whole call came again, under its own id or as a bare summary: one call, not two. */
function isRepetition(slot: Slot, delta: CallDelta): boolean {
  const sameCaller = delta.id === null ? delta.name === null || slot.id !== null : delta.id === slot.id;
  const sameName = delta.name === null || delta.name === slot.name;
  return sameCaller && sameName && slot.pieces.join("") === delta.arguments;
}

/** Name and id both arrive in pieces: only a name that is known once joined tells this from a second call. */
function joinsToKnownName(slot: Slot, piece: string, toolNames: ReadonlySet<string>): boolean {
  return !slot.scanner.begun && !toolNames.has(slot.name) && toolNames.has(slot.name + piece);
}

function openSlot(delta: CallDelta): Slot {
  const slot: Slot = {
    index: delta.index,
    id: delta.id,
    name: delta.name ?? "",
    pieces: [],
    scanner: createObjectScanner(),
    extra: delta.extra,
    functionExtra: delta.functionExtra,
  };
  addPiece(slot, delta.arguments);
  return slot;
}

function continueSlot(slot: Slot, delta: CallDelta, toolNames: ReadonlySet<string>): void {
  slot.id = joinId(slot, delta);
  slot.index ??= delta.index;
  if (delta.name !== null) slot.name = joinName(slot.name, delta.name, toolNames);
  slot.extra = merged(slot.extra, delta.extra);
  slot.functionExtra = merged(slot.functionExtra, delta.functionExtra);
  if (slot.scanner.whole && opensObject(delta)) {
    if (isRepetition(slot, delta)) return;
    if (isEmptyObject(slot)) {
      slot.pieces.length = 0;
      slot.scanner = createObjectScanner();
    }
  }
  addPiece(slot, delta.arguments);
}

function addPiece(slot: Slot, piece: string | null): void {
  if (piece === null) return;
  slot.pieces.push(piece);
  slot.scanner.read(piece);
}

/** An id that grows before any argument came is in pieces; later on the first one stays. */
function joinId(slot: Slot, delta: CallDelta): string | null {
  if (slot.id === null || delta.id === null || slot.id === delta.id) return slot.id ?? delta.id;
  return slot.scanner.begun || delta.arguments !== null ? slot.id : slot.id + delta.id;
}

/** A piece, the whole name again, or the name so far and more: told apart by what is already there. */
function joinName(soFar: string, piece: string, toolNames: ReadonlySet<string>): string {
  if (!toolNames.has(soFar) && toolNames.has(soFar + piece)) return soFar + piece;
  if (piece.startsWith(soFar)) return piece;
  return soFar + piece;
}
