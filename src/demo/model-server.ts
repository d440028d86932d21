/** A scripted model behind the real protocol: an OpenAI-compatible HTTP server, as strict about transcripts as the strictest provider. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "#src/base/clock.ts";
import { type Ids, systemIds } from "#src/base/ids.ts";
import {
  type ChatRequest,
  chunksOf,
  documentOf,
  refuseRequest,
  type ServedReply,
  type WireCall,
  type WireMessage,
  type WireTool,
} from "./model-protocol.ts";

/** What the model says to one request. */
export interface ServedTurn {
  readonly text?: string;
  readonly calls?: readonly {
    readonly name: string;
    readonly args: Readonly<Record<string, unknown>> | string;
  }[];
  /** Default `tool_calls` when there are calls, else `stop`. */
  readonly finish?: string;
  /** An HTTP error instead of a reply. */
  readonly status?: number;
  readonly error?: { readonly message: string; readonly type?: string; readonly code?: string | null };
  /** Headers of such an error, e.g. `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Says its text and then nothing more, until the client goes away. */
  readonly hang?: boolean;
}

export type ModelScript = (messages: readonly WireMessage[], tools: readonly WireTool[]) => ServedTurn;

export interface ModelServerOptions {
  readonly script: ModelScript;
  readonly ids?: Pick<Ids, "callId" | "hex">;
  /** When given, requests need `Authorization: Bearer <key>`. */
  readonly key?: string;
  /** Names that `GET /v1/models` lists; others are refused when given. Default: every name is taken. */
  readonly models?: readonly string[];
  /** A pause between two chunks, so that people can watch. */
  readonly pace?: { readonly clock: Clock; readonly ms: number };
}

export interface RecordedRequest {
  readonly path: string;
  readonly authorization: string | null;
  /** Parsed JSON; null when it could not be parsed. */
  readonly body: unknown;
  /** The status it was answered with. */
  readonly status: number;
}

export interface ModelServer {
  /** Base URL with the version: `http://127.0.0.1:<port>/v1`. */
  readonly url: string;
  requests(): readonly RecordedRequest[];
  /** Ends open streams too. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** The settings by which the program finds such a server, whatever the operator's own model is. */
export function scriptedModelSettings(url: string, key: string): Readonly<Record<string, string>> {
  const protocol = { MODEL_API: "chat", MODEL_TOOL_PROTOCOL: "native" };
  return { ...protocol, OPENAI_BASE_URL: url, OPENAI_API_KEY: key, OPENAI_MODEL: "scripted" };
}

export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const recorded: RecordedRequest[] = [];
  const server = createServer((request, response) => {
    // A client that goes away in the middle is an ordinary event here.
    response.on("error", () => undefined);
    serve(options, recorded, { request, response }).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests: () => [...recorded],
    close: () => closeServer(server),
  };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function serve(
  options: ModelServerOptions,
  recorded: RecordedRequest[],
  exchange: Exchange,
): Promise<void> {
  const { request, response } = exchange;
  const path = new URL(request.url ?? "/", "http://localhost").pathname;
  const text = await readBody(request);
  const body = text === null ? null : parseJson(text);
  const refusal = refuse(options, { request, path, body, tooLarge: text === null });
  const turn =
    refusal === null && path.endsWith("/chat/completions") ? ask(options, body as ChatRequest) : null;
  const failure =
    refusal ?? (turn?.status !== undefined || turn?.error !== undefined ? failureOf(turn) : null);
  const authorization = request.headers.authorization ?? null;
  recorded.push({ path, authorization, body, status: failure?.status ?? 200 });

  if (failure !== null) return sendJson(response, failure.status, { error: failure.error }, failure.headers);
  if (turn === null) return sendJson(response, 200, modelList(options.models ?? ["scripted"]));
  await sendTurn(options, response, { asked: body as ChatRequest, turn });
}

interface Failure {
  readonly status: number;
  readonly error: { readonly message: string; readonly type: string; readonly code: string | null };
  readonly headers?: Readonly<Record<string, string>>;
}

interface Received {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly body: unknown;
  readonly tooLarge: boolean;
}

function refuse(
  { key, models }: ModelServerOptions,
  { request, path, body, tooLarge }: Received,
): Failure | null {
  const invalid = (status: number, message: string, code: string | null = null): Failure => ({
    status,
    error: { message, type: "invalid_request_error", code },
  });
  if (key !== undefined && request.headers.authorization !== `Bearer ${key}`) {
    return invalid(401, "Incorrect API key provided.", "invalid_api_key");
  }
  if (request.method === "GET" && path === "/v1/models") return null;
  if (request.method !== "POST" || path !== "/v1/chat/completions")
    return invalid(404, `Unknown request URL: ${path}`);
  if (tooLarge) return invalid(413, "The body is too large.");
  const refusal = refuseRequest(body);
  if (refusal !== null) return invalid(400, refusal);
  const { model } = body as ChatRequest;
  if (models !== undefined && !models.includes(model)) {
    return invalid(404, `The model \`${model}\` does not exist.`, "model_not_found");
  }
  return null;
}

/** A script that throws is told to the client as the server's error, so that the test or demo shows it. */
function ask({ script }: ModelServerOptions, { messages, tools }: ChatRequest): ServedTurn {
  try {
    return script(messages, tools ?? []);
  } catch (error) {
    return { status: 500, error: { message: `the script failed: ${String(error)}` } };
  }
}

function failureOf({ status = 500, error, headers }: ServedTurn): Failure {
  const type = error?.type ?? (status >= 500 ? "server_error" : "invalid_request_error");
  return {
    status,
    error: { message: error?.message ?? `scripted error ${status}`, type, code: error?.code ?? null },
    ...(headers === undefined ? {} : { headers }),
  };
}

interface TurnToSend {
  readonly asked: ChatRequest;
  readonly turn: ServedTurn;
}

async function sendTurn(
  options: ModelServerOptions,
  response: ServerResponse,
  { asked, turn }: TurnToSend,
): Promise<void> {
  const reply = replyTo(asked, turn, options.ids ?? systemIds);
  if (asked.stream !== true) {
    if (turn.hang !== true) sendJson(response, 200, documentOf(reply));
    return;
  }
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
  const chunks = chunksOf(reply, asked.stream_options?.include_usage === true);
  // A hanging turn never says why it stopped.
  const sent =
    turn.hang === true
      ? chunks.slice(0, chunks.length - (asked.stream_options?.include_usage ? 2 : 1))
      : chunks;
  for (const chunk of sent) {
    if (response.destroyed) return;
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if (options.pace !== undefined) await options.pace.clock.sleep(options.pace.ms);
  }
  if (turn.hang !== true) response.end("data: [DONE]\n\n");
}

function replyTo(
  { model, messages }: ChatRequest,
  turn: ServedTurn,
  ids: Pick<Ids, "callId" | "hex">,
): ServedReply {
  const calls = (turn.calls ?? []).map(
    ({ name, args }): WireCall => ({
      id: `call_${ids.callId()}`,
      type: "function",
      function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
    }),
  );
  const text = turn.text ?? "";
  const [prompt, completion] = [tokens(JSON.stringify(messages)), tokens(text + JSON.stringify(calls))];
  return {
    id: `chatcmpl-${ids.hex(8)}`,
    model,
    text,
    calls,
    finish: turn.finish ?? (calls.length > 0 ? "tool_calls" : "stop"),
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  };
}

/** Four characters a token: near enough for a server that counts nothing else. */
function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function modelList(names: readonly string[]): object {
  return {
    object: "list",
    data: names.map((id) => ({ id, object: "model", created: 0, owned_by: "agent-fix" })),
  };
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Null when the body is larger than the limit; the rest of it is read and dropped. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size <= MAX_BODY_BYTES) parts.push(part);
  }
  return size > MAX_BODY_BYTES ? null : Buffer.concat(parts).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
