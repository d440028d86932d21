/** Sees a local run on until it ends or the person leaves: Ctrl-C stops the work in order and asks what next. */

import { writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { processEnvironment } from "#src/config/environment.ts";
import { type LeftWork, leftWork } from "#src/fix/left-work.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import { DIFF_BLOB } from "#src/fix/steps/collect.ts";
import { createEmbeddedQueue } from "#src/queue/embedded.ts";
import type { RunRequest } from "#src/run/run.ts";
import type { Store } from "#src/store/store.ts";
import { createWorker, type Worker } from "#src/worker/worker.ts";
import { createAgentView, spentText } from "./agent-view.ts";
import { type AskLine, createAskLine } from "./line-prompt.ts";
import type { LocalSeat } from "./local-seat.ts";
import { createPausableClock } from "./pausable-clock.ts";
import { createPermissionDesk } from "./permission-desk.ts";
import { createPorts, openSandbox } from "./ports.ts";
import { exitCodeOf, listenToSignals, type Signals, type StopSignal } from "./signals.ts";
import { type TerminalConversation, terminalConversation } from "./terminal-conversation.ts";

export interface SittingOptions {
  /** Where the patch goes, absolute. */
  readonly output: string;
  /** Only states and the plan are shown. */
  readonly quiet: boolean;
  /** Nobody is asked before a call. */
  readonly yes: boolean;
}

interface Sitting {
  readonly seat: LocalSeat;
  readonly request: RunRequest;
  readonly options: SittingOptions;
  readonly ports: FixPorts;
  readonly talk: TerminalConversation;
  readonly signals: Signals;
  readonly ask: AskLine;
}

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

async function openSitting(
  seat: LocalSeat,
  request: RunRequest,
  options: SittingOptions,
  signals: Signals,
): Promise<Sitting> {
  const { config, screen, redactor, log } = seat;
  const clock = createPausableClock(systemClock);
  const shared = { config, env: processEnvironment(), clock, ids: systemIds, log };
  const sandbox = await openSandbox({ ...shared, home: homedir() });
  const talk = terminalConversation((line) => screen.print(line), clock);
  const ask = createAskLine(screen, signals, systemClock);
  const ports = createPorts(
    { ...shared, sandbox, store: onlyThisRun(seat.store, request.runId), redactor },
    {
      converse: () => talk.conversation,
      gitToken: () => async () => null,
      tracePlace: (runId) => `agent-fix trace ${runId}`,
      localRepositories: [fileURLToPath(request.repository.cloneUrl)],
    },
  );
  const desk = createPermissionDesk({ screen, ask, whileThinking: clock.pausedDuring });
  const asks = seat.hasPerson && !options.yes;
  const redact = (text: string) => redactor.redact(text);
  const watched: FixPorts = {
    ...ports,
    keepWork: true,
    ...(options.quiet ? {} : { watchAgent: createAgentView(screen, redact) }),
    ...(asks ? { makeTools: (setup) => ports.makeTools(setup).map(desk.guard) } : {}),
  };
  return { seat, request, options, ports: watched, talk, signals, ask };
}

/** Other runs that were left open wait for a `resume` of their own. */
function onlyThisRun(store: Store, runId: string): Store {
  return {
    ...store,
    openRuns: async () => (await store.openRuns()).filter((run) => run.runId === runId),
  };
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

async function leave(sitting: Sitting, left: LeftWork, signal: StopSignal): Promise<number> {
  const { seat, request, options } = sitting;
  if (left.why !== null) seat.screen.print(`The change so far cannot be written as a patch: ${left.why}`);
  if (left.diff !== null && left.diff !== "") {
    await writeFile(options.output, left.diff);
    seat.screen.print(`The change so far, which nobody has checked, is in ${options.output}.`);
  }
  seat.screen.print(`To go on: agent-fix resume ${request.runId}`);
  return exitCodeOf(signal);
}

async function finish(sitting: Sitting): Promise<number> {
  const { seat, request, options, ports } = sitting;
  const code = await leavePatch(seat, request.runId, options.output);
  await endRun(seat.store, request.runId);
  await ports.workspaces.remove(request.runId, false);
  return code;
}

/** Writes the patch of a run that has its result. */
export async function leavePatch(
  { store, screen }: Pick<LocalSeat, "store" | "screen">,
  runId: string,
  output: string,
): Promise<number> {
  const diff = await store.blob(runId, DIFF_BLOB);
  if (diff === null || diff.length === 0) {
    screen.print("There is no patch.");
    return 1;
  }
  await writeFile(output, diff);
  const offered = (await store.run(runId))?.state === "awaiting_approval";
  screen.print(
    `\nThe patch is in ${output}${offered ? `; apply it with: git apply ${output}` : ", but it is not recommended (see above)"}.`,
  );
  return offered ? 0 : 1;
}

/** A local run is over when its result was shown; it never waits for an approval. */
export async function endRun(store: Store, runId: string): Promise<void> {
  const run = await store.run(runId);
  if (run === null || run.ended) return;
  const lease = await store.claim(runId, "local-end", 5_000);
  if (lease === null) return;
  await store.append(lease, [{ type: "cancelled", by: "local", why: "shutdown_of_operator" }], {
    state: "cancelled",
    ended: true,
  });
  await store.release(lease);
}
