/** Ids of tool calls: each is unique over the whole transcript, whatever a provider sends. */

import type { Ids } from "#src/base/ids.ts";
import type { Message } from "./model.ts";

/** Ids of all calls in a transcript: a new reply must use none of them again. */
export function callIdsIn(messages: readonly Message[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const message of messages)
    if (message.role === "assistant") for (const { id } of message.calls) ids.add(id);
  return ids;
}

/** A provider's id is kept unless it is missing or taken (FAULTS A04, A06, A22). */
export function freeId(given: string | null, taken: ReadonlySet<string>, ids: Pick<Ids, "callId">): string {
  let id = given ?? ids.callId();
  while (taken.has(id)) id = ids.callId();
  return id;
}
