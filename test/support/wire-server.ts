/** A fake model provider at byte level: tests decide what is written, in which pieces, and when the socket is dropped. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface WireExchange {
  /** Counts requests from 1. */
  readonly n: number;
  /** The request's body as JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage["headers"];
  /** Path of the request, e.g. `/v1/chat/completions`. */
  readonly path: string;
  /** Names the client's connection. */
  readonly connection: string;
  /** Begins a 200 event stream. */
  open(contentType?: string): void;
  /** One HTTP chunk per call, so that the client reads it by itself; resolves when it was handed to the socket. */
  write(bytes: string | Uint8Array): Promise<void>;
  /** `data: <json>\n\n` for each. */
  events(...chunks: readonly unknown[]): Promise<void>;
  end(bytes?: string): void;
  /** A whole answer: objects as JSON, text as it is. */
  answer(status: number, body: object | string, headers?: Readonly<Record<string, string>>): void;
  /** Cuts the connection without closing the stream. */
  drop(): void;
  /** Resolves when the client has gone away or the answer is over. */
  readonly closed: Promise<void>;
}

export interface WireServer {
  /** Base URL with the version. */
  readonly url: string;
  readonly exchanges: readonly WireExchange[];
  /** The bodies of all requests so far. */
  bodies(): readonly Readonly<Record<string, unknown>>[];
  /** The `messages` of the request with this number, from 1. */
  messages(n: number): readonly Readonly<Record<string, unknown>>[];
  [Symbol.asyncDispose](): Promise<void>;
}

export type WireHandler = (exchange: WireExchange) => void | Promise<void>;

/** `handlers`: one for each request in turn, the last one for all that follow. */
export async function startWireServer(...handlers: readonly WireHandler[]): Promise<WireServer> {
  const exchanges: WireExchange[] = [];
  const server = createServer(async (request, response) => {
    const body = await readJson(request);
    const exchange = createExchange({ request, response, body, n: exchanges.length + 1 });
    exchanges.push(exchange);
    await handlers[Math.min(exchange.n, handlers.length) - 1]?.(exchange);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    exchanges,
    bodies: () => exchanges.map((exchange) => exchange.body),
    messages: (n) => exchanges[n - 1]?.body.messages as readonly Readonly<Record<string, unknown>>[],
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Parts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Readonly<Record<string, unknown>>;
  readonly n: number;
}

function createExchange({ request, response, body, n }: Parts): WireExchange {
  response.on("error", () => undefined);
  request.socket.setNoDelay(true);
  const write = (bytes: string | Uint8Array) =>
    new Promise<void>((resolve) => {
      if (response.destroyed) resolve();
      else response.write(bytes, () => resolve());
    });
  return {
    n,
    body,
    headers: request.headers,
    path: request.url ?? "",
    connection: String(request.socket.remotePort),
    open: (contentType = "text/event-stream") => {
      response.writeHead(200, { "content-type": contentType });
      response.flushHeaders();
    },
    write,
    events: async (...chunks) => {
      for (const chunk of chunks) await write(`data: ${JSON.stringify(chunk)}\n\n`);
    },
    end: (bytes) => {
      response.end(bytes);
    },
    answer: (status, answer, headers = {}) => {
      const json = typeof answer !== "string";
      response.writeHead(status, { "content-type": json ? "application/json" : "text/plain", ...headers });
      response.end(json ? JSON.stringify(answer) : answer);
    },
    drop: () => {
      request.socket.destroy();
    },
    closed: new Promise((resolve) => response.once("close", () => resolve())),
  };
}

async function readJson(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const text = Buffer.concat(parts).toString("utf8");
  return text === "" ? {} : JSON.parse(text);
}

/** A chunk with one delta, as every provider sends it. */
export function delta(fields: Readonly<Record<string, unknown>>, finish: string | null = null): object {
  return { choices: [{ index: 0, delta: fields, finish_reason: finish }] };
}

/** A chunk with pieces of tool calls. */
export function callDelta(...calls: readonly object[]): object {
  return delta({ tool_calls: calls });
}
