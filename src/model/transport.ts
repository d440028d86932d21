/** The HTTP below the providers' packages: a fetch without time-outs of its own, and refusals with their whole body. */

import { Agent, fetch as undiciFetch } from "undici";

/** An answer outside 2xx. The packages keep only the `error` member of a body; servers built on FastAPI answer with `detail`. */
export class HttpRefusal extends Error {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, else text. */
  readonly body: unknown;
  constructor(response: Response, text: string) {
    super("the provider refused the request");
    this.status = response.status;
    this.headers = response.headers;
    this.body = parsedOrText(text);
  }
}

/** The longest timer Node knows, 24 days: our own watch decides, in the packages and below them. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_ERROR_BYTES = 65_536;

/**
 * A fetch for the packages' clients that rejects with an `HttpRefusal` for every answer outside 2xx. Undici ends a request after
 * 300 s without headers or data, which slow local models need: both limits are 0. Agent and fetch come from the same package,
 * since Node's own fetch is of another version.
 */
export function createPatientFetch(): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return async (url, init) => {
    const response = (await undiciFetch(String(url), { ...init, dispatcher } as Parameters<
      typeof undiciFetch
    >[1])) as unknown as Response;
    if (response.ok) return response;
    throw new HttpRefusal(response, await limitedText(response));
  };
}

/** The start of an error's body; a broken body is an empty one, since the status says enough. */
async function limitedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let left = MAX_ERROR_BYTES;
  try {
    for await (const bytes of response.body ?? []) {
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
