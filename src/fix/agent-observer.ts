/** Turns what the agent loop reports into trace lines and the live numbers of the status comment. */

import type { Clock } from "#src/base/clock.ts";
import type { TraceFacts } from "#src/gate/plan-comment.ts";
import type { Spent, ToolTally } from "#src/harness/agent.ts";
import type { HarnessEvent, Purpose } from "#src/harness/events.ts";
import type { Trace, TraceOf, TracePlace } from "#src/trace/trace.ts";
import { asJson, type RunContext } from "./run-context.ts";
import type { Solved } from "./steps/solve.ts";

/** What of a run's context the observer uses. */
export interface Observed {
  readonly trace: Trace;
  readonly progress: Pick<RunContext["progress"], "setTrace">;
  readonly ports: { readonly clock: Clock };
}

/** Counts on from what earlier rounds of the run used. */
export function createAgentObserver(
  context: Observed,
  prior: Pick<Solved, "spent" | "toolCalls" | "retries"> | null,
  step = "solve",
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
    traceEvent(context.trace, event, { step, turn: event.turn });
    switch (event.type) {
      case "retry":
        return update({ retries: facts.retries + 1 });
      case "reply":
        return update(afterReply(facts, event));
      case "nested":
        if (event.event.type === "reply") update({ ...afterReply(facts, event.event), turns: facts.turns });
        return;
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

function traceEvent(trace: Trace, event: HarnessEvent, place: TracePlace): void {
  switch (event.type) {
    case "request": {
      const { messages, estimatedInputTokens, prefixStability: prefixStable } = event;
      trace.emit(
        "model_request",
        { ...purposeOf(event), messages, estimatedInputTokens, prefixStable },
        place,
      );
      break;
    }
    case "retry": {
      const { attempt, of, waitMs, reason } = event;
      trace.emit("model_retry", { attempt, of, waitMs, reason }, place);
      break;
    }
    case "reply":
      trace.emit("model_reply", tracedReply(event), place);
      break;
    case "failed":
      trace.emit(
        "model_failed",
        { code: event.failure.code, message: event.failure.message, ms: event.ms },
        place,
      );
      break;
    case "call":
      trace.emit("tool_call", { id: event.id, name: event.name, arguments: event.arguments }, place);
      break;
    case "result": {
      const { id, name, status, text, ms, wrote } = event;
      trace.emit("tool_result", { id, name, status, chars: text.length, text, ms, wrote }, place);
      break;
    }
    case "notice":
      trace.emit("notice", { text: event.text, kind: event.kind }, place);
      break;
    case "stop":
      trace.emit("stop", { status: event.status, message: event.message, turns: event.turn }, place);
      break;
    case "stubbed":
    case "compacted":
      trace.emit("context", contextChange(event), place);
      break;
    case "nested":
      traceEvent(trace, event.event, { ...place, parent: event.callId });
      break;
    default:
      // Text and reasoning arrive again, whole, with the reply.
      break;
  }
}

function purposeOf({ purpose }: { readonly purpose: Purpose }): { readonly purpose?: "note" } {
  return purpose === "note" ? { purpose } : {};
}

function contextChange(event: Extract<HarnessEvent, { type: "stubbed" | "compacted" }>): TraceOf<"context"> {
  const { before: tokensBefore, after: tokensAfter } = event.tokens;
  if (event.type === "stubbed")
    return { action: "stubbed", tokensBefore, tokensAfter, results: event.results };
  const { reason, keptTurns, noteBy, note, messages } = event;
  return {
    action: "compacted",
    tokensBefore,
    tokensAfter,
    reason,
    messagesBefore: messages.before,
    messagesAfter: messages.after,
    keptTurns,
    noteBy,
    note,
  };
}

type TracedReply = TraceOf<"model_reply">;

/** With the provider's own fields, so that the trace can be replayed. */
function tracedReply(event: Extract<HarnessEvent, { type: "reply" }>): TracedReply {
  const { reply, costUsd, estimated, ms } = event;
  const { finish, content, usage, extra } = reply;
  const calls = asJson(reply.calls) as unknown as TracedReply["calls"];
  return {
    ...purposeOf(event),
    finish,
    content,
    calls,
    usage,
    costUsd,
    estimated,
    ms,
    ...(extra === undefined ? {} : { extra: asJson(extra) as NonNullable<TracedReply["extra"]> }),
  };
}
