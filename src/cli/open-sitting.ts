/** Puts together what a local run works with: its ports, the person's questions, and the view of the agent. */

import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { processEnvironment } from "#src/config/environment.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import type { RunRequest } from "#src/run/run.ts";
import type { Store } from "#src/store/store.ts";
import { createAgentView } from "./agent-view.ts";
import { type AskLine, createAskLine } from "./line-prompt.ts";
import type { LocalSeat } from "./local-seat.ts";
import { openSandbox } from "./open-sandbox.ts";
import { createPausableClock } from "./pausable-clock.ts";
import { createPermissionDesk } from "./permission-desk.ts";
import { createPorts } from "./ports.ts";
import type { Signals } from "./signals.ts";
import { type TerminalConversation, terminalConversation } from "./terminal-conversation.ts";

export interface SittingOptions {
  /** Where the patch goes, absolute. */
  readonly output: string;
  /** Only states and the plan are shown. */
  readonly quiet: boolean;
  /** Nobody is asked before a call. */
  readonly yes: boolean;
}

export interface Sitting {
  readonly seat: LocalSeat;
  readonly request: RunRequest;
  readonly options: SittingOptions;
  readonly ports: FixPorts;
  readonly talk: TerminalConversation;
  readonly signals: Signals;
  readonly ask: AskLine;
}

/** Rejects when the sandbox does not work here. */
export async function openSitting(
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
