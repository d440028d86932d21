/** The relay client against relays that are late, refuse, cut, hang, or were never there. */

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { startRelay } from "#src/app/relay.ts";
import { type Log, silentLog } from "#src/base/log.ts";
import { closedPort } from "#test/support/closed-port.ts";
import { createManualClock } from "#test/support/manual-clock.ts";

test("a relay that was not there, then refuses, then cuts the line, is connected to in the end, and its webhooks arrive", async () => {
  await using hooks = await listening(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    received.resolve({ body, event: request.headers["x-github-event"] });
    response.end();
  });
  const received = Promise.withResolvers<{ body: string; event: unknown }>();
  const clock = createManualClock();
  const warned = createWarned();
  let requests = 0;
  const answer = (_: IncomingMessage, response: ServerResponse) => {
    requests++;
    if (requests === 1) response.writeHead(502).end("no");
    else if (requests === 2) response.destroy();
    else {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: ready\ndata: {}\n\n`);
      response.write(
        `data: ${JSON.stringify({ body: { action: "labeled" }, "x-github-event": "issues" })}\n\n`,
      );
    }
  };
  const port = await closedPort();
  const relay = startRelay({
    source: `http://127.0.0.1:${port}/channel`,
    target: `${hooks.url}/hooks`,
    clock,
    log: warned.log,
  });
  await warned.count(1);
  await using _ = await listening(answer, port);
  for (const [index, pauseMs] of [1_000, 2_000, 4_000].entries()) {
    await clock.waitForTimers(1);
    await clock.advance(pauseMs);
    if (index < 2) await warned.count(index + 2);
  }
  assert.deepEqual(await received.promise, { body: '{"action":"labeled"}', event: "issues" });
  assert.equal(requests, 3);
  await relay.stop();
  assert.equal(clock.pending(), 0);
});

test("a relay that never answers does not hold up a stop", async () => {
  const arrived = Promise.withResolvers<void>();
  await using silent = await listening(() => arrived.resolve());
  const relay = startRelay({
    source: `${silent.url}/channel`,
    target: `${silent.url}/hooks`,
    clock: createManualClock(),
    log: silentLog,
  });
  await arrived.promise;
  await relay.stop();
});

interface Listening {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

async function listening(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
  port = 0,
): Promise<Listening> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A log whose warnings can be waited for. */
function createWarned(): { readonly log: Log; count(wanted: number): Promise<void> } {
  let seen = 0;
  let tell: () => void = () => undefined;
  return {
    log: {
      ...silentLog,
      warn: () => {
        seen++;
        tell();
      },
    },
    count: async (wanted) => {
      while (seen < wanted) {
        await new Promise<void>((resolve) => {
          tell = resolve;
        });
      }
    },
  };
}
