/** The model port: a function from messages and tools to a stream of events that ends in exactly one `done` or `failed`. */

/** A tool call as the model asked for it. */
export interface ToolCall {
  /** Unique over the whole transcript. */
  readonly id: string;
  readonly name: string;
  /** Always valid JSON text once stored, so that it can be sent back; what was invalid is kept in `malformed`. */
  readonly arguments: string;
  /** The raw text of arguments that are no JSON object; the call is answered with an error and never run. */
  readonly malformed?: string;
  /** Fields of the provider we do not know, replayed unchanged to the same provider. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

export type Message =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly calls: readonly ToolCall[];
      /** Provider fields of the message (e.g. `reasoning_content`), replayed unchanged to the same provider. */
      readonly extra?: Readonly<Record<string, unknown>>;
    }
  | {
      readonly role: "tool";
      readonly callId: string;
      readonly name: string;
      readonly content: string;
      /** Set when the call failed; adapters whose wire has a place for it may send it. */
      readonly failed?: true;
    };

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Token counts of one request as the provider reported them; null: not reported. */
export interface Usage {
  readonly inputTokens: number | null;
  /** Part of `inputTokens` that was served from the provider's cache. */
  readonly cachedTokens: number | null;
  readonly outputTokens: number | null;
}

export interface Reply {
  readonly content: string;
  readonly calls: readonly ToolCall[];
  /** `truncated`: the output cap was hit, so no call of this reply may run. `refused`: the provider's filter or the model declined. */
  readonly finish: "complete" | "truncated" | "refused";
  readonly usage: Usage;
  readonly extra?: Readonly<Record<string, unknown>>;
}

export interface ModelFailure {
  readonly code:
    | "unreachable"
    | "unauthorized"
    | "quota_exhausted"
    | "rate_limited"
    | "context_overflow"
    | "bad_request"
    | "server_error"
    | "broken_stream"
    | "stalled"
    | "cancelled";
  /** A redacted sentence with the provider's own words. */
  readonly message: string;
  readonly status: number | null;
}

export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** A try failed and another follows after `waitMs`; whatever was streamed before it in this request is void. */
  | {
      readonly type: "retry";
      readonly attempt: number;
      readonly of: number;
      readonly waitMs: number;
      readonly reason: string;
    }
  | { readonly type: "done"; readonly reply: Reply }
  | { readonly type: "failed"; readonly failure: ModelFailure };

export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
}

export interface Model {
  /** The name sent to the provider, e.g. `gpt-5`. */
  readonly id: string;
  /** Never throws and never rejects: every failure is the final `failed` event. */
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
}
