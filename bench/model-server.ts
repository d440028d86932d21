/**
 * A worker thread with a scripted model behind HTTP: it asks for one file a turn and notes when each answer ended and the
 * next request came. In a thread of its own, so that its work is nobody's own time.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

/** What was noted of one request. */
export interface Noted {
  /** Milliseconds by the server's clock at which the request's first byte was understood, and the answer's last handed over. */
  readonly arrivedAt: number;
  endedAt: number;
  readonly body: string;
}

/** Asked for with the name of a run (the first part of its base URL's path); answered with what was noted of it. */
export interface RunNotes {
  readonly requests: readonly Noted[];
}

/** Replies that ask for a file, before the one that ends the run. */
const turns = (workerData as { readonly turns: number }).turns;
/** A model takes longer over a reply than a client over reading it, so that only the end of it is left to be read at its end. */
const THINKING_MS = 15;
const WORDS =
  "Now I look at the next file to see how the value is passed on and where it is changed. ".repeat(4);

const runs = new Map<string, Noted[]>();

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString("utf8");
}

function deltas(turn: number): readonly object[] {
  if (turn > turns) return [{ content: "Fix the value\n\nIt was wrong." }];
  const words = WORDS.match(/\S+\s/g) ?? [];
  const call = {
    index: 0,
    id: `call_${turn}`,
    type: "function",
    function: { name: "read_file", arguments: "" },
  };
  const path = JSON.stringify({ path: `src/file${turn}.ts` });
  const pieces = path.match(/.{1,6}/g) ?? [];
  return [
    ...words.map((content) => ({ content })),
    { tool_calls: [call] },
    ...pieces.map((text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
  ];
}

async function answer(response: ServerResponse, turn: number, body: string): Promise<void> {
  const send = (fields: object) =>
    response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", ...fields })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const delta of deltas(turn)) send({ choices: [{ index: 0, delta, finish_reason: null }] });
  await setTimeout(THINKING_MS);
  const finish = turn > turns ? "stop" : "tool_calls";
  send({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
  const prompt = Math.ceil(body.length / 4);
  send({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: 120, total_tokens: prompt + 120 } });
  response.end("data: [DONE]\n\n");
}

const server = createServer(async (request, response) => {
  const arrivedAt = performance.now();
  const name = request.url?.split("/")[1] ?? "";
  const body = await bodyOf(request);
  const noted: Noted = { arrivedAt, endedAt: 0, body };
  const requests = runs.get(name) ?? [];
  runs.set(name, [...requests, noted]);
  response.on("finish", () => {
    noted.endedAt = performance.now();
  });
  await answer(response, requests.length + 1, body);
});

server.listen(0, "127.0.0.1", () =>
  parentPort?.postMessage({ port: (server.address() as AddressInfo).port }),
);
parentPort?.on("message", (name: string) => {
  parentPort?.postMessage({ requests: runs.get(name) ?? [] } satisfies RunNotes);
  runs.delete(name);
});
