/** The HTTP server around it all: methods, content types, sizes, health, and who is answered what before the app is set up. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { type Handlers, type RunningServer, startServer } from "#src/app/server.ts";
import { WEBHOOK_PATH } from "#src/app/webhooks.ts";
import { systemClock } from "#src/base/clock.ts";
import { silentLog } from "#src/base/log.ts";

async function withServer(
  change: Partial<Handlers>,
  work: (url: string, server: RunningServer) => Promise<void>,
): Promise<void> {
  const handlers: Handlers = { webhooks: null, setup: null, ready: async () => true, ...change };
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    handlers,
    clock: systemClock,
    log: silentLog,
  });
  try {
    await work(server.url, server);
  } finally {
    await server.close(1_000);
  }
}

async function ask(
  url: string,
  init?: RequestInit,
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(url, init);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const JSON_POST = { method: "POST", headers: { "content-type": "application/json" } };

test("health, readiness and everything else", async () => {
  let ready = true;
  await withServer({ ready: async () => ready }, async (url) => {
    assert.deepEqual([(await ask(`${url}/healthz`)).text], ["ok\n"]);
    assert.equal((await ask(`${url}/readyz`)).status, 200);
    ready = false;
    assert.equal((await ask(`${url}/readyz`)).status, 503);
    assert.equal((await ask(`${url}/healthz`)).status, 200);
    for (const path of ["/", "/setup", "/runs", "/.env", "/api/github/webhooks/x", "/healthz/../x"])
      assert.equal((await ask(url + path)).status, 404, path);
    assert.equal((await ask(`${url}/healthz`)).headers.get("x-content-type-options"), "nosniff");
    const kept = /timeout=(\d+)/.exec((await ask(`${url}/healthz`)).headers.get("keep-alive") ?? "")?.[1];
    assert.ok(Number(kept) > 60, "a connection lives longer than in the proxy in front of it");
  });
});

test("before the app is set up webhooks are told to come again; then only signed JSON by POST is taken", async () => {
  await withServer({}, async (url) => {
    assert.equal((await ask(url + WEBHOOK_PATH, { ...JSON_POST, body: "{}" })).status, 503);
  });
  const bodies: string[] = [];
  const webhooks: Handlers["webhooks"] = async (request, response) => {
    bodies.push(String((request as { body?: string }).body));
    response.end("taken");
  };
  await withServer({ webhooks }, async (url) => {
    const at = url + WEBHOOK_PATH;
    assert.equal((await ask(at)).status, 405);
    assert.equal((await ask(at, { method: "POST", body: "x" })).status, 415);
    const form = {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "payload=x",
    };
    assert.match((await ask(at, form)).text, /application\/json/);
    const odd = { ...JSON_POST, headers: { "content-type": "Application/JSON; charset=utf-8" } };
    assert.equal((await ask(at, { ...odd, body: '{"é":"😀"}' })).text, "taken");
    assert.deepEqual(bodies, ['{"é":"😀"}']);
  });
});

test("a body over 25 MB is refused, announced or not, and the server goes on", async () => {
  let taken = 0;
  const webhooks: Handlers["webhooks"] = async (_, response) => {
    taken++;
    response.end();
  };
  await withServer({ webhooks }, async (url) => {
    const { hostname, port } = new URL(url);
    const announced = await raw(hostname, Number(port), [
      `POST ${WEBHOOK_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n`,
    ]);
    assert.match(announced, /^HTTP\/1\.1 413 /);
    const piece = Buffer.alloc(1024 * 1024, "a");
    const chunks = Array.from({ length: 27 }, () => [
      `${piece.length.toString(16)}\r\n`,
      piece,
      "\r\n",
    ]).flat();
    const streamed = await raw(hostname, Number(port), [
      `POST ${WEBHOOK_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
      ...chunks,
    ]);
    assert.match(streamed, /^HTTP\/1\.1 413 |^$/);
    assert.equal(taken, 0);
    assert.equal((await ask(`${url}/healthz`)).status, 200);
  });
});

test("nonsense on the request line is answered, and the server goes on", async () => {
  await withServer({}, async (url) => {
    const { hostname, port } = new URL(url);
    for (const target of ["//", "//[", "http://[", "/%", "*", "/\u00e9"]) {
      const answer = await raw(hostname, Number(port), [
        `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
      ]);
      assert.match(answer, /^HTTP\/1\.1 4\d\d /, target);
    }
    assert.equal((await ask(`${url}/healthz`)).status, 200);
  });
});

test("a handler that fails is answered with 500 and no detail", async () => {
  const webhooks: Handlers["webhooks"] = async () => {
    throw new Error("secret detail");
  };
  await withServer({ webhooks }, async (url) => {
    const answer = await ask(url + WEBHOOK_PATH, { ...JSON_POST, body: "{}" });
    assert.equal(answer.status, 500);
    assert.ok(!answer.text.includes("secret"));
  });
});

test("a port that is taken is told with what to change", async () => {
  await withServer({}, async (url) => {
    const handlers: Handlers = { webhooks: null, setup: null, ready: async () => true };
    const port = Number(new URL(url).port);
    const second = startServer({ host: "127.0.0.1", port, handlers, clock: systemClock, log: silentLog });
    await assert.rejects(second, new RegExp(`port ${port} .* is taken: stop what uses it, or set PORT`));
  });
});

test("closing cuts what has not ended by its deadline", async () => {
  const begun = Promise.withResolvers<void>();
  const webhooks: Handlers["webhooks"] = async () => {
    begun.resolve();
    await new Promise(() => undefined);
  };
  await withServer({ webhooks }, async (url, server) => {
    const hanging = ask(url + WEBHOOK_PATH, { ...JSON_POST, body: "{}" });
    const cut = assert.rejects(hanging);
    await begun.promise;
    await server.close(50);
    await cut;
  });
});

/** Writes the pieces and returns all that came back until the other side closed. */
function raw(host: string, port: number, pieces: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    let heard = "";
    socket.on("data", (data) => {
      heard += data.toString("latin1");
      // What is refused early need not be sent to its end.
      if (/^HTTP\/1\.1 \d{3}/.test(heard)) socket.end();
    });
    socket.on("error", () => resolve(heard));
    socket.on("close", () => resolve(heard));
    for (const piece of pieces) socket.write(piece);
  });
}
