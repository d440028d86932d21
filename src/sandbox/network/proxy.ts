/** The only way out of a session with a network: a proxy on a UNIX socket that connects to allow-listed hosts and nothing else. */

import { lookup } from "node:dns/promises";
import { chmod, open } from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { basename, dirname } from "node:path";
import type { Duplex } from "node:stream";
import { messageOf } from "#src/base/result.ts";
import {
  type Decision,
  decide,
  isPublicAddress,
  parseTarget,
  type Target,
} from "#src/sandbox/network/addresses.ts";
import { HELLO_LIMIT, readClientHello } from "#src/sandbox/network/client-hello.ts";

export interface ProxyOptions {
  /** Path of the socket; its directory must exist. May be longer than a socket's name may be. */
  readonly socketPath: string;
  readonly hosts: readonly string[];
  /** Told of each attempt. */
  readonly onHost: (host: string, allowed: boolean) => void;
  /** Finds the addresses of a name; for tests. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

export interface Proxy {
  /** Cuts every connection and removes the socket. */
  close(): Promise<void>;
}

const IDLE_MS = 120_000;
const CONNECT_MS = 15_000;
const MAX_CONNECTIONS = 256;

/** The addresses that were checked; those of the other family are tried when one does not answer. */
type Open = { readonly addresses: readonly string[]; readonly privateToo: boolean };

/** Starts listening. Rejects when the socket cannot be made. */
export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const sockets = new Set<Duplex>();
  const track = <S extends Duplex>(socket: S): S => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer({ maxHeaderSize: 32_768, requestTimeout: 0 }, (request, response) => {
    forward(request, response, options, track).catch((error: unknown) =>
      refuse(response, 502, messageOf(error)),
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on("connection", (socket) => track(socket).setTimeout(IDLE_MS, () => socket.destroy()));
  server.on("clientError", (_, socket) => void socket.destroy());
  server.on("connect", (request: IncomingMessage, client: Socket, head: Buffer) => {
    client.on("error", () => client.destroy()); // The client went away; nothing is left to tell it.
    tunnel(request, client, head, { options, track }).catch((error: unknown) =>
      refuseTunnel(client, 502, messageOf(error)),
    );
  });
  // A socket's name may have 107 bytes; through the directory's descriptor any path fits.
  const directory = await open(dirname(options.socketPath), "r");
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(`/proc/self/fd/${directory.fd}/${basename(options.socketPath)}`, () => resolve());
  });
  await chmod(options.socketPath, 0o666);
  return {
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
      await directory.close();
    },
  };
}

/** The address to connect to, or why not. Resolves the name itself, so that what was checked is what is connected to. */
async function admit(
  target: Target | null,
  options: ProxyOptions,
): Promise<Open | { readonly because: string }> {
  if (target === null) return { because: "the address is not a host and port" };
  const decision: Decision = decide(target, options.hosts);
  options.onHost(target.host, decision.allowed);
  if (!decision.allowed) return decision;
  const addresses = await (options.resolve ?? addressesOf)(target.host);
  const usable = decision.privateToo ? addresses : addresses.filter((address) => isPublicAddress(address));
  if (usable.length > 0) return { addresses: usable, privateToo: decision.privateToo };
  return {
    because: `${target.host} resolves to a private address; to allow that, an operator lists ${target.host}:${target.port} in NETWORK_ALLOW`,
  };
}

/** For `connect`: it asks for no address but these, and tries the next one when a family is not routed here. */
function checked({ host }: Target, { addresses }: Open) {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_name, options, done) => {
    if (options.all === true) return done(null, all);
    done(null, all[0]?.address ?? "", all[0]?.family);
  };
  return { host, lookup, autoSelectFamily: true };
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map((entry) => entry.address);
}

interface Context {
  readonly options: ProxyOptions;
  readonly track: <S extends Duplex>(socket: S) => S;
}

async function tunnel(
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
  context: Context,
): Promise<void> {
  const target = parseTarget(request.url ?? "");
  const admitted = await admit(target, context.options);
  if ("because" in admitted || target === null) {
    return refuseTunnel(client, 403, "because" in admitted ? admitted.because : "no target");
  }
  client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  const first = await firstBytes(client, head, target, admitted.privateToo);
  if (first === null) {
    context.options.onHost(`${target.host} (TLS names another server)`, false);
    client.destroy();
    return;
  }
  const upstream = context.track(
    connect({ ...checked(target, admitted), port: target.port, timeout: CONNECT_MS }),
  );
  upstream.once("connect", () => upstream.setTimeout(IDLE_MS));
  upstream.on("timeout", () => upstream.destroy());
  upstream.on("error", () => client.destroy());
  upstream.on("close", () => client.destroy());
  client.on("close", () => upstream.destroy());
  upstream.write(first);
  client.pipe(upstream);
  upstream.pipe(client);
}

/** What the client sent first, once it is known to be for the target; null when it is not. */
async function firstBytes(
  client: Socket,
  head: Buffer,
  target: Target,
  plainToo: boolean,
): Promise<Buffer | null> {
  let received = head;
  for (;;) {
    const hello = received.length === 0 ? { kind: "partial" as const } : readClientHello(received);
    if (hello.kind === "not_tls") return plainToo ? received : null;
    if (hello.kind === "hello") {
      const expected = isIP(target.host) === 0 ? target.host : null;
      return hello.serverName === expected ? received : null;
    }
    const chunk = await nextChunk(client);
    if (chunk === null || received.length > HELLO_LIMIT) return null;
    received = Buffer.concat([received, chunk]);
  }
}

function nextChunk(socket: Socket): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const onData = (chunk: Buffer) => {
      socket.pause();
      socket.off("close", onClose);
      resolve(chunk);
    };
    const onClose = () => {
      socket.off("data", onData);
      resolve(null);
    };
    socket.once("data", onData);
    socket.once("close", onClose);
    socket.resume();
  });
}

const HOP_BY_HOP = ["proxy-connection", "proxy-authorization", "connection", "keep-alive", "te", "upgrade"];

/** Plain HTTP: the request line carries the whole address. */
async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  options: ProxyOptions,
  track: Context["track"],
): Promise<void> {
  const url = URL.canParse(request.url ?? "") ? new URL(request.url ?? "") : null;
  if (url === null || url.protocol !== "http:")
    return refuse(response, 400, "this is a proxy for http addresses");
  const target = parseTarget(`${url.hostname}:${url.port || "80"}`);
  const admitted = await admit(target, options);
  if ("because" in admitted || target === null) {
    return refuse(response, 403, "because" in admitted ? admitted.because : "no target");
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.includes(name)),
  );
  const upstream = httpRequest({
    ...checked(target, admitted),
    port: target.port,
    method: request.method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host },
    timeout: IDLE_MS,
    agent: false,
  });
  upstream.on("socket", (socket) => track(socket));
  upstream.on("timeout", () => upstream.destroy(new Error("the server did not answer in time")));
  upstream.on("error", (error) => refuse(response, 502, messageOf(error)));
  upstream.on("response", (answer) => {
    answer.on("error", () => response.destroy());
    if (!passOn(answer, response)) {
      answer.destroy();
      refuse(response, 502, "the server's answer was no proper HTTP");
    }
  });
  response.on("close", () => upstream.destroy());
  request.pipe(upstream);
}

/** False when Node takes the answer in and would not send such a one out, as a status of 0; it would else end the app. */
function passOn(answer: IncomingMessage, response: ServerResponse): boolean {
  try {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return false;
    throw error;
  }
  answer.pipe(response);
  return true;
}

function refuse(response: ServerResponse, status: number, because: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end(`agent-fix: ${because}\n`);
}

/** The reason is also in the status line: several clients show nothing else of a refused CONNECT. */
function refuseTunnel(client: Socket, status: number, because: string): void {
  const line = because.replace(/[^\x20-\x7e]/g, "?");
  client.end(
    `HTTP/1.1 ${status} agent-fix: ${line}\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nagent-fix: ${line}\n`,
  );
}
