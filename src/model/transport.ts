/** The HTTP below the providers' packages: requests without time-outs of their own, and refusals with their whole body. */

import { Agent, type Dispatcher, interceptors, request } from "undici";

/** An answer outside 2xx. The packages keep only the `error` member of a body; servers built on FastAPI answer with `detail`. */
export class HttpRefusal extends Error {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, else text. */
  readonly body: unknown;
  constructor(status: number, headers: Headers, text: string) {
    super("the provider refused the request");
    this.status = status;
    this.headers = headers;
    this.body = parsedOrText(text);
  }
}

/** The longest timer Node knows, 24 days: our own watch decides, in the packages and below them. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_ERROR_BYTES = 65_536;

/** As many as a browser's fetch follows. */
const MAX_REDIRECTS = 20;

/**
 * A fetch for the packages' clients that rejects with an `HttpRefusal` for every answer outside 2xx. Undici ends a request after
 * 300 s without headers or data, which slow local models need: both limits are 0. It is made of undici's plain `request`, which
 * takes a third of the time of its `fetch` and lacks nothing that a client of an API needs.
 */
export function createPatientFetch(): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: MAX_REDIRECTS }));
  return async (url, init) => {
    const { statusCode, headers, body } = await request(String(url), {
      method: (init?.method ?? "GET").toUpperCase() as Dispatcher.HttpMethod,
      headers: new Headers(init?.headers),
      body: textBody(init?.body),
      signal: init?.signal ?? null,
      dispatcher,
    });
    const stream = decoded(streamOf(body), headers["content-encoding"]);
    if (statusCode >= 200 && statusCode < 300)
      return new Response(NO_BODY.has(statusCode) ? null : stream, {
        status: statusCode,
        headers: headersOf(headers),
      });
    throw new HttpRefusal(statusCode, headersOf(headers), await limitedText(stream));
  };
}

/** Statuses of an answer that has no body. */
const NO_BODY = new Set([204, 205]);

/** The packages send the JSON text they made, or nothing. */
function textBody(body: RequestInit["body"] | undefined): string | null {
  if (body === undefined || body === null || typeof body === "string") return body ?? null;
  throw new TypeError("the body of a request to a model must be text");
}

function headersOf(fields: Dispatcher.ResponseData["headers"]): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  return headers;
}

/** Read as it is asked for; leaving it ends the request. */
function streamOf(body: Dispatcher.ResponseData["body"]): ReadableStream<Uint8Array> {
  // A body that breaks says so to whoever reads it; without a listener the same error would end the process.
  body.on("error", () => undefined);
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return new ReadableStream(
    {
      pull: async (controller) => {
        const next = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: () => void body.destroy(),
    },
    { highWaterMark: 0 },
  );
}

/** No encoding is asked for; a server or proxy that packs its answers all the same is understood. */
function decoded(
  stream: ReadableStream<Uint8Array>,
  encoding: string | string[] | undefined,
): ReadableStream<Uint8Array> {
  const format = String(encoding ?? "identity").toLowerCase();
  if (format !== "gzip" && format !== "deflate") return stream;
  return stream.pipeThrough(new DecompressionStream(format) as ReadableWritablePair<Uint8Array, Uint8Array>);
}

/** The start of an error's body; a broken body is an empty one, since the status says enough. */
async function limitedText(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let left = MAX_ERROR_BYTES;
  try {
    for await (const bytes of stream) {
      text += decoder.decode(bytes.subarray(0, left), { stream: true });
      left -= bytes.length;
      if (left <= 0) break;
    }
  } catch {
    return text;
  }
  return text + decoder.decode();
}

function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Certificates and addresses that are wrong stay wrong. */
const PERMANENT =
  /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|ERR_SSL|ERR_INVALID_URL|invalid (url|header|character)|unknown scheme/i;

export interface NetworkTrouble {
  readonly message: string;
  readonly retryable: boolean;
}

/** What a failed connection says: the innermost cause, whose code (`ECONNREFUSED`) tells more than "fetch failed". */
export function describeNetworkError(error: unknown): NetworkTrouble {
  const said: string[] = [];
  for (let cause: unknown = error; cause instanceof Error && said.length < 5; cause = cause.cause) {
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
    const words = [code, cause.message].filter((part) => part !== "").join(" ");
    if (words !== "") said.push(words);
  }
  const message = said.at(-1) ?? String(error);
  return { message, retryable: !said.some((words) => PERMANENT.test(words)) };
}

/** The refusal inside a package's own error, if that is what it was. */
export function refusalIn(error: unknown): HttpRefusal | null {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof HttpRefusal) return cause;
  }
  return null;
}
