/** What the conformance suite needs to know of an API's wire: how a reply, an error and a request look in bytes. */

import type { Assembler, AssemblerOptions } from "#src/model/assemble.ts";
import type { Model } from "#src/model/model.ts";
import type { ProviderOptions } from "#src/model/provider.ts";

/** A call as a server sends it; `args` is raw text. */
export interface WireCall {
  readonly id: string | null;
  readonly name: string;
  readonly args: string;
  /** Further fields of the call that we do not know. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

export interface WireTurn {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly WireCall[];
  /** Pieces of the calls alternate. */
  readonly interleaved?: boolean;
  readonly finish?: "complete" | "truncated" | "refused";
  /** The stop reason names no calls although there are some. */
  readonly stopsLikeText?: boolean;
  readonly usage?: { readonly input: number; readonly cached: number; readonly output: number };
}

/** The events of a turn, each with its blank line. */
export interface WireEvents {
  readonly content: readonly string[];
  /** The turn is a reply only with these. */
  readonly ending: readonly string[];
}

export type ErrorKind =
  | "overloaded"
  | "rate_limited"
  | "quota"
  | "overflow"
  | "overflow_in_words"
  | "bad_request"
  | "unauthorized";

/** A request as it arrived, in terms of no API. */
export interface SentTurn {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  /** Of an assistant's turn: id, name and arguments as an object. */
  readonly calls?: readonly (readonly [string, string, unknown])[];
  readonly callId?: string;
}

export interface Sent {
  readonly system: string;
  readonly turns: readonly SentTurn[];
  readonly tools: readonly string[];
  readonly outputCap: unknown;
}

export type WireRequest = Readonly<Record<string, unknown>>;

export interface Wire {
  readonly name: string;
  /** Where requests arrive. */
  readonly path: string;
  /** `url` is that of the wire server, with its version. */
  adapter(url: string, options?: Partial<ProviderOptions>): Model;
  assemble(options: AssemblerOptions): Assembler;
  events(turn: WireTurn): WireEvents;
  /** The same as one JSON document. */
  document(turn: WireTurn): object;
  /** Events that say nothing about the reply. */
  readonly noise: readonly string[];
  /** What an error looks like as an answer of its own, and inside a stream. */
  error(kind: ErrorKind): { readonly status: number; readonly body: object };
  errorEvent(kind: ErrorKind): string;
  sent(body: WireRequest): Sent;
  /** Reasoning and unknown fields of calls in the request's assistant turns, as they were received. */
  carried(body: WireRequest): { readonly reasoning: readonly unknown[]; readonly calls: readonly unknown[] };
  /** What `carried` must find after a turn with this reasoning. */
  reasoningAsSent(reasoning: string): unknown;
}

/** An event with an optional name. */
export function sse(data: object, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Pieces of at most `size` characters; text that is empty has none. */
export function pieces(text: string, size = 7): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
}

/** The lists one after another, or one item of each in turn. */
export function woven(lists: readonly (readonly string[])[], interleaved: boolean): readonly string[] {
  if (!interleaved) return lists.flat();
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

/** What each kind of error is called by the provider. */
export const WORDS: Readonly<Record<ErrorKind, string>> = {
  overloaded: "The service is overloaded",
  rate_limited: "slow down",
  quota: "You exceeded your current quota, please check your plan and billing details",
  overflow: "This request is too big by some measure",
  overflow_in_words: "prompt is too long: 213462 tokens > 200000 maximum",
  bad_request: "that member is nonsense",
  unauthorized: "this key is not known",
};
