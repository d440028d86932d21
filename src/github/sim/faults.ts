/** Planned failures of the embedded GitHub: which requests meet one, and how it looks from outside. */

import type { Json } from "#src/base/canonical-json.ts";

export type FaultKind =
  /** Answered so, without any effect. */
  | {
      readonly kind: "status";
      readonly status: number;
      readonly body?: Json;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The connection is cut before anything is done. */
  | { readonly kind: "drop_before" }
  /** The effect happens, then the connection is cut: the caller cannot know. */
  | { readonly kind: "drop_after" }
  /** No answer ever; nothing is done. */
  | { readonly kind: "hang" };

export interface Fault {
  readonly method: string;
  /** Matched against the path without `/api/v3`, query left out; a git address as it is. */
  readonly path: RegExp;
  /** How many requests it meets; Infinity for all. */
  readonly times: number;
  readonly fault: FaultKind;
}

export interface Faults {
  add(fault: Fault): void;
  /** Takes one use of the first fault that fits. */
  take(method: string, path: string): FaultKind | null;
  clear(): void;
}

export function createFaults(): Faults {
  let planned: { readonly fault: Fault; left: number }[] = [];
  return {
    add: (fault) => {
      planned.push({ fault, left: fault.times });
    },
    take: (method, path) => {
      const found = planned.find(
        ({ fault, left }) => left > 0 && fault.method === method && fault.path.test(path),
      );
      if (found === undefined) return null;
      found.left--;
      return found.fault.fault;
    },
    clear: () => {
      planned = [];
    },
  };
}
