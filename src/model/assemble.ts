/** Folds the chunks of one chat completion into a reply; what an assembler is, for every API. Pure: neither the network nor the event stream is known here. */

import type { Ids } from "#src/base/ids.ts";
import { err, ok, type Result } from "#src/base/result.ts";
import { createCallSlots } from "./call-slots.ts";
import { asList, asRecord, asText, type JsonRecord } from "./json-values.ts";
import { createMessageExtra } from "./message-extra.ts";
import type { Reply } from "./model.ts";
import { mergeUsage, UNKNOWN_USAGE } from "./usage.ts";

export interface AssemblerOptions {
  readonly ids: Ids;
  /** Ids of calls that are in the transcript already; a reply that uses one of them again gets a new one. */
  readonly usedCallIds: ReadonlySet<string>;
  /** Names of the tools on offer: they tell a name in pieces from two names. */
  readonly toolNames: ReadonlySet<string>;
}

/** What one chunk brought. */
export interface ChunkNews {
  readonly text: string;
  readonly reasoning: string;
  /** The provider reported an error in the middle of the stream (FAULTS A13): its body, as it came. */
  readonly error: unknown;
  /** False for chunks that only keep the connection open; they must not reset an idle timer. */
  readonly progress: boolean;
}

export interface Assembler {
  /** Folds one parsed chunk, of a stream (`delta`) or whole (`message`). Accepts any JSON value. */
  add(chunk: unknown): ChunkNews;
  /** The provider said why it stopped. What comes after that can only be usage. */
  readonly finished: boolean;
  /** Nothing can come any more, however long the stream stays open. */
  readonly over: boolean;
  /**
   * The reply, or the reason why these chunks are none. `sawDone`: the stream was closed by `[DONE]`.
   * Without a finish reason a stream counts only if `[DONE]` closed it and nothing is half there (FAULTS A14).
   */
  end(sawDone: boolean): Result<Reply, string>;
}

export const NO_NEWS: ChunkNews = { text: "", reasoning: "", error: null, progress: false };
/** Pieces of a call's arguments: nothing of it is shown, and there are tens of thousands in a long reply. */
const SILENT_PROGRESS: ChunkNews = { ...NO_NEWS, progress: true };

export function createAssembler(options: AssemblerOptions): Assembler {
  const calls = createCallSlots(options.toolNames, options.ids);
  const extra = createMessageExtra();
  const text: string[] = [];
  let refusal = "";
  let finishReason: string | null = null;
  let usage = UNKNOWN_USAGE;

  const addMessage = (message: JsonRecord): ChunkNews => {
    const content = readContent(message.content);
    if (content.text !== "") text.push(content.text);
    refusal += asText(message.refusal) ?? "";
    for (const call of asList(message.tool_calls)) calls.add(call);
    // The form of 2023, still sent by some servers.
    if (asRecord(message.function_call) !== null) calls.add({ index: 0, function: message.function_call });
    const reasoning = content.reasoning + extra.add(message);
    if (content.text === "" && reasoning === "") return SILENT_PROGRESS;
    return { text: content.text, reasoning, error: null, progress: true };
  };

  return {
    add: (raw) => {
      const chunk = asRecord(raw);
      if (chunk === null) return NO_NEWS;
      const choice = asRecord(asList(chunk.choices)[0]);
      const error = findError(chunk, choice);
      if (error !== null) return { ...NO_NEWS, error };
      const before = usage;
      usage = mergeUsage(usage, chunk);
      if (choice === null) return { ...NO_NEWS, progress: usage !== before };
      const delta = asRecord(choice.delta);
      // Some servers repeat the whole message in the last chunk; it counts only when nothing came in pieces.
      const repeatsAll = delta === null && (text.length > 0 || calls.count > 0);
      const message = delta ?? (repeatsAll ? null : asRecord(choice.message));
      finishReason = asText(choice.finish_reason) ?? finishReason;
      return message === null ? SILENT_PROGRESS : addMessage(message);
    },
    get finished() {
      return finishReason !== null;
    },
    // Usage may follow the finish reason; only `[DONE]` and the end of the stream say that nothing comes.
    over: false,
    end: (sawDone) => {
      const content = text.join("") + refusal;
      const broken = whyBroken({
        finishReason,
        sawDone,
        empty: content === "" && calls.count === 0,
        whole: calls.complete,
      });
      if (broken !== null) return err(broken);
      const fields = extra.settle();
      return ok({
        content,
        calls: calls.settle(options.usedCallIds),
        finish: refusal === "" ? readFinish(finishReason) : "refused",
        usage,
        ...(fields === null ? {} : { extra: fields }),
      });
    },
  };
}

interface Ending {
  readonly finishReason: string | null;
  readonly sawDone: boolean;
  readonly empty: boolean;
  readonly whole: boolean;
}

/** Null when the ending is a proper one. */
function whyBroken({ finishReason, sawDone, empty, whole }: Ending): string | null {
  if (finishReason === "error" || finishReason === "abort") {
    return `the provider gave up in the middle of its reply (finish_reason "${finishReason}")`;
  }
  if (finishReason !== null) return null;
  if (!sawDone) return "the stream closed before the reply was finished";
  if (empty) return "the stream ended without a reply";
  return whole ? null : "the stream ended in the middle of a tool call";
}

/** Whether calls are run is decided by their presence, never by the finish reason (FAULTS A10); only cut-off and refusal matter. */
function readFinish(reason: string | null): Reply["finish"] {
  const word = reason?.toLowerCase();
  if (word === "length" || word === "max_tokens" || word === "model_length") return "truncated";
  if (word === "content_filter" || word === "safety" || word === "refusal") return "refused";
  return "complete";
}

/** Text, or a list of parts as Mistral's reasoning models send it. */
function readContent(content: unknown): { readonly text: string; readonly reasoning: string } {
  if (typeof content === "string") return { text: content, reasoning: "" };
  if (content === undefined || content === null) return NO_NEWS;
  let text = "";
  let reasoning = "";
  for (const part of asList(content).map(asRecord)) {
    if (part?.type === "thinking") reasoning += asText(part.thinking) ?? readContent(part.thinking).text;
    else text += asText(part?.text) ?? "";
  }
  return { text, reasoning };
}

/** At the top of the chunk, on its choice (OpenRouter), or the chunk itself (`object: "error"`, vLLM). */
function findError(chunk: JsonRecord, choice: JsonRecord | null): unknown {
  if (saysSomething(chunk.error)) return chunk.error;
  if (saysSomething(choice?.error)) return choice?.error;
  if (chunk.object === "error" || chunk.type === "error") return chunk;
  return null;
}

function saysSomething(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== "";
}
