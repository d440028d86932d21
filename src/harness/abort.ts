/** Waiting that ends when a signal is aborted, without leaving listeners behind. */

import { messageOf } from "#src/base/result.ts";

export interface AbortWatch {
  /** Resolves when the signal is aborted; never rejects. */
  readonly aborted: Promise<"aborted">;
  [Symbol.dispose](): void;
}

/** Watches a signal until disposed of; a signal that is aborted already resolves at once. */
export function watchAbort(signal: AbortSignal): AbortWatch {
  const { promise, resolve } = Promise.withResolvers<"aborted">();
  const onAbort = () => resolve("aborted");
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return { aborted: promise, [Symbol.dispose]: () => signal.removeEventListener("abort", onAbort) };
}

/** The sentence a signal was aborted with: its reason when that is text or an error of ours, else `cancelled`. */
export function abortReason(signal: AbortSignal): string {
  const reason: unknown = signal.reason;
  if (typeof reason === "string" && reason !== "") return reason;
  // `abort()` without a reason yields a DOMException whose message says nothing.
  if (reason instanceof Error && !(reason instanceof DOMException)) return messageOf(reason);
  return "cancelled";
}
