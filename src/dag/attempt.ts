/** Runs one start of a step under its time limit, and settles whatever the step does. */

import { canonicalJson, type Json } from "#src/base/canonical-json.ts";
import type { Clock } from "#src/base/clock.ts";
import { messageOf } from "#src/base/result.ts";
import type { Outcome } from "./dag.ts";
import type { RunnableStep } from "./ready.ts";

/** How long an aborted step may take to stop before it is left behind. */
export const GRACE_MS = 10_000;

/** `aborted`: it was stopped from outside; `settled` is false when it had not stopped by the end of the grace time. */
export type Ending = Outcome | { readonly kind: "aborted"; readonly settled: boolean };

/**
 * Never rejects. A result that arrives in the grace time after an outside abort is kept; after the time limit it is not,
 * so that a step cannot make its limit longer. `signal` aborts the step from outside.
 */
export async function runAttempt(start: RunnableStep, signal: AbortSignal, clock: Clock): Promise<Ending> {
  if (signal.aborted) return { kind: "aborted", settled: true };
  const { step, attempt, inputs } = start;
  const controller = new AbortController();
  const graceOver = Promise.withResolvers<"left">();
  let stoppedBy: "nothing" | "limit" | "outside" = "nothing";
  let cancelTimer = () => {};

  const stop = (by: "limit" | "outside", reason: unknown) => {
    if (stoppedBy !== "nothing") return;
    stoppedBy = by;
    cancelTimer();
    cancelTimer = clock.timer(GRACE_MS, () => graceOver.resolve("left"));
    controller.abort(reason);
  };
  const onAbort = () => stop("outside", signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const limit = `it took longer than its limit of ${step.timeLimitMs / 1000} s`;
  cancelTimer = clock.timer(step.timeLimitMs, () => stop("limit", new Error(limit)));

  const work = settle(() => step.run({ signal: controller.signal, attempt, inputs }));
  const ended = await Promise.race([work, graceOver.promise]);
  cancelTimer();
  signal.removeEventListener("abort", onAbort);
  return judge(ended, stoppedBy, limit);
}

function judge(ended: Outcome | "left", stoppedBy: "nothing" | "limit" | "outside", limit: string): Ending {
  if (stoppedBy === "limit") {
    const message = ended === "left" ? `${limit} and did not stop when told to` : limit;
    return { kind: "failed", code: "timeout", message, retry: true };
  }
  if (ended === "left") return { kind: "aborted", settled: false };
  if (stoppedBy === "outside" && ended.kind !== "done") return { kind: "aborted", settled: true };
  return ended;
}

/** The outcome with its output as the log will give it back (plain JSON); whatever is thrown counts as a failure that may be tried again. */
async function settle(run: () => Promise<Outcome>): Promise<Outcome> {
  try {
    const outcome = await run();
    if (outcome.kind !== "done") return outcome;
    return { kind: "done", output: JSON.parse(canonicalJson(outcome.output)) as Json };
  } catch (error) {
    return { kind: "failed", code: "internal", message: messageOf(error), retry: true };
  }
}
