/** Turns what the agent loop reports into trace lines and the live numbers of the status comment. */

import type { HarnessEvent } from "#src/harness/events.ts";
import type { TraceFacts } from "#src/gate/plan-comment.ts";
import type { Spent, ToolTally } from "#src/harness/agent.ts";
import type { RunContext } from "./run-context.ts";
import type { Solved } from "./steps/solve.ts";

/** Counts on from what earlier rounds of the run used. */
export function createAgentObserver(
  context: RunContext,
  prior: Pick<Solved, "spent" | "toolCalls" | "retries"> | null,
): (event: HarnessEvent) => void {
  const startedAt = context.ports.clock.now();
  const tallies: Record<string, ToolTally> = { ...(prior?.toolCalls ?? {}) };
  let facts = factsOf(prior?.spent ?? null, tallies, prior?.retries ?? 0, "working");
  const update = (change: Partial<TraceFacts>) => {
    const wallMs = (prior?.spent.ms ?? 0) + context.ports.clock.now() - startedAt;
    facts = { ...facts, ...change, toolCalls: { ...tallies }, wallMs };
    context.progress.setTrace(facts);
  };
  return (event) => {
    traceEvent(context, event);
    switch (event.type) {
      case "retry":
        return update({ retries: facts.retries + 1 });
      case "reply":
        return update(afterReply(facts, event));
      case "result": {
        const before = tallies[event.name] ?? { ok: 0, errors: 0 };
        const failed = event.status === "error" ? 1 : 0;
        tallies[event.name] = { ok: before.ok + 1 - failed, errors: before.errors + failed };
        return update({});
      }
      case "stop":
        return update({ stop: event.status });
      default:
        return;
    }
  };
}

export function factsOf(
  spent: Spent | null,
  toolCalls: Readonly<Record<string, ToolTally>>,
  retries: number,
  stop: string,
): TraceFacts {
  return {
    turns: spent?.turns ?? 0,
    toolCalls,
    inputTokens: spent?.inputTokens ?? 0,
    cachedTokens: spent?.cachedTokens ?? 0,
    outputTokens: spent?.outputTokens ?? 0,
    costUsd: spent === null ? 0 : spent.costUsd,
    wallMs: spent?.ms ?? 0,
    retries,
    stop,
  };
}

function afterReply(facts: TraceFacts, event: Extract<HarnessEvent, { type: "reply" }>): Partial<TraceFacts> {
  const { usage } = event.reply;
  return {
    turns: event.turn,
    inputTokens: (facts.inputTokens ?? 0) + (usage.inputTokens ?? 0),
    cachedTokens: (facts.cachedTokens ?? 0) + (usage.cachedTokens ?? 0),
    outputTokens: (facts.outputTokens ?? 0) + (usage.outputTokens ?? 0),
    costUsd: facts.costUsd === null || event.costUsd === null ? null : facts.costUsd + event.costUsd,
  };
}

function traceEvent(context: RunContext, event: HarnessEvent): void {
  const place = { step: "solve", turn: event.turn };
  const { trace } = context;
  switch (event.type) {
    case "request":
      return trace.emit(
        "model_request",
        {
          messages: event.messages,
          estimatedInputTokens: event.estimatedInputTokens,
          prefixStable: event.prefixStability,
        },
        place,
      );
    case "retry":
      return trace.emit(
        "model_retry",
        { attempt: event.attempt, of: event.of, waitMs: event.waitMs, reason: event.reason },
        place,
      );
    case "reply": {
      const { finish, content, calls, usage } = event.reply;
      return trace.emit(
        "model_reply",
        {
          finish,
          content,
          calls: calls.map((call) => ({ id: call.id, name: call.name, arguments: call.malformed ?? call.arguments })),
          usage: { ...usage },
          costUsd: event.costUsd,
          ms: event.ms,
        },
        place,
      );
    }
    case "failed":
      return trace.emit("model_failed", { code: event.failure.code, message: event.failure.message }, place);
    case "call":
      return trace.emit("tool_call", { id: event.id, name: event.name, arguments: event.arguments }, place);
    case "result":
      return trace.emit(
        "tool_result",
        {
          id: event.id,
          name: event.name,
          status: event.status,
          chars: event.text.length,
          text: event.text,
          ms: event.ms,
        },
        place,
      );
    case "notice":
      return trace.emit("notice", { text: event.text }, place);
    case "stop":
      return trace.emit("stop", { status: event.status, message: event.message, turns: event.turn }, place);
    default:
      // Text and reasoning arrive again, whole, with the reply.
      return;
  }
}
