/** What sends the agent back to work within its run: a verdict against its result, or a maintainer who asked for more. */

import type { StoredEvent } from "#src/store/store.ts";
import type { RunContext } from "./run-context.ts";

/** The words with which each further round began, from the log; empty: only a maintainer's request. They are what makes the input of `solve` new. */
export function roundsSentBack(context: RunContext): readonly string[] {
  return context
    .events()
    .flatMap((stored) => (stored.event.type === "sent_back" ? [stored.event.feedback] : []));
}

/** How often a verdict has sent the agent back; rounds that only a person asked for do not count. */
export function roundsAgainst(context: RunContext): number {
  return roundsSentBack(context).filter((feedback) => feedback !== "").length;
}

/** `/revise` texts accepted while the run works, from the log, so that a restarted round hears them again. */
export function instructionsSoFar(context: RunContext): readonly string[] {
  return instructionsIn(context.events());
}

/** The same of any run's log. Pure. */
export function instructionsIn(events: readonly StoredEvent[]): readonly string[] {
  const accepted = new Map(
    events.flatMap(({ event }) =>
      event.type === "fact_handled" && event.decision === "instruct" ? [[event.seq, event.text]] : [],
    ),
  );
  return events.flatMap(({ seq, event }) => {
    if (event.type !== "command_received" || !accepted.has(seq)) return [];
    const { command } = event.fact;
    return command.verb === "revise" ? [accepted.get(seq) ?? command.text] : [];
  });
}

export interface Instructions {
  /** Those not handed over before. */
  take(): readonly string[];
  /** How many have been handed over. */
  heard(): number;
}

/** Hands over each instruction once, beginning after the first `heard`. */
export function createInstructions(context: RunContext, heard: number): Instructions {
  let given = heard;
  return {
    heard: () => given,
    take: () => {
      const fresh = instructionsSoFar(context).slice(given);
      given += fresh.length;
      return fresh;
    },
  };
}
