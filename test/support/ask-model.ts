/** Asks a model and collects what it streams: the short way for tests. */

import assert from "node:assert/strict";
import type {
  Message,
  Model,
  ModelEvent,
  ModelFailure,
  ModelRequest,
  Reply,
  ToolSpec,
} from "#src/model/model.ts";

export const READ_FILE: ToolSpec = {
  name: "read_file",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

const ASK: readonly Message[] = [
  { role: "system", content: "You fix bugs." },
  { role: "user", content: "Fix it." },
];

export function modelRequest(fields: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: ASK,
    tools: [READ_FILE],
    maxOutputTokens: 1_000,
    signal: new AbortController().signal,
    ...fields,
  };
}

/** Every event; fails the test when the stream does not end in exactly one `done` or `failed`. */
export async function ask(model: Model, fields: Partial<ModelRequest> = {}): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(modelRequest(fields))) events.push(event);
  const finals = events.filter((event) => event.type === "done" || event.type === "failed");
  assert.equal(finals.length, 1, `one final event in ${JSON.stringify(events)}`);
  assert.equal(finals[0], events.at(-1), "the final event is the last one");
  return events;
}

export async function askReply(model: Model, fields: Partial<ModelRequest> = {}): Promise<Reply> {
  return replyIn(await ask(model, fields));
}

export async function askFailure(model: Model, fields: Partial<ModelRequest> = {}): Promise<ModelFailure> {
  return failureIn(await ask(model, fields));
}

export function replyIn(events: readonly ModelEvent[]): Reply {
  const last = events.at(-1);
  assert.equal(last?.type, "done", JSON.stringify(last));
  return (last as Extract<ModelEvent, { type: "done" }>).reply;
}

export function failureIn(events: readonly ModelEvent[]): ModelFailure {
  const last = events.at(-1);
  assert.equal(last?.type, "failed", JSON.stringify(last));
  return (last as Extract<ModelEvent, { type: "failed" }>).failure;
}

export function retriesIn(events: readonly ModelEvent[]): readonly Extract<ModelEvent, { type: "retry" }>[] {
  return events.filter((event) => event.type === "retry");
}

/** The text that stands: what was streamed before a retry is void. */
export function textIn(events: readonly ModelEvent[]): string {
  const from = events.findLastIndex((event) => event.type === "retry");
  return events
    .slice(from + 1)
    .map((event) => (event.type === "text" ? event.text : ""))
    .join("");
}
