/** Folds the events of Anthropic's Messages API into a reply. Pure: neither the network nor the event stream is known here. */

import { err, ok } from "#src/base/result.ts";
import { ANTHROPIC_PARTS } from "./anthropic-body.ts";
import { type Assembler, type AssemblerOptions, type ChunkNews, NO_NEWS } from "./assemble.ts";
import { asList, asRecord, asText, type JsonRecord } from "./json-values.ts";
import type { Reply } from "./model.ts";
import { asLabel, createVoice, type Part, restOf, settleParts } from "./reply-parts.ts";
import { type MessagesCounts, mergeMessagesCounts, messagesUsage } from "./usage.ts";

/** A content block while its deltas arrive; each member is joined from its pieces once, at the end. */
interface Block {
  readonly index: unknown;
  readonly start: JsonRecord;
  readonly pieces: Map<string, string[]>;
  stopped: boolean;
}

/** The member of the block that each kind of delta adds to. */
const DELTAS: Readonly<Record<string, string>> = {
  text_delta: "text",
  input_json_delta: "partial_json",
  thinking_delta: "thinking",
  signature_delta: "signature",
};

export function createAnthropicAssembler({
  modelId,
  ...options
}: AssemblerOptions & { readonly modelId: string }): Assembler {
  const blocks: Block[] = [];
  const voice = createVoice();
  let counts: MessagesCounts = {};
  let stopReason: string | null = null;
  let explanation = "";
  let over = false;

  const open = (index: unknown, start: JsonRecord): ChunkNews => {
    const block: Block = { index, start, pieces: new Map(), stopped: false };
    blocks.push(block);
    const text = voice(block, asText(start.text) ?? "");
    return { ...PROGRESS, text, reasoning: asText(start.thinking) ?? "" };
  };

  const addDelta = (event: JsonRecord): ChunkNews => {
    const delta = asRecord(event.delta) ?? {};
    const member = DELTAS[String(delta.type)];
    const block = blockOf(blocks, event.index);
    if (member === undefined || block === undefined) return PROGRESS;
    const piece = asText(delta[member]) ?? "";
    const before = block.pieces.get(member);
    if (before === undefined) block.pieces.set(member, [piece]);
    else before.push(piece);
    if (member === "text") return { ...PROGRESS, text: voice(block, piece) };
    return { ...PROGRESS, reasoning: member === "thinking" ? piece : "" };
  };

  /** The end of a message, as its own event or in a whole answer. */
  const close = (fields: JsonRecord | null): void => {
    stopReason = asText(fields?.stop_reason) ?? stopReason;
    explanation = asText(asRecord(fields?.stop_details)?.explanation) ?? explanation;
  };

  const begin = (message: JsonRecord | null): ChunkNews => {
    counts = mergeMessagesCounts(counts, asRecord(message?.usage));
    const news = asList(message?.content).map((block, at) => open(at, asRecord(block) ?? {}));
    const joined = (name: "text" | "reasoning") => news.map((one) => one[name]).join("");
    return { ...PROGRESS, text: joined("text"), reasoning: joined("reasoning") };
  };

  const add = (event: JsonRecord): ChunkNews => {
    switch (event.type) {
      case "message_start":
        return begin(asRecord(event.message));
      case "content_block_start":
        return open(event.index, asRecord(event.content_block) ?? {});
      case "content_block_delta":
        return addDelta(event);
      case "content_block_stop": {
        const block = blockOf(blocks, event.index);
        if (block !== undefined) block.stopped = true;
        return PROGRESS;
      }
      case "message_delta":
        counts = mergeMessagesCounts(counts, asRecord(event.usage));
        close(asRecord(event.delta));
        return PROGRESS;
      case "message_stop":
        over = true;
        return PROGRESS;
      case "message": {
        const news = begin(event);
        close(event);
        over = true;
        return news;
      }
      default:
        // `ping`, and whatever else may come later: it says nothing about the reply.
        return NO_NEWS;
    }
  };

  return {
    add: (raw) => {
      const event = asRecord(raw);
      if (event === null) return NO_NEWS;
      const isError = event.type === "error" || (event.type === undefined && event.error);
      return isError ? { ...NO_NEWS, error: event.error ?? event } : add(event);
    },
    get finished() {
      return stopReason !== null;
    },
    get over() {
      return over && stopReason !== null;
    },
    end: () => {
      if (stopReason === null) return err("the stream closed before the reply was finished");
      const settled = settleParts(blocks.flatMap(partOf), { ...options, field: ANTHROPIC_PARTS, modelId });
      const content = settled.content === "" ? explanation : settled.content;
      return ok({ ...settled, content, finish: readFinish(stopReason), usage: messagesUsage(counts) });
    },
  };
}

const PROGRESS: ChunkNews = { ...NO_NEWS, progress: true };

/** `pause_turn`: the provider paused a long turn and wants to be asked again, as after any other reply that is not whole. */
function readFinish(reason: string): Reply["finish"] {
  if (reason === "refusal") return "refused";
  const cutOff = ["max_tokens", "model_context_window_exceeded", "pause_turn"];
  return cutOff.includes(reason) ? "truncated" : "complete";
}

/** Some servers leave the index out, or use one again for the next block: the last block that is open, else the last. */
function blockOf(blocks: readonly Block[], index: unknown): Block | undefined {
  const named = blocks.findLast((block) => block.index === index);
  return named ?? blocks.findLast((block) => !block.stopped) ?? blocks.at(-1);
}

function joined(block: Block, member: string): string {
  return (asText(block.start[member]) ?? "") + (block.pieces.get(member)?.join("") ?? "");
}

function partOf(block: Block): readonly Part[] {
  const { start } = block;
  const known = ["type", "text", "id", "name", "input"];
  switch (start.type) {
    case "text": {
      const text = joined(block, "text");
      return text === "" ? [] : [{ kind: "text", text, rest: restOf(start, ["type", "text"]) }];
    }
    case "tool_use":
      return [
        {
          kind: "call",
          id: asLabel(start.id),
          name: asText(start.name) ?? "",
          arguments: inputText(block),
          rest: restOf(start, known),
        },
      ];
    case undefined:
      return [];
    default:
      return [{ kind: "raw", item: settleRaw(block) }];
  }
}

/** Pieces win over what the block began with, which is `{}` unless a server sent the whole input at once. */
function inputText(block: Block): string {
  const streamed = block.pieces.get("partial_json")?.join("") ?? "";
  if (streamed.trim() !== "") return streamed;
  const { input } = block.start;
  return typeof input === "string" ? input : JSON.stringify(input ?? {});
}

/** Thinking and every block that is not ours: as it began, with what its deltas added. */
function settleRaw(block: Block): JsonRecord {
  const added = ["thinking", "signature"].filter((member) => block.pieces.has(member));
  return { ...block.start, ...Object.fromEntries(added.map((member) => [member, joined(block, member)])) };
}
