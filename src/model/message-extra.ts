/** Keeps the fields of an assistant message that we do not know, so that they can be sent back unchanged (FAULTS A20). */

import { asRecord, type JsonRecord } from "./json-values.ts";

export interface MessageExtra {
  /** Takes the unknown fields of one delta; returns the reasoning text it brought. */
  add(delta: JsonRecord): string;
  /** The collected fields, or null when there were none. */
  settle(): JsonRecord | null;
}

const KNOWN = new Set(["role", "content", "refusal", "tool_calls", "function_call", "index", "name", "id"]);
/** Reasoning as text; a server that sends both sends the same text twice. */
const REASONING = ["reasoning_content", "reasoning"] as const;

export function createMessageExtra(): MessageExtra {
  const texts = new Map<string, string[]>();
  const lists = new Map<string, unknown[]>();
  const others = new Map<string, unknown>();

  const keep = (key: string, value: unknown) => {
    if (typeof value === "string") append(texts, key, [value]);
    else if (Array.isArray(value)) append(lists, key, value);
    else others.set(key, merged(others.get(key), value));
  };

  return {
    add: (delta) => {
      for (const key in delta) {
        const value = delta[key];
        if (!KNOWN.has(key) && value !== null && value !== "") keep(key, value);
      }
      for (const key of REASONING) {
        const value = delta[key];
        if (typeof value === "string" && value !== "") return value;
      }
      return "";
    },
    settle: () => {
      const fields = {
        ...Object.fromEntries(others),
        ...Object.fromEntries([...lists].filter(([, items]) => items.length > 0)),
        ...Object.fromEntries([...texts].map(([key, pieces]) => [key, pieces.join("")])),
      };
      return Object.keys(fields).length === 0 ? null : fields;
    },
  };
}

function append<T>(map: Map<string, T[]>, key: string, items: readonly T[]): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [...items]);
  else for (const item of items) list.push(item);
}

function merged(before: unknown, now: unknown): unknown {
  const [old, fresh] = [asRecord(before), asRecord(now)];
  return old !== null && fresh !== null ? { ...old, ...fresh } : now;
}
