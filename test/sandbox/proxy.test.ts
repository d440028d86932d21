/** The way out of a session with a network: who is let through, who is refused and told what, and nothing else leaves. */

import assert from "node:assert/strict";
import { mkdir, readdir } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { connect as tlsConnect } from "node:tls";
import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import { findPrograms } from "#src/sandbox/bubblewrap/host.ts";
import { decide, isPublicAddress, parseTarget } from "#src/sandbox/network/addresses.ts";
import { readClientHello } from "#src/sandbox/network/client-hello.ts";
import { startProxy } from "#src/sandbox/network/proxy.ts";
import { assertExit, createRig, options, SYSTEM_PATH } from "#test/sandbox/rig.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { skipUnless } from "#test/support/tier.ts";

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return (server.address() as AddressInfo).port;
}

/** The first bytes that Node's TLS client sends for a server name. */
async function helloFor(servername: string | undefined): Promise<Buffer> {
  const server = createTcpServer();
  const port = await listen(server);
  const received = new Promise<Buffer>((resolve) => {
    server.once("connection", (socket) =>
      socket.once("data", (chunk) => {
        resolve(chunk);
        socket.destroy();
      }),
    );
  });
  const client = tlsConnect({ port, host: "127.0.0.1", ...(servername === undefined ? {} : { servername }) });
  client.on("error", () => client.destroy());
  const hello = await received;
  server.close();
  return hello;
}

test("targets are a host and a port, in one spelling", () => {
  assert.deepEqual(parseTarget("Registry.NPMJS.org.:443"), { host: "registry.npmjs.org", port: 443 });
  assert.deepEqual(parseTarget("[::1]:80"), { host: "::1", port: 80 });
  for (const bad of [
    "host",
    "host:0",
    "host:70000",
    "a b:1",
    "http://x:1",
    ":1",
    "a..b:1",
    "[x]:1",
    "x@y:1",
  ]) {
    assert.equal(parseTarget(bad), null, bad);
  }
});

test("a listed name opens the usual ports, a listed name with port that port only", () => {
  const rules = ["pypi.org", "mirror.example:8081"];
  const of = (text: string) => decide(parseTarget(text)!, rules);
  assert.deepEqual(of("pypi.org:443"), { allowed: true, privateToo: false });
  assert.deepEqual(of("mirror.example:8081"), { allowed: true, privateToo: true });
  for (const text of [
    "pypi.org:22",
    "mirror.example:443",
    "evil-pypi.org:443",
    "sub.pypi.org:443",
    "pypi.org.evil:443",
  ]) {
    const decision = of(text);
    assert.equal(decision.allowed, false, text);
    if (!decision.allowed) assert.match(decision.because, /NETWORK_ALLOW/);
  }
});

test("addresses of this machine, its networks and their disguises are not public", () => {
  const closed = [
    ...["127.0.0.1", "127.8.8.8", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"],
    ...["100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "::ffff:127.0.0.1"],
    ...["::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1", "not an address"],
  ];
  for (const address of closed) assert.equal(isPublicAddress(address), false, address);
  for (const address of ["104.16.0.1", "151.101.0.223", "2606:4700::1"])
    assert.ok(isPublicAddress(address), address);
});

test("the server name is read from a hello in any pieces, and from nothing else", async () => {
  const hello = await helloFor("registry.example.org");
  assert.deepEqual(readClientHello(hello), { kind: "hello", serverName: "registry.example.org" });
  for (let length = 0; length < hello.length; length += 7) {
    assert.equal(readClientHello(hello.subarray(0, length)).kind, "partial");
  }
  assert.deepEqual(readClientHello(await helloFor(undefined)), { kind: "hello", serverName: null });
  assert.equal(readClientHello(Buffer.from("GET / HTTP/1.1\r\n")).kind, "not_tls");
  const twoRecords = Buffer.concat([hello.subarray(0, 3), Buffer.from([0, 10]), hello.subarray(5, 15)]);
  const rest = hello.subarray(15);
  const split = Buffer.concat([twoRecords, hello.subarray(0, 3), lengthOf(rest), rest]);
  assert.deepEqual(readClientHello(split), { kind: "hello", serverName: "registry.example.org" });
  for (let index = 5; index < hello.length; index++) {
    const damaged = Buffer.from(hello);
    damaged[index] = 255 - (damaged[index] ?? 0);
    readClientHello(damaged);
  }
});

test("a hello in hundreds of records is no client's, and is given up early", async () => {
  const hello = (await helloFor("registry.example.org")).subarray(5);
  const records = (size: number) =>
    Buffer.concat(
      Array.from({ length: Math.ceil(hello.length / size) }, (_, index) => {
        const part = hello.subarray(index * size, (index + 1) * size);
        return Buffer.concat([Buffer.from([22, 3, 1]), lengthOf(part), part]);
      }),
    );
  assert.equal(readClientHello(records(Math.ceil(hello.length / 20))).kind, "hello");
  assert.equal(readClientHello(records(1)).kind, "not_tls");
  assert.equal(readClientHello(records(1).subarray(0, 6 * 33)).kind, "not_tls");
});

test("an answer that Node takes in but would not send out is refused, and does not end the app", async () => {
  const upstream = createTcpServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => socket.end("HTTP/1.1 000 Odd\r\nContent-Length: 0\r\n\r\n"));
  });
  const port = await listen(upstream);
  await using dir = await tempDir();
  const socketPath = join(dir.path, "proxy.sock");
  const proxy = await startProxy({ socketPath, hosts: [`127.0.0.1:${port}`], onHost: () => undefined });
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest({ socketPath, path: `http://127.0.0.1:${port}/` }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    request.on("error", reject);
    request.end();
  });
  assert.equal(status, 502);
  await proxy.close();
  upstream.close();
});

function lengthOf(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return length;
}

/** A proxy, and CONNECT through it: what came back, and what the server behind it got. */
async function world(hosts: (port: number) => readonly string[], addresses = ["127.0.0.1"]) {
  const dir = await tempDir();
  const got: Buffer[] = [];
  const server = createTcpServer((socket) => {
    socket.on("data", (chunk) => {
      got.push(chunk);
      socket.write("answer");
    });
    socket.on("error", () => socket.destroy());
  });
  const port = await listen(server);
  const seen: [string, boolean][] = [];
  const long = join(dir.path, "a-directory-name-so-long-that-no-socket-address-could-hold-it-".repeat(2));
  await mkdir(long);
  const socketPath = join(long, "proxy.sock");
  const proxy = await startProxy({
    ...{ socketPath, hosts: hosts(port) },
    onHost: (host, allowed) => void seen.push([host, allowed]),
    resolve: async () => addresses,
  });
  const tunnel = (target: string, bytes: Buffer) =>
    new Promise<string>((resolve) => {
      let text = "";
      const client = viaLongPath(socketPath);
      client.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
      client.on("data", (chunk) => {
        const first = text === "";
        text += chunk.toString("latin1");
        if (first && text.startsWith("HTTP/1.1 200")) client.write(bytes);
        if (text.endsWith("answer")) client.destroy();
      });
      client.on("error", () => client.destroy());
      client.on("close", () => resolve(text));
    });
  const close = async () => {
    await proxy.close();
    server.close();
    assert.deepEqual(await readdir(long), [], "the socket was left");
    process.chdir("/");
    await dir.remove();
  };
  return { port, seen, got, tunnel, socketPath, close };
}

/** Connects to a socket whose path is too long for an address, as the app listens: relative to its directory. */
function viaLongPath(path: string) {
  const at = path.lastIndexOf("/");
  process.chdir(path.slice(0, at));
  return connect({ path: path.slice(at + 1) });
}

test("CONNECT reaches a listed host with the very bytes, and each attempt is told", async () => {
  const { tunnel, port, seen, got, close } = await world((port) => [`mirror.example:${port}`]);
  const hello = await helloFor("mirror.example");
  assert.match(await tunnel(`mirror.example:${port}`, hello), /^HTTP\/1.1 200 .*answer$/s);
  assert.ok(Buffer.concat(got).equals(hello));
  assert.deepEqual(seen, [["mirror.example", true]]);
  await close();
});

test("an unlisted host is refused with the setting's name in the status line", async () => {
  const { tunnel, seen, close } = await world(() => ["pypi.org"]);
  assert.match(
    await tunnel("evil.example:443", Buffer.alloc(0)),
    /^HTTP\/1.1 403 agent-fix: .*NETWORK_ALLOW/,
  );
  assert.deepEqual(seen, [["evil.example", false]]);
  await close();
});

test("a listed name that resolves to a private address is refused", async () => {
  for (const address of ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"]) {
    const { tunnel, got, close } = await world(() => ["pypi.org"], [address]);
    assert.match(await tunnel("pypi.org:443", Buffer.alloc(0)), /^HTTP\/1.1 403 .*private address/);
    assert.equal(got.length, 0);
    await close();
  }
});

test("TLS that names another server than CONNECT did is cut before a byte leaves", async () => {
  const { tunnel, port, got, seen, close } = await world((port) => [`mirror.example:${port}`]);
  for (const name of ["evil.example", undefined]) {
    assert.doesNotMatch(await tunnel(`mirror.example:${port}`, await helloFor(name)), /answer/);
  }
  assert.equal(got.length, 0);
  assert.equal(seen.filter(([, allowed]) => !allowed).length, 2);
  await close();
});

test("plain HTTP goes by the same list", async () => {
  const upstream = createServer((request, response) =>
    response.end(`${request.headers.host} ${request.url}`),
  );
  const upstreamPort = await listen(upstream);
  const { socketPath, close } = await world(() => [`mirror.example:${upstreamPort}`]);
  const get = (url: string) =>
    new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const at = socketPath.lastIndexOf("/");
      process.chdir(socketPath.slice(0, at));
      const request = httpRequest(
        { socketPath: socketPath.slice(at + 1), path: url, agent: false },
        (response) => {
          let text = "";
          response.on("data", (chunk: Buffer) => {
            text += chunk.toString();
          });
          response.on("end", () => resolve({ status: response.statusCode, text }));
        },
      );
      request.on("error", reject);
      request.end();
    });
  assert.deepEqual(await get(`http://mirror.example:${upstreamPort}/a?b`), {
    ...{ status: 200, text: `mirror.example:${upstreamPort} /a?b` },
  });
  const refused = await get("http://evil.example/");
  assert.equal(refused.status, 403);
  assert.match(refused.text, /evil\.example .*NETWORK_ALLOW/);
  assert.equal((await get("/relative")).status, 400);
  upstream.close();
  await close();
});

const { socat } = await findPrograms(["socat"], SYSTEM_PATH);

test("set-up installs from a listed registry, and from inside nothing else is reached", {
  skip: skipUnless(socat !== null, "socat is not installed"),
}, async () => {
  const registry = createServer((request, response) => {
    if (request.url === "/left-pad") {
      response.setHeader("content-type", "application/json");
      return response.end(
        JSON.stringify({
          name: "left-pad",
          "dist-tags": { latest: "9.9.9" },
          versions: { "9.9.9": { name: "left-pad", version: "9.9.9" } },
        }),
      );
    }
    response.writeHead(404).end("{}");
  });
  const port = await listen(registry);
  const other = createServer((_, response) => response.end("reached"));
  const otherPort = await listen(other);
  const seen: [string, boolean][] = [];
  const rig = await createRig((dataDir) => createBubblewrap(options(dataDir)));
  try {
    const { sh } = await rig.open({
      ...{ phase: "setup", env: { npm_config_registry: `http://127.0.0.1:${port}/` } },
      network: { kind: "allow", hosts: [`127.0.0.1:${port}`], onHost: (...told) => void seen.push(told) },
    });
    const viewed = await sh("npm view left-pad dist-tags.latest");
    assertExit(viewed, 0);
    assert.equal(viewed.text, "9.9.9\n");
    const refused = await sh(`curl -sS http://127.0.0.1:${otherPort}/; curl -sS https://evil.example/`);
    assert.match(refused.text, /NETWORK_ALLOW/);
    assert.doesNotMatch(refused.text, /reached/);
    assert.match(refused.stderr.head, /403/);
    assertExit(await sh(`curl -sS --noproxy '*' http://127.0.0.1:${otherPort}/`), 7);
    assert.ok(seen.some(([host, allowed]) => host === "127.0.0.1" && allowed));
    assert.ok(seen.some(([host, allowed]) => host === "evil.example" && !allowed));
    const { sh: closed } = await rig.open({ env: { npm_config_registry: `http://127.0.0.1:${port}/` } });
    const offline = await closed(
      `curl -sS http://127.0.0.1:${port}/left-pad; ls /run/agent-fix 2>/dev/null; env | grep -i proxy`,
    );
    assert.equal(offline.text, "");
  } finally {
    await rig.close();
    registry.close();
    registry.closeAllConnections();
    other.close();
    other.closeAllConnections();
  }
});
