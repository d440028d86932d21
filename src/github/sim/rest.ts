/** Answers one REST request: read it, find the route, meet a planned fault, answer with GitHub's headers, put it on record. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Json } from "#src/base/canonical-json.ts";
import { messageOf } from "#src/base/result.ts";
import { type Caller, identify } from "./access.ts";
import { type Answer, notFound, Refusal, refuse } from "./answers.ts";
import { callerRecord, type Exchange } from "./exchanges.ts";
import type { FaultKind, Faults } from "./faults.ts";
import type { Hub } from "./hub.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { Match } from "./router.ts";

export interface RestParts {
  readonly hub: Hub;
  readonly route: (method: string, path: string) => Match | null;
  readonly faults: Faults;
  readonly onExchange: (exchange: Exchange) => void;
}

const MAX_REQUEST_BYTES = 50 * 1024 * 1024;
const HOURLY_LIMIT = 5000;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly url: URL;
  readonly headers: IncomingMessage["headers"];
  readonly body: Json | undefined;
  readonly match: Match | null;
}

/** `path` is the address below `/api/v3`. Never rejects. */
export async function answerRest(
  parts: RestParts,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const path = byName(parts.hub, url.pathname.replace(/^\/api(\/v3)?/, ""));
  const method = request.method ?? "GET";
  const text = await readAll(request);
  if (text === null) return void response.destroy();
  const body = parsedBody(text);
  const asked: Asked = {
    method,
    path,
    url,
    headers: request.headers,
    body,
    match: parts.route(method, path),
  };
  const fault = parts.faults.take(method, path);
  if (fault !== null && fault.kind !== "drop_after") return failAsPlanned(parts, asked, fault, response);
  const { answer, caller } = await dispatch(parts.hub, asked);
  parts.onExchange(exchangeOf(asked, caller, answer, fault !== null));
  if (fault !== null) return void response.destroy();
  respond(parts.hub, response, answer);
}

/** Redirects lead to addresses by id. */
function byName({ state }: Hub, path: string): string {
  const [, id, below = ""] = /^\/repositories\/(\d+)(\/.*)?$/.exec(path) ?? [];
  const repository = id === undefined ? undefined : state.repositories.get(Number(id));
  if (repository === undefined) return path;
  return `/repos/${repository.owner.login}/${repository.name}${below}`;
}

function failAsPlanned(parts: RestParts, asked: Asked, fault: FaultKind, response: ServerResponse): void {
  const answer = fault.kind === "status" ? statusFault(fault) : { status: 0 };
  const caller = callerOrNull(parts.hub, asked.headers.authorization);
  parts.onExchange(exchangeOf(asked, caller, answer, true));
  if (fault.kind === "status") respond(parts.hub, response, answer);
  else if (fault.kind === "drop_before") response.destroy();
}

function statusFault(fault: Extract<FaultKind, { kind: "status" }>): Answer {
  const body = fault.body ?? { message: "Server Error" };
  return { status: fault.status, body, headers: fault.headers ?? {} };
}

async function dispatch(
  hub: Hub,
  asked: Asked,
): Promise<{ readonly answer: Answer; readonly caller: Caller | null }> {
  let caller: Caller | null = null;
  try {
    caller = identify(hub.state, asked.headers.authorization, hub.clock.now());
    if (asked.match === null) throw notFound();
    if (asked.body !== undefined && !isObject(asked.body) && !Array.isArray(asked.body))
      throw refuse(400, "Problems parsing JSON");
    const answer = await asked.match.route.handle({
      hub,
      params: asked.match.params,
      query: asked.url.searchParams,
      url: `${asked.url.origin}${asked.url.pathname}`,
      body: isObject(asked.body) ? asked.body : {},
      caller,
    });
    return { answer, caller };
  } catch (error) {
    if (error instanceof Refusal) return { answer: error.answer, caller };
    const body = { message: `the embedded GitHub failed: ${messageOf(error)}` };
    return { answer: { status: 500, body }, caller };
  }
}

function callerOrNull(hub: Hub, authorization: string | undefined): Caller | null {
  try {
    return identify(hub.state, authorization, hub.clock.now());
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function respond(hub: Hub, response: ServerResponse, answer: Answer): void {
  const reset = Math.floor(hub.clock.now() / 1000) + 3600;
  const text = answer.body === undefined ? "" : JSON.stringify(answer.body);
  response.writeHead(answer.status, {
    "x-github-media-type": "github.v3; format=json",
    "x-github-request-id": hub.ids.hex(8).toUpperCase(),
    "x-ratelimit-limit": String(HOURLY_LIMIT),
    "x-ratelimit-remaining": String(HOURLY_LIMIT - 1),
    "x-ratelimit-reset": String(reset),
    "x-ratelimit-resource": "core",
    "x-ratelimit-used": "1",
    ...(answer.body === undefined ? {} : { "content-type": "application/json; charset=utf-8" }),
    ...answer.headers,
  });
  response.end(text);
}

function exchangeOf(asked: Asked, caller: Caller | null, answer: Answer, faulted: boolean): Exchange {
  const headers = Object.entries(asked.headers).filter(
    (entry): entry is [string, string] => entry[0] !== "authorization" && typeof entry[1] === "string",
  );
  return {
    method: asked.method,
    path: asked.path,
    template: asked.match?.route.template ?? null,
    params: asked.match?.params ?? {},
    query: Object.fromEntries(asked.url.searchParams),
    requestBody: asked.body,
    requestHeaders: Object.fromEntries(headers),
    caller: callerRecord(caller),
    status: answer.status,
    responseBody: answer.body,
    faulted,
  };
}

/** Null when the caller went away or sent far too much. */
async function readAll(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_REQUEST_BYTES) return null;
      chunks.push(chunk);
    }
  } catch {
    return null; // The connection ended in the middle: there is nobody to answer.
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** A broken body becomes a bare string, which the route refuses. */
function parsedBody(text: string): Json | undefined {
  if (text.trim() === "") return undefined;
  try {
    const body: JsonObject | readonly Json[] = JSON.parse(text);
    return body as Json;
  } catch {
    return text;
  }
}
