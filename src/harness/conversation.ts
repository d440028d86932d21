/** The state of one agent round: its transcript, its counters and the signal that ends it. */

import type { Message, ToolSpec } from "#src/model/model.ts";
import { abortReason } from "./abort.ts";
import {
  type AgentEnd,
  type AgentRequest,
  type AgentState,
  NOTHING_SPENT,
  type Spent,
  type Stop,
  type ToolTally,
} from "./agent.ts";
import { type ContextPolicy, policyFor } from "./context-policy.ts";
import type { Answered } from "./dispatch.ts";
import type { NoticeKind } from "./events.ts";
import { createPrefixWatch, type PrefixWatch } from "./prefix.ts";
import { type Progress, progressOf } from "./progress.ts";
import { type CapFacts, NO_STREAKS, type Streaks } from "./stop.ts";
import { addSpent, createMeter, type Meter } from "./tokens.ts";
import { toolSpec } from "./tool-calls.ts";
import { appendUser, openCalls, seal } from "./transcript.ts";

export interface Conversation {
  readonly request: AgentRequest;
  readonly specs: readonly ToolSpec[];
  readonly meter: Meter;
  readonly prefix: PrefixWatch;
  /** Aborted by a cancel, by the wall clock, or when the run is given up. */
  readonly signal: AbortSignal;
  readonly startedAt: number;
  messages: readonly Message[];
  spent: Spent;
  streaks: Streaks;
  progress: Progress;
  /** Becomes tighter when the provider refuses what it allows. */
  context: ContextPolicy;
  /** True while the transcript should be smaller and cannot be made so. */
  full: boolean;
  /** Paths that tools wrote. */
  dirty: ReadonlySet<string>;
  tally: ReadonlyMap<string, ToolTally>;
  retries: number;
  /** What must be stored before anything follows from the next reply; null: all is stored. */
  unkept: AgentState | null;
  /** Ends what is running for a defect of ours. */
  giveUp(reason: string): void;
  /** Stops the wall clock. */
  close(): void;
}

/** Why calls that a crash left open have no result. */
export const INTERRUPTED = "interrupted by a restart";

function opening(request: AgentRequest): readonly Message[] {
  const prior = openCalls(request.prior).length > 0 ? seal(request.prior, INTERRUPTED) : request.prior;
  const system: Message = { role: "system", content: request.system };
  const start = prior[0]?.role === "system" ? prior : [system, ...prior];
  return appendUser(start, request.task);
}

export function openConversation(request: AgentRequest): Conversation {
  const ours = new AbortController();
  const { limits } = request;
  const left = Math.max(0, limits.wallClockMs - request.spent.ms);
  const close = request.clock.timer(left, () => ours.abort("the time limit was reached"));
  const specs = request.tools.map(toolSpec);
  const meter = createMeter(specs, request.tokenizer);
  const messages = opening(request);
  const room = limits.contextTokens - limits.maxOutputTokens - meter.overhead(messages);
  return {
    request,
    specs,
    meter,
    prefix: createPrefixWatch(),
    signal: AbortSignal.any([request.signal, ours.signal]),
    startedAt: request.clock.now(),
    messages,
    spent: { ...NOTHING_SPENT, ...request.spent },
    streaks: NO_STREAKS,
    progress: progressOf(messages),
    context: request.context ?? policyFor(Math.max(0, room)),
    full: false,
    dirty: new Set(),
    tally: new Map(),
    retries: 0,
    unkept: null,
    giveUp: (reason) => ours.abort(reason),
    close,
  };
}

/** What was spent, with the time up to now. */
export function spentSoFar(talk: Conversation): Spent {
  return { ...talk.spent, ms: talk.request.spent.ms + talk.request.clock.now() - talk.startedAt };
}

export function capFacts(talk: Conversation): CapFacts {
  const { limits, price } = talk.request;
  return {
    limits,
    price,
    spent: spentSoFar(talk),
    nextInputTokens: talk.meter.estimate(talk.messages),
    full: talk.full,
  };
}

/** Cancelled or out of time, told apart by which signal fired; a person's cancel comes first. */
export function stopOfAbort(talk: Conversation): Stop | null {
  const { signal } = talk.request;
  if (signal.aborted) return { status: "cancelled", message: `The run was stopped: ${abortReason(signal)}.` };
  if (talk.signal.aborted)
    return { status: "wall_clock", message: `The run was stopped: ${abortReason(talk.signal)}.` };
  return null;
}

export function addNotice(talk: Conversation, kind: NoticeKind, text: string): void {
  talk.messages = appendUser(talk.messages, text);
  talk.request.observe({ type: "notice", turn: talk.spent.turns, kind, text });
}

/** Takes in one answered call: its tally, the paths it wrote, and what it used of the run's budget itself. */
export function countCall(talk: Conversation, { call, result }: Answered): void {
  const before = talk.tally.get(call.name) ?? { ok: 0, errors: 0 };
  const after =
    result.status === "ok" ? { ...before, ok: before.ok + 1 } : { ...before, errors: before.errors + 1 };
  talk.tally = new Map(talk.tally).set(call.name, after);
  if (result.wrote !== undefined) talk.dirty = new Set([...talk.dirty, ...result.wrote]);
  if (result.spent !== undefined) talk.spent = addSpent(talk.spent, { ...result.spent, turns: 0, ms: 0 });
}

/** Where the run stands, as far as it can go on from it. */
export function stateOf(talk: Conversation): AgentState {
  return { messages: talk.messages, spent: spentSoFar(talk), dirty: pathsOf(talk) };
}

function pathsOf(talk: Conversation): readonly string[] {
  return [...talk.dirty].sort();
}

/** Seals the transcript, tells the observer, and sums up. */
export function endConversation(talk: Conversation, stop: Stop): AgentEnd {
  talk.close();
  const reason = stop.status === "cancelled" ? abortReason(talk.request.signal) : `stopped (${stop.status})`;
  const messages = seal(talk.messages, reason);
  const last = messages.at(-1);
  return {
    ...stop,
    finalText: stop.status === "done" && last?.role === "assistant" ? last.content : "",
    messages,
    spent: spentSoFar(talk),
    dirty: pathsOf(talk),
    toolCalls: Object.fromEntries(talk.tally),
    retries: talk.retries,
  };
}
