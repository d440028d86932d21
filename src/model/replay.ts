/** A Model that plays recorded replies and finds the first place where this run asks for something else than the recorded one. */

import { z } from "zod";
import { err, ok, type Result } from "#src/base/result.ts";
import type { Message, Model, ModelEvent, ModelRequest, Reply } from "./model.ts";
import { cancelled } from "./retry.ts";

export interface RecordedTurn {
  readonly reply: Reply;
  /** What the recorded run had asked, as far as it is known; what is left out is not compared. */
  readonly asked?: {
    /** Names of the tools on offer, in order. */
    readonly tools?: readonly string[];
    /** The messages after the last reply: the tool results, or at the start the prompt. */
    readonly news?: readonly Message[];
  };
}

export interface ReplayDifference {
  /** From 1. */
  readonly turn: number;
  /** A sentence for people: what differs. */
  readonly what: string;
  readonly recorded: string;
  readonly now: string;
}

export interface ReplayModel extends Model {
  /** The first difference so far; the replay goes on after it, since later ones usually follow from it. */
  readonly difference: ReplayDifference | null;
  /** Recorded turns that were not asked for yet. */
  readonly left: number;
}

export function createReplay(turns: readonly RecordedTurn[], modelId = "replay"): ReplayModel {
  let asked = 0;
  let difference: ReplayDifference | null = null;
  return {
    id: modelId,
    get difference() {
      return difference;
    },
    get left() {
      return Math.max(0, turns.length - asked);
    },
    stream: (request) => {
      const recorded = turns[asked];
      asked++;
      if (recorded === undefined) {
        const now = describeNews(newsOf(request.messages));
        difference ??= { turn: asked, what: "the recorded run ended before this turn", recorded: "", now };
      } else {
        difference ??= firstDifference(recorded, request, asked);
      }
      return play(recorded, request.signal, turns.length);
    },
  };
}

async function* play(
  turn: RecordedTurn | undefined,
  signal: AbortSignal,
  count: number,
): AsyncGenerator<ModelEvent> {
  if (signal.aborted) return yield cancelled(signal);
  if (turn === undefined) {
    const message = `The recording has ${count} replies and all were played; this run went another way and can't go on.`;
    return yield { type: "failed", failure: { code: "bad_request", message, status: null } };
  }
  if (turn.reply.content !== "") yield { type: "text", text: turn.reply.content };
  if (signal.aborted) return yield cancelled(signal);
  yield { type: "done", reply: turn.reply };
}

function firstDifference(
  { asked }: RecordedTurn,
  request: ModelRequest,
  turn: number,
): ReplayDifference | null {
  const tools = request.tools.map((tool) => tool.name);
  if (asked?.tools !== undefined && asked.tools.join() !== tools.join()) {
    return {
      turn,
      what: "other tools are on offer",
      recorded: asked.tools.join(", "),
      now: tools.join(", "),
    };
  }
  if (asked?.news === undefined) return null;
  const news = newsOf(request.messages);
  for (let at = 0; at < Math.max(news.length, asked.news.length); at++) {
    const [then, now] = [asked.news[at], news[at]];
    const what = messageDifference(then, now);
    if (what !== null) return { turn, what, recorded: describe(then), now: describe(now) };
  }
  return null;
}

function newsOf(messages: readonly Message[]): readonly Message[] {
  const lastReply = messages.findLastIndex((message) => message.role === "assistant");
  return messages.slice(lastReply + 1);
}

function messageDifference(then: Message | undefined, now: Message | undefined): string | null {
  if (then === undefined) return "a message was added";
  if (now === undefined) return "a message is missing";
  if (then.role !== now.role) return "a message has another role";
  if (then.role === "tool" && now.role === "tool" && then.callId !== now.callId)
    return "a result answers another call";
  if (then.content === now.content) return null;
  return then.role === "tool" ? `the result of ${then.name} differs` : `the ${then.role} message differs`;
}

function describe(message: Message | undefined): string {
  return message?.content ?? "";
}

function describeNews(news: readonly Message[]): string {
  return news.map(describe).join("\n");
}

const COUNT = z.number().nonnegative().nullable();
const FIELDS = z.record(z.string(), z.unknown());
const RECORDED_REPLY = z.object({
  content: z.string(),
  calls: z.array(
    z.object({
      id: z.string().min(1),
      name: z.string().min(1),
      arguments: z.string(),
      malformed: z.string().exactOptional(),
      extra: FIELDS.exactOptional(),
    }),
  ),
  finish: z.enum(["complete", "truncated", "refused"]),
  usage: z.object({ inputTokens: COUNT, cachedTokens: COUNT, outputTokens: COUNT }),
  extra: FIELDS.exactOptional(),
});

/** Reads the payload of a `model_reply` event of a trace; the error says which field is wrong. Unknown members are ignored. */
export function replyFromTrace(data: unknown): Result<Reply, string> {
  const read = RECORDED_REPLY.safeParse(data);
  return read.success ? ok(read.data) : err(`not a recorded reply: ${z.prettifyError(read.error)}`);
}
