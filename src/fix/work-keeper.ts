/** Keeps the agent's work while a round goes on: every turn as a checkpoint, and, where it is asked for, the files that belong to it. */

import type { AgentState, ToolTally } from "#src/harness/agent.ts";
import type { Tool } from "#src/harness/tool.ts";
import type { Message } from "#src/model/model.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { keepRest, markStopped, type RestingPlace } from "./resting-place.ts";
import type { RunContext } from "./run-context.ts";

export interface WorkKeeper {
  /** The tool as the agent gets it; the keeper notices that it may have changed files. */
  noticing(tool: Tool): Tool;
  /** Stores a turn; rejects when the lease is lost. */
  save(state: AgentState): Promise<void>;
  /** Stores the sealed end of a round that was stopped; its session must be closed. */
  stopped(state: AgentState): Promise<void>;
}

export interface KeptWork {
  readonly checkpoints: Checkpoints;
  /** Where this sitting began. */
  readonly from: RestingPlace;
  readonly directory: string;
  readonly baseSha: string;
  /** What set-up left changed. */
  readonly noise: readonly string[];
  /** Paths edited through a tool, over all rounds. */
  readonly edited: ReadonlySet<string>;
  readonly heard: () => number;
}

export function createWorkKeeper(context: RunContext, work: KeptWork): WorkKeeper {
  const { checkpoints, from, directory, heard } = work;
  const files = createTreeWatch(context, work);
  const withEarlier = (state: AgentState): AgentState =>
    from.midRound ? { ...state, dirty: [...new Set([...from.stored.dirty, ...state.dirty])].sort() } : state;
  return {
    noticing: (tool) =>
      tool.readOnly
        ? tool
        : {
            ...tool,
            run: (args, call) => {
              files.touched();
              return tool.run(args, call);
            },
          },
    save: async (state) => {
      const rest = { heard: heard() };
      await checkpoints.save(withEarlier(state));
      const checkpoint = checkpoints.count();
      if (context.ports.keepWork !== true) return;
      const tree = await files.tree();
      if (tree !== null) await keepRest(context, checkpoint, { ...rest, treeId: tree.id });
    },
    stopped: async (state) => {
      await checkpoints.save(withEarlier(state));
      await markStopped(context, { checkpoint: checkpoints.count(), directory, heard: heard() });
    },
  };
}

/** The tree of the directory, built anew only after something may have written there. */
function createTreeWatch(context: RunContext, work: KeptWork) {
  const { from, directory, baseSha, noise, edited } = work;
  // Of a directory that was taken over as it stood, no tree is known yet.
  let known: { readonly id: string | null } | null = from.directory === null ? { id: from.treeId } : null;
  return {
    touched: () => {
      known = null;
    },
    /** Null when it cannot be built now: then an earlier turn is where a killed run goes on from. */
    tree: async () => {
      if (known !== null || context.signal.aborted) return known;
      const built = await context.ports.workspaces.buildTree({
        runId: context.runId,
        repositoryId: context.request.repository.id,
        baseSha,
        directory,
        edited: [...edited],
        noise,
      });
      if (built.ok) known = { id: built.value.treeId };
      else context.ports.log.debug({ reason: built.error.message }, "the work of a turn could not be kept");
      return known;
    },
  };
}

/** The calls that a part of a transcript answered, by tool. */
export function talliesIn(messages: readonly Message[]): Readonly<Record<string, ToolTally>> {
  const tallies: Record<string, ToolTally> = {};
  for (const message of messages) {
    if (message.role !== "tool") continue;
    const before = tallies[message.name] ?? { ok: 0, errors: 0 };
    const failed = message.failed === true ? 1 : 0;
    tallies[message.name] = { ok: before.ok + 1 - failed, errors: before.errors + failed };
  }
  return tallies;
}

export function addTallies(
  one: Readonly<Record<string, ToolTally>>,
  other: Readonly<Record<string, ToolTally>>,
): Readonly<Record<string, ToolTally>> {
  const sum = { ...one };
  for (const [name, tally] of Object.entries(other)) {
    const before = sum[name] ?? { ok: 0, errors: 0 };
    sum[name] = { ok: before.ok + tally.ok, errors: before.errors + tally.errors };
  }
  return sum;
}

/** What the model is told when its work goes on in the middle of a round. */
export function goesOn({ directory }: RestingPlace): string {
  return directory === null
    ? "[harness] The work was interrupted here and goes on now, in a fresh copy of the repository with your edits as they were after your last turn. Caches, build output and new files that commands made are gone: make them again if you need them."
    : "[harness] The work was stopped here and goes on now. The files are as you left them; a call that was stopped may have done part of its work.";
}
