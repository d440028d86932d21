/** Sees a local run on until it ends or the person leaves: Ctrl-C stops the work in order and asks what next. */

import { systemIds } from "#src/base/ids.ts";
import { leftWork } from "#src/fix/left-work.ts";
import { createEmbeddedQueue } from "#src/queue/embedded.ts";
import type { RunRequest } from "#src/run/run.ts";
import { createWorker, type Worker } from "#src/worker/worker.ts";
import { spentText } from "./agent-view.ts";
import { finish, leave } from "./end-sitting.ts";
import type { LocalSeat } from "./local-seat.ts";
import { openSitting, type Sitting, type SittingOptions } from "./open-sitting.ts";
import { listenToSignals, type StopSignal } from "./signals.ts";

/** How long stopped work may take to end, in ms. */
const STOP_MS = 10_000;

/**
 * Works on a run that is in the store. Exit code 0 with a patch, 1 without one, 128 + the signal's number when the person
 * left: then the run stays open, with everything that `agent-fix resume` needs.
 */
export async function sit(seat: LocalSeat, request: RunRequest, options: SittingOptions): Promise<number> {
  const signals = listenToSignals();
  try {
    return await untilDone(await openSitting(seat, request, options, signals));
  } finally {
    signals.close();
  }
}

async function untilDone(sitting: Sitting): Promise<number> {
  const { signals, talk, request, seat } = sitting;
  for (;;) {
    const worker = await beginWork(sitting);
    try {
      await Promise.race([talk.ended, signals.come()]);
    } finally {
      await worker.stop(STOP_MS);
    }
    // A result that came while the work was being stopped stands.
    if (talk.hasEnded()) return finish(sitting);
    const signal = signals.take() ?? "SIGINT";
    const left = await leftWork(sitting.ports, request.runId);
    seat.screen.print(
      `\nStopped: ${left.spent === null ? "the agent had not begun" : spentText(left.spent)}.`,
    );
    const later = signals.take();
    if (later !== null || signal !== "SIGINT" || !seat.hasPerson)
      return leave(sitting, left, later ?? signal);
    const next = await whatNext(sitting);
    if (next.kind === "leave") return leave(sitting, left, next.signal);
    if (next.kind === "instruct") await instruct(sitting, next.text);
  }
}

async function beginWork({ ports, seat, request }: Sitting): Promise<Worker> {
  const queue = createEmbeddedQueue({
    concurrency: { work: 1, desk: 1 },
    clock: ports.clock,
    log: seat.log,
    stopReason: "cancelled by the person at the keyboard",
  });
  const worker = createWorker({ ports, queue, name: `local-${systemIds.hex(4)}`, alone: true });
  await worker.start();
  await queue.push(request.runId, "desk");
  return worker;
}

type Next =
  | { readonly kind: "go_on" }
  | { readonly kind: "instruct"; readonly text: string }
  | { readonly kind: "leave"; readonly signal: StopSignal };

const WHAT_NEXT = "What next? g = go on, l = leave, or type what the model should know and go on: ";

/** A Ctrl-C here leaves. */
async function whatNext({ ask, signals }: Sitting): Promise<Next> {
  for (;;) {
    const asking = new AbortController();
    const line = await Promise.race([ask(WHAT_NEXT, asking.signal), signals.come().then(() => null)]);
    asking.abort();
    const signal = signals.take();
    if (signal !== null || line === null) return { kind: "leave", signal: signal ?? "SIGINT" };
    if (/^(g|go|go on)$/i.test(line)) return { kind: "go_on" };
    if (/^(l|leave|q|quit|exit)$/i.test(line)) return { kind: "leave", signal: "SIGINT" };
    if (line.length > 2) return { kind: "instruct", text: line };
  }
}

/** Recorded like a maintainer's `/revise`, so that it is not lost whatever happens next. */
async function instruct({ ports, request }: Sitting, text: string): Promise<void> {
  const { title, body } = request.issue;
  await ports.store.appendFact(request.runId, `keyboard-${ports.ids.hex(8)}`, {
    type: "command_received",
    fact: {
      command: { verb: "revise", text },
      by: request.askedBy,
      commentId: ports.clock.now(),
      issue: { title, body },
    },
  });
}
