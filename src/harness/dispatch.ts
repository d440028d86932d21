/** Runs the calls of one reply and answers every one of them, in the order asked; it never throws. */

import type { Clock } from "#src/base/clock.ts";
import { headOf } from "#src/base/cut-text.ts";
import { messageOf } from "#src/base/result.ts";
import type { ToolCall } from "#src/model/model.ts";
import { abortReason, watchAbort } from "./abort.ts";
import { clip } from "./clip.ts";
import type { CallPlace, ToolResult } from "./tool.ts";
import type { Entry } from "./tool-calls.ts";

/** Read-only calls that run at the same time. */
const READS_AT_ONCE = 4;
/** How long a tool may take to notice a cancel before its call is answered without it, in ms. */
const CANCEL_GRACE_MS = 5_000;

export interface Answered {
  readonly call: ToolCall;
  /** `text` is clipped. */
  readonly result: ToolResult;
  readonly ms: number;
}

export interface DispatchContext {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Characters each result may hold. */
  readonly resultChars: number;
  /** Where calls stand in their run, for tools that want to know. */
  placeOf?(call: ToolCall): CallPlace;
  onCall(call: ToolCall): void;
  onResult(answered: Answered): void;
}

type Running = Extract<Entry, { kind: "call" }>;

function failure(text: string): ToolResult {
  return { status: "error", text };
}

async function runTool(entry: Running, { signal, placeOf }: DispatchContext): Promise<ToolResult> {
  try {
    const place = placeOf?.(entry.call);
    return await entry.tool.run(entry.args, { signal, ...(place === undefined ? {} : { place }) });
  } catch (error) {
    if (signal.aborted) return failure(`${abortReason(signal)}: this call was stopped.`);
    return failure(`${entry.call.name} itself failed: ${headOf(messageOf(error), 500)}. Try another way.`);
  }
}

/** The tool's own result, also after a cancel if it settles within the grace time: what it says is truer than a guess. */
async function runUntilCancelled(entry: Running, context: DispatchContext): Promise<ToolResult> {
  const { signal, clock } = context;
  if (signal.aborted) return failure(`${abortReason(signal)}: this call did not run.`);
  using watch = watchAbort(signal);
  const running = runTool(entry, context);
  const first = await Promise.race([running, watch.aborted]);
  if (first !== "aborted") return first;
  const { promise: graceOver, resolve } = Promise.withResolvers<ToolResult>();
  const stopTimer = clock.timer(CANCEL_GRACE_MS, () =>
    resolve(failure(`${abortReason(signal)} while this call ran; it may have had effects.`)),
  );
  const result = await Promise.race([running, graceOver]);
  stopTimer();
  return result;
}

async function answer(entry: Entry, context: DispatchContext): Promise<Answered> {
  const startedAt = context.clock.now();
  context.onCall(entry.call);
  const result = entry.kind === "error" ? failure(entry.text) : await runUntilCancelled(entry, context);
  const clipped = { ...result, text: clip(result.text || "(no output)", context.resultChars) };
  const answered = { call: entry.call, result: clipped, ms: context.clock.now() - startedAt };
  context.onResult(answered);
  return answered;
}

async function answerAtOnce(entries: readonly Entry[], context: DispatchContext): Promise<Answered[]> {
  const answers: Answered[] = [];
  let next = 0;
  const work = async () => {
    for (let place = next++; place < entries.length; place = next++) {
      const entry = entries[place];
      if (entry) answers[place] = await answer(entry, context);
    }
  };
  await Promise.all(Array.from({ length: Math.min(READS_AT_ONCE, entries.length) }, work));
  return answers;
}

function isWrite(entry: Entry): boolean {
  return entry.kind === "call" && !entry.tool.readOnly;
}

/** Neighbouring reads form one batch; each write is a batch of its own, so a read after a write sees what it wrote. */
function batches(entries: readonly Entry[]): Entry[][] {
  const all: Entry[][] = [];
  for (const entry of entries) {
    const last = all.at(-1);
    if (last && !isWrite(entry) && !last.some(isWrite)) last.push(entry);
    else all.push([entry]);
  }
  return all;
}

/** One answer for each entry, in their order; after a cancel the rest is answered without being run. */
export async function dispatch(entries: readonly Entry[], context: DispatchContext): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (const batch of batches(entries)) answers.push(...(await answerAtOnce(batch, context)));
  return answers;
}
