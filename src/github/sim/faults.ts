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
  /** How many are let through first; default none. */
  readonly skip?: number;
  /** Called when a request has come that meets it, before anything is done. */
  readonly onMet?: () => void;
  readonly fault: FaultKind;
}

export interface Faults {
  add(fault: Fault): void;
  /** Takes one use of the first fault that fits. */
  take(method: string, path: string): FaultKind | null;
  clear(): void;
}

export function createFaults(): Faults {
  let planned: { readonly fault: Fault; left: number; toSkip: number }[] = [];
  return {
    add: (fault) => {
      planned.push({ fault, left: fault.times, toSkip: fault.skip ?? 0 });
    },
    take: (method, path) => {
      const fitting = planned.filter(
        ({ fault, left }) => left > 0 && fault.method === method && fault.path.test(path),
      );
      const found = fitting.find(({ toSkip }) => toSkip === 0);
      for (const entry of fitting) if (entry.toSkip > 0) entry.toSkip--;
      if (found === undefined) return null;
      found.left--;
      found.fault.onMet?.();
      return found.fault.fault;
    },
    clear: () => {
      planned = [];
    },
  };
}
