/** One request to a provider, whichever API it speaks: send, read, tell failures apart, learn what is refused, try again. */

import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import type { Assembler, AssemblerOptions } from "./assemble.ts";
import { callIdsIn } from "./call-ids.ts";
import { type ProviderError, type Trouble, troubleFromProvider } from "./failures.ts";
import type { Model, ModelFailure, ModelRequest } from "./model.ts";
import { initialQuirks, type Quirks, type Refusal, type Repair } from "./quirks.ts";
import { type BodyEnd, readReply } from "./reply-stream.ts";
import { DEFAULT_RETRY, type RetryPolicy, type StreamedEvent, type TryEnd, withRetries } from "./retry.ts";
import { createStallWatch, type StallWatch } from "./stall-watch.ts";
import { describeNetworkError, refusalIn } from "./transport.ts";

/** What every adapter of a provider is made from. */
export interface ProviderOptions {
  /** As the API's own package takes it, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Null for servers without keys. */
  readonly apiKey: string | null;
  readonly modelId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly redactor: Redactor;
  readonly log: Log;
  readonly retry?: RetryPolicy;
  /** How long nothing that counts may arrive, before the headers too, until a try is given up as stalled. */
  readonly idleTimeoutMs?: number;
  /** Further members of every request, e.g. `{ temperature: 0 }`; an endpoint that refuses one goes without it. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

export type WireBody = Readonly<Record<string, unknown>>;

/** What differs from API to API. */
export interface ProviderApi {
  /** For people, in "that of …": `a chat-completions API`. */
  readonly name: string;
  /** The body of a request. The same request always gives the same bytes, so that the provider's prefix cache matches. */
  body(request: ModelRequest, quirks: Quirks): WireBody;
  /** Resolves with the raw answer: the packages' own readers hide whether a stream was closed properly. */
  send(body: WireBody, signal: AbortSignal): Promise<Response>;
  assemble(options: AssemblerOptions): Assembler;
  /** The one change that a refusal asks for, or null. */
  repair(quirks: Quirks, refusal: Refusal): Repair | null;
}

/** Slow local models think for minutes over a long prompt before the first word. */
export const DEFAULT_IDLE_TIMEOUT_MS = 300_000;

export function createProvider(options: ProviderOptions, api: ProviderApi): Model {
  const memory: Memory = { quirks: initialQuirks(options.baseUrl) };
  if (options.apiKey !== null) options.redactor.add(options.apiKey);
  const { retry: policy = DEFAULT_RETRY, clock, ids, log } = options;
  return {
    id: options.modelId,
    stream: (request) =>
      withRetries(() => attempt({ api, memory, options, request }), {
        policy,
        clock,
        ids,
        log,
        signal: request.signal,
      }),
  };
}

/** What was learnt about the endpoint; kept as long as the adapter lives. */
interface Memory {
  quirks: Quirks;
}

interface Try {
  readonly api: ProviderApi;
  readonly memory: Memory;
  readonly options: ProviderOptions;
  readonly request: ModelRequest;
}

async function* attempt(context: Try): AsyncGenerator<StreamedEvent, TryEnd> {
  const { api, memory, options, request } = context;
  const { quirks } = memory;
  const idleMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
  const watch = createStallWatch(options.clock, idleMs, request.signal);
  try {
    const sent = api.body(request, quirks);
    const opened = await open(api, sent, watch);
    if (opened.type === "refused") return refused(context, { quirks, sent, error: opened.error });
    if (opened.type === "failed") return trouble(options, notReached(options, watch, opened.error));
    const assembler = api.assemble({
      ids: options.ids,
      usedCallIds: callIdsIn(request.messages),
      toolNames: new Set(request.tools.map((tool) => tool.name)),
    });
    const end = yield* readReply(opened.body, assembler, watch);
    if (end.type === "reply") {
      watch.close(end.rest);
      return { type: "reply", reply: end.reply };
    }
    if (end.type === "error") {
      return refused(context, { quirks, sent, error: { status: null, body: end.body, headers: null } });
    }
    return trouble(options, badEnding(end, api.name, idleMs));
  } finally {
    watch.close();
  }
}

type Opened =
  | { readonly type: "open"; readonly body: ReadableStream<Uint8Array> }
  | { readonly type: "refused"; readonly error: ProviderError }
  | { readonly type: "failed"; readonly error: unknown };

async function open(api: ProviderApi, body: WireBody, watch: StallWatch): Promise<Opened> {
  try {
    const response = await watch.during(api.send(body, watch.signal));
    return { type: "open", body: response.body ?? new ReadableStream({ start: (stream) => stream.close() }) };
  } catch (error) {
    const refusal = refusalIn(error);
    return refusal === null ? { type: "failed", error } : { type: "refused", error: refusal };
  }
}

interface Refused {
  /** What was known of the endpoint when the request was built. */
  readonly quirks: Quirks;
  readonly sent: WireBody;
  readonly error: ProviderError;
}

/** A refusal that names something we can do without is repaired once; every other one is a failure. */
function refused({ api, memory, options, request }: Try, { quirks, sent, error }: Refused): TryEnd {
  const found = troubleFromProvider(error, options.clock.now());
  if (found.failure.code === "bad_request") {
    if (memory.quirks !== quirks)
      return { type: "repaired", reason: "another request learnt what the endpoint refuses" };
    const { status } = found.failure;
    const { messages } = request;
    const repair = api.repair(memory.quirks, { status, body: error.body, sent, messages });
    if (repair !== null) {
      memory.quirks = repair.quirks;
      return { type: "repaired", reason: repair.reason };
    }
  }
  return trouble(options, found);
}

function trouble({ redactor }: ProviderOptions, found: Trouble): TryEnd {
  const failure = { ...found.failure, message: redactor.redact(found.failure.message) };
  return { type: "trouble", trouble: { ...found, failure } };
}

function passing(code: ModelFailure["code"], message: string): Trouble {
  return { failure: { code, message, status: null }, retryable: true, retryAfterMs: null };
}

function notReached(options: ProviderOptions, watch: StallWatch, error: unknown): Trouble {
  if (watch.stalled) {
    const seconds = Math.round((options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS) / 1_000);
    return passing("stalled", `The model provider did not answer within ${seconds} s`);
  }
  const { message, retryable } = describeNetworkError(error);
  const where = URL.canParse(options.baseUrl) ? new URL(options.baseUrl).origin : options.baseUrl;
  return {
    ...passing(
      "unreachable",
      `The model provider at ${where} can't be reached: ${message} (Check the base URL and the network.)`,
    ),
    retryable,
  };
}

function badEnding(
  end: Exclude<BodyEnd, { type: "reply" | "error" }>,
  api: string,
  idleTimeoutMs: number,
): Trouble {
  switch (end.type) {
    case "broken":
      return passing("broken_stream", `The model provider's reply broke off: ${end.reason}`);
    case "nonsense":
      return passing(
        "server_error",
        `The model provider sent ${end.reason} (Check that the base URL is that of ${api}.)`,
      );
    case "stalled":
      return passing("stalled", `The model provider sent nothing for ${Math.round(idleTimeoutMs / 1_000)} s`);
    case "aborted":
      return { ...passing("cancelled", "The request was aborted"), retryable: false };
  }
}
