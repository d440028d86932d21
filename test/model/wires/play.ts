/** Plays turns on a wire: how the conformance cases make a server say what they need, and collect what the adapter makes of it. */

import type { Model, ModelEvent } from "#src/model/model.ts";
import type { ProviderOptions } from "#src/model/provider.ts";
import { ask, askReply } from "#test/support/ask-model.ts";
import { startWireServer, type WireExchange, type WireHandler } from "#test/support/wire-server.ts";
import type { ErrorKind, Wire, WireTurn } from "./wire.ts";

export type Case = (wire: Wire) => Promise<void>;
export type Cases = Readonly<Record<string, Case>>;

export const ONE_TRY = { retry: { tries: 1, firstDelayMs: 1, maxDelayMs: 1 } };
export const OK: WireTurn = { text: "ok" };
export const CALL = { id: "call_1", name: "read_file", args: '{"path":"那🌍"}' };

/** A 200 stream of exactly these bytes, one HTTP chunk per piece, closed properly. */
export function saying(...parts: readonly (string | Uint8Array)[]): WireHandler {
  return async (exchange) => {
    exchange.open();
    for (const part of parts) await exchange.write(part);
    exchange.end();
  };
}

/** The whole turn as the provider streams it. */
export function replying(wire: Wire, turn: WireTurn): WireHandler {
  const { content, ending } = wire.events(turn);
  return saying([...content, ...ending].join(""));
}

/** The turn without what would make it a reply; the connection is then closed properly, or dropped. */
export function cutting(wire: Wire, turn: WireTurn, how: "close" | "drop" = "close"): WireHandler {
  return async (exchange) => {
    exchange.open();
    for (const event of wire.events(turn).content) await exchange.write(event);
    if (how === "close") exchange.end();
    else exchange.drop();
  };
}

/** The turn's events, and then nothing more, until the client goes away. */
export function stalling(wire: Wire, turn: WireTurn, onOpen?: (exchange: WireExchange) => void): WireHandler {
  return async (exchange) => {
    exchange.open();
    await exchange.write(wire.events(turn).content.join(""));
    onOpen?.(exchange);
  };
}

export function refusing(
  wire: Wire,
  kind: ErrorKind,
  headers: Readonly<Record<string, string>> = {},
): WireHandler {
  const { status, body } = wire.error(kind);
  return (exchange) => exchange.answer(status, body, headers);
}

export function answering(status: number, body: object | string, headers = {}): WireHandler {
  return (exchange) => exchange.answer(status, body, headers);
}

/** Asks once, with one handler for each request in turn; how many requests arrived is told too. */
export async function play(
  wire: Wire,
  handlers: readonly WireHandler[],
  options: Partial<ProviderOptions> = {},
): Promise<{ readonly events: readonly ModelEvent[]; readonly requests: number }> {
  await using server = await startWireServer(...handlers);
  const events = await ask(wire.adapter(server.url, options));
  return { events, requests: server.exchanges.length };
}

export async function replyTo(wire: Wire, turn: WireTurn, fields: Parameters<typeof askReply>[1] = {}) {
  await using server = await startWireServer(replying(wire, turn));
  // Awaited here: the server closes when this function is left.
  return await askReply(wire.adapter(server.url, ONE_TRY), fields);
}

/** Collects while the test moves a clock. */
export function collect(model: Model, request: Parameters<Model["stream"]>[0]) {
  const events: ModelEvent[] = [];
  const waiting = new Map<string, () => void>();
  const finished = (async () => {
    for await (const event of model.stream(request)) {
      events.push(event);
      waiting.get(event.type)?.();
    }
  })();
  const first = (type: ModelEvent["type"]) =>
    new Promise<void>((resolve) => {
      if (events.some((event) => event.type === type)) resolve();
      else waiting.set(type, resolve);
    });
  return { events, finished, first };
}
