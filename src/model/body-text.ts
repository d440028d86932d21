/** The JSON text of request bodies; a message or a list of tools that was in an earlier request is not written again. */

import type { WireBody } from "./provider.ts";

/** Only for objects that never change: the wire forms of messages and tools, which are made once and kept as long as what they stand for. */
const TEXTS = new WeakMap<object, string>();

/** The same as `JSON.stringify(body)`; its `messages` and `tools` must be plain objects that nobody changes afterwards. */
export function bodyText(body: WireBody): string {
  const members = Object.entries(body).flatMap(([name, value]) => {
    const text = memberText(name, value);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${members.join(",")}}`;
}

function memberText(name: string, value: unknown): string | undefined {
  if (name === "messages" && Array.isArray(value)) return `[${value.map(keptText).join(",")}]`;
  if (name === "tools" && Array.isArray(value)) return keptText(value);
  return JSON.stringify(value);
}

function keptText(value: object): string {
  const kept = TEXTS.get(value);
  if (kept !== undefined) return kept;
  const text = JSON.stringify(value);
  TEXTS.set(value, text);
  return text;
}
