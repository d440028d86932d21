/** Measures how much of a request repeats the previous one, which is what providers' caches live on. */

import type { Message, ToolSpec } from "#src/model/model.ts";

/** A request as it counts here: tools first, then the messages, in the order they are sent. */
export interface Sent {
  readonly tools: readonly ToolSpec[];
  readonly messages: readonly Message[];
}

/** Measures each request against the one noted last; messages that are the same objects are not looked at again. */
export interface PrefixWatch {
  /** Common prefix ÷ length of the request noted last, in characters of their JSON, 0 to 1; null while none was noted. */
  stability(next: Sent): number | null;
  note(sent: Sent): void;
}

export function createPrefixWatch(): PrefixWatch {
  const lengths = new WeakMap<object, number>();
  const lengthOf = (part: object): number => {
    const length = lengths.get(part) ?? JSON.stringify(part).length;
    lengths.set(part, length);
    return length;
  };
  let last: Sent | null = null;
  return {
    note: (sent) => {
      last = sent;
    },
    stability: (next) => {
      if (last === null) return null;
      if (isContinued(last, next)) return 1;
      const before = [last.tools, ...last.messages];
      const now = [next.tools, ...next.messages];
      const total = before.reduce((sum, part) => sum + lengthOf(part), 0);
      let same = 0;
      for (const [at, part] of before.entries()) {
        const common = part === now[at] ? lengthOf(part) : commonStart(part, now[at]);
        same += common;
        if (common < lengthOf(part)) break;
      }
      return total === 0 ? 1 : same / total;
    },
  };
}

/** What was sent stands unchanged at the start of what is sent next: the case of nearly every request. */
function isContinued(last: Sent, next: Sent): boolean {
  return last.tools === next.tools && last.messages.every((message, at) => message === next.messages[at]);
}

/** Length of the common start of both as JSON. */
function commonStart(before: object, now: object | undefined): number {
  const [a, b] = [JSON.stringify(before), JSON.stringify(now) ?? ""];
  let same = 0;
  while (same < a.length && a.charCodeAt(same) === b.charCodeAt(same)) same++;
  return same;
}
