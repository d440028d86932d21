/** Reads the body of an answer into a reply: event stream or whole JSON, with every odd ending given its name. */

import type { Assembler } from "./assemble.ts";
import { asRecord } from "./json-values.ts";
import type { Reply } from "./model.ts";
import type { StreamedEvent } from "./retry.ts";
import { createSseDecoder, type SseData } from "./sse.ts";
import type { StallWatch } from "./stall-watch.ts";

/** How the body ended. `broken`: cut off or unfinished. `error`: the provider reported it. `nonsense`: not the protocol. */
export type BodyEnd =
  /** `rest` settles when the body was read to its end, if it was not yet. */
  | { readonly type: "reply"; readonly reply: Reply; readonly rest?: Promise<void> }
  | { readonly type: "broken"; readonly reason: string }
  | { readonly type: "nonsense"; readonly reason: string }
  | { readonly type: "error"; readonly body: unknown }
  | { readonly type: "stalled" }
  | { readonly type: "aborted" };

/** Far above any reply; a body without end must not fill the memory. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const EXCERPT = 200;

/** Never throws: a failing read is an ending like the others. */
export async function* readReply(
  body: ReadableStream<Uint8Array>,
  assembler: Assembler,
  watch: StallWatch,
): AsyncGenerator<StreamedEvent, BodyEnd> {
  const reader = body.getReader();
  const decoder = createBodyDecoder();
  let size = 0;
  for (;;) {
    let read: { readonly done: boolean; readonly value?: Uint8Array | undefined };
    try {
      read = await watch.during(reader.read());
    } catch (error) {
      return interrupted(assembler, watch, error);
    }
    size += read.value?.length ?? 0;
    if (size > MAX_BODY_BYTES) return { type: "nonsense", reason: "the reply is larger than 64 MiB" };
    const items = read.value === undefined ? decoder.end() : decoder.push(read.value);
    const end = yield* foldAll(items, assembler, watch);
    if (end?.type === "reply") return { ...end, rest: drain(reader) };
    if (end !== null) return end;
    if (read.done) return closed(assembler, { sawDone: decoder.isWhole, sawNothing: !decoder.sawData });
  }
}

/** Never rejects: the reply is whole, so how its connection ends does not matter. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    return;
  }
}

/** Null: read on. */
async function* foldAll(
  items: readonly SseData[],
  assembler: Assembler,
  watch: StallWatch,
): AsyncGenerator<StreamedEvent, BodyEnd | null> {
  for (const { event, data } of items) {
    if (isDone(data)) return closed(assembler, { sawDone: true, sawNothing: false });
    const chunk = parse(data);
    if (event === "error") {
      const body = chunk === NOT_JSON ? data : chunk;
      return { type: "error", body: asRecord(body)?.error ?? body ?? data };
    }
    if (chunk === NOT_JSON) {
      return { type: "nonsense", reason: `data that is not JSON: ${data.slice(0, EXCERPT)}` };
    }
    const news = assembler.add(chunk);
    if (news.error !== null) return { type: "error", body: news.error };
    if (news.progress) watch.progress();
    if (news.reasoning !== "") yield { type: "reasoning", text: news.reasoning };
    if (news.text !== "") yield { type: "text", text: news.text };
    // Whoever reads our events may abort; between two events that show nothing nobody can.
    const shown = news.reasoning !== "" || news.text !== "";
    if (shown && watch.signal.aborted) return interrupted(assembler, watch, watch.signal.reason);
    if (assembler.over) return closed(assembler, { sawDone: true, sawNothing: false });
  }
  return null;
}

function isDone(data: string): boolean {
  return !data.startsWith("{") && data.trim() === "[DONE]";
}

const NOT_JSON = Symbol("not JSON");

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return NOT_JSON;
  }
}

function closed(
  assembler: Assembler,
  { sawDone, sawNothing }: { sawDone: boolean; sawNothing: boolean },
): BodyEnd {
  if (sawNothing) {
    return { type: "nonsense", reason: "an answer without any event of a reply" };
  }
  const end = assembler.end(sawDone);
  return end.ok ? { type: "reply", reply: end.value } : { type: "broken", reason: end.error };
}

/** A reply that had its finish reason is whole, even if the connection then broke, or stayed open without `[DONE]`. */
function interrupted(assembler: Assembler, watch: StallWatch, error: unknown): BodyEnd {
  if (watch.signal.aborted && !watch.stalled) return { type: "aborted" };
  if (assembler.finished) return closed(assembler, { sawDone: false, sawNothing: false });
  if (watch.stalled) return { type: "stalled" };
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  return { type: "broken", reason: `the connection broke in the middle of the reply (${cause})` };
}

interface BodyDecoder {
  push(bytes: Uint8Array): readonly SseData[];
  end(): readonly SseData[];
  /** The body was one JSON document, which is whole when it can be parsed. */
  readonly isWhole: boolean;
  readonly sawData: boolean;
}

/** Some servers ignore `stream: true` and answer with one JSON document, whatever type they declare; no event stream starts with a brace. */
function createBodyDecoder(): BodyDecoder {
  const sse = createSseDecoder();
  const text = new TextDecoder();
  const document: string[] = [];
  let kind: "unknown" | "events" | "document" = "unknown";
  let sawData = false;
  const noted = (items: readonly SseData[]) => {
    sawData ||= items.length > 0;
    return items;
  };
  return {
    push: (bytes) => {
      if (kind === "unknown") kind = sniff(bytes);
      if (kind !== "document") return noted(sse.push(bytes));
      document.push(text.decode(bytes, { stream: true }));
      return [];
    },
    end: () => {
      if (kind === "document") return noted([{ event: null, data: document.join("") + text.decode() }]);
      // What the end cuts off in the middle is no event; that the stream broke is said by its missing finish reason.
      return noted(sse.end().filter(({ data }) => isDone(data) || parse(data) !== NOT_JSON));
    },
    get isWhole() {
      return kind === "document";
    },
    get sawData() {
      return sawData;
    },
  };
}

function sniff(bytes: Uint8Array): "unknown" | "events" | "document" {
  for (const byte of bytes) {
    const skip = byte <= 0x20 || byte === 0xef || byte === 0xbb || byte === 0xbf;
    if (!skip) return byte === 0x7b ? "document" : "events";
  }
  return "unknown";
}
