/** The stored form of where a run stands, one entry a turn, and what a run goes on from. Pure. */

import { z } from "zod";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import type { Message } from "#src/model/model.ts";
import { type AgentState, NOTHING_SPENT, type Spent } from "./agent.ts";
import { INTERRUPTED } from "./conversation.ts";
import type { NoticeKind } from "./events.ts";
import { todosIn, toldIn } from "./hand-over.ts";
import { checkTranscript, seal } from "./transcript.ts";

export const CHECKPOINT_VERSION = 1;

/**
 * One stored entry: what changed since the entry before it. Only after a compaction is more than a turn written, so that
 * a turn costs the same late in a run as early in it.
 */
export interface Entry {
  readonly v: typeof CHECKPOINT_VERSION;
  /** How many times the work had been sent back when it was written. */
  readonly round: number;
  /** Messages of the entry before that still stand. */
  readonly keep: number;
  readonly add: readonly Message[];
  readonly spent: Spent;
  readonly dirty: readonly string[];
}

/** A stored state: the entries up to some point put together. */
export interface Stored extends AgentState {
  readonly round: number;
}

export const NOTHING_STORED: Stored = { round: 0, messages: [], spent: NOTHING_SPENT, dirty: [] };

/** The entry that leads from `before` to `after`; messages that are the same objects are not written again. */
export function entryFor(before: Stored, after: Stored): Entry {
  let keep = 0;
  while (keep < before.messages.length && before.messages[keep] === after.messages[keep]) keep++;
  const { round, spent, dirty } = after;
  return { v: CHECKPOINT_VERSION, round, keep, add: after.messages.slice(keep), spent, dirty };
}

/** The state after one more entry. */
export function withEntry(before: Stored, entry: Entry): Stored {
  const { round, keep, add, spent, dirty } = entry;
  return { round, messages: [...before.messages.slice(0, keep), ...add], spent, dirty };
}

const TEXT = z.string();
const COUNT = z.number().nonnegative();
const FIELDS = z.record(z.string(), z.unknown());
const CALL = z.object({
  id: TEXT,
  name: TEXT,
  arguments: TEXT,
  malformed: TEXT.exactOptional(),
  extra: FIELDS.exactOptional(),
});
const MESSAGE = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content: TEXT }),
  z.object({ role: z.literal("user"), content: TEXT }),
  z.object({
    role: z.literal("assistant"),
    content: TEXT,
    calls: z.array(CALL),
    extra: FIELDS.exactOptional(),
  }),
  z.object({
    role: z.literal("tool"),
    callId: TEXT,
    name: TEXT,
    content: TEXT,
    failed: z.literal(true).exactOptional(),
  }),
]);
const ENTRY = z.object({
  v: z.literal(CHECKPOINT_VERSION),
  round: COUNT,
  keep: COUNT,
  add: z.array(MESSAGE),
  spent: z.object({
    turns: COUNT,
    inputTokens: COUNT,
    cachedTokens: COUNT,
    outputTokens: COUNT,
    estimatedRequests: COUNT,
    costUsd: COUNT.nullable(),
    ms: COUNT,
  }),
  dirty: z.array(TEXT),
});

/** Reads a stored entry; the error says what is wrong with it, e.g. that a later release wrote it. */
export function parseEntry(text: string): Result<Entry, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return err(`the checkpoint is no JSON: ${messageOf(error)}`);
  }
  const version = (value as { v?: unknown } | null)?.v;
  if (version !== CHECKPOINT_VERSION)
    return err(`the checkpoint has version ${String(version)}, this release reads ${CHECKPOINT_VERSION}`);
  const read = ENTRY.safeParse(value);
  return read.success ? ok(read.data) : err(`the checkpoint is malformed: ${z.prettifyError(read.error)}`);
}

/** What a run goes on with. */
export interface Resumed {
  /** For `AgentRequest.prior`: a valid transcript, calls that a crash left open answered as such. */
  readonly prior: readonly Message[];
  /** For `AgentRequest.spent`: what was paid stays paid. */
  readonly spent: Spent;
  /** Paths the run had written: in a clean copy they are not. */
  readonly dirty: readonly string[];
  /** Notices that are not given again; read from the transcript, as the loop reads them. */
  readonly told: ReadonlySet<NoticeKind>;
  readonly todos: string | null;
}

/** The error names the rule that the stored transcript breaks: it cannot be sent, and the run must start afresh. */
export function resume(stored: Stored): Result<Resumed, string> {
  const prior = seal(stored.messages, INTERRUPTED);
  const fault = checkTranscript(prior)[0];
  if (fault !== undefined) return err(`the stored transcript is not valid: ${fault.detail}`);
  const { spent, dirty } = stored;
  return ok({ prior, spent, dirty, told: toldIn(prior), todos: todosIn(prior) });
}
