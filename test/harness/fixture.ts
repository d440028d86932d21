/** An agent request with everything filled in, small tools that record their calls, and the events that were observed. */

import { z } from "zod";
import type { Ids } from "#src/base/ids.ts";
import { type AgentEnd, type AgentLimits, type AgentRequest, NOTHING_SPENT } from "#src/harness/agent.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import { runAgent } from "#src/harness/loop.ts";
import type { Tool, ToolResult } from "#src/harness/tool.ts";
import { type CannedModel, cannedModel, type Step } from "#test/support/canned-model.ts";
import { createManualClock, type ManualClock } from "#test/support/manual-clock.ts";

export const LIMITS: AgentLimits = {
  turns: 50,
  totalTokens: 1_000_000,
  costUsd: null,
  wallClockMs: 30 * 60_000,
  maxOutputTokens: 1_000,
  contextTokens: 100_000,
};

/** Ids that count up, so that a transcript is the same on every run. */
export function countingIds(): Ids {
  let n = 0;
  return {
    runId: () => `run${++n}`,
    hex: (bytes) => String(++n).padStart(bytes * 2, "0"),
    callId: () => `minted${String(++n).padStart(3, "0")}`,
    chance: () => 0.5,
  };
}

export interface ToolLog {
  /** `start name value` and `end name value` lines in the order they happened. */
  readonly lines: string[];
}

function tool(
  name: string,
  readOnly: boolean,
  log: ToolLog,
  answer: (value: string, signal: AbortSignal) => Promise<ToolResult> | ToolResult,
): Tool<{ value: string; count?: number | undefined }> {
  return {
    name,
    description: `the tool ${name}`,
    schema: z.object({ value: z.string(), count: z.coerce.number().int().min(1).optional() }),
    readOnly,
    run: async ({ value }, { signal }) => {
      log.lines.push(`start ${name} ${value}`);
      const result = await answer(value, signal);
      log.lines.push(`end ${name} ${value}`);
      return result;
    },
  };
}

/** `read` (read-only), `write`, `fail` (an error result) and `crash` (throws). */
export function recordingTools(log: ToolLog): readonly Tool[] {
  return [
    tool("read", true, log, (value) => ({ status: "ok", text: `read ${value}` })),
    tool("write", false, log, (value) => ({ status: "ok", text: `wrote ${value}`, wrote: [value] })),
    tool("fail", true, log, (value) => ({ status: "error", text: `"${value}" is not possible here` })),
    tool("crash", false, log, () => {
      throw new Error("a defect of the tool");
    }),
  ];
}

export interface Played {
  readonly end: AgentEnd;
  readonly model: CannedModel;
  readonly events: readonly HarnessEvent[];
  readonly log: ToolLog;
  readonly checkpoints: readonly Parameters<AgentRequest["checkpoint"]>[0][];
}

export interface PlaySetup extends Partial<Omit<AgentRequest, "limits">> {
  readonly limits?: Partial<AgentLimits>;
  readonly clock?: ManualClock;
}

/** Runs the loop against prepared replies. */
export async function playAgent(steps: readonly Step[], setup: PlaySetup = {}): Promise<Played> {
  const model = cannedModel(steps);
  const log: ToolLog = { lines: [] };
  const events: HarnessEvent[] = [];
  const checkpoints: Parameters<AgentRequest["checkpoint"]>[0][] = [];
  const end = await runAgent({
    model,
    tools: recordingTools(log),
    system: "You fix issues.",
    task: "Fix it.",
    prior: [],
    spent: NOTHING_SPENT,
    price: null,
    clock: createManualClock(),
    ids: countingIds(),
    signal: new AbortController().signal,
    observe: (event) => void events.push(event),
    checkpoint: async (state) => void checkpoints.push(state),
    ...setup,
    limits: { ...LIMITS, ...setup.limits },
  });
  return { end, model, events, log, checkpoints };
}
