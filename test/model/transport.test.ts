/** The HTTP below the packages on a real socket: refusals, redirects, packed answers, and bodies that nobody reads to their end. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { bodyText } from "#src/model/body-text.ts";
import { createPatientFetch, HttpRefusal } from "#src/model/transport.ts";

async function withServer(listener: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const post = (body: string): RequestInit => ({
  method: "post",
  headers: { "content-type": "application/json" },
  body,
});

test("an answer has its status, its headers (repeated ones too) and its body", async () => {
  await withServer(
    (request, response) => {
      response.writeHead(200, { "x-request-id": "r1", "x-many": ["a", "b"] });
      request.pipe(response);
    },
    async (url) => {
      const response = await createPatientFetch()(`${url}/v1/x`, post('{"a":"é"}'));
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("x-request-id"), "r1");
      assert.equal(response.headers.get("x-many"), "a, b");
      assert.equal(await response.text(), '{"a":"é"}');
    },
  );
});

test("an answer without a body is one", async () => {
  await withServer(
    (_, response) => response.writeHead(204).end(),
    async (url) => {
      const response = await createPatientFetch()(url);
      assert.deepEqual([response.status, response.body], [204, null]);
    },
  );
});

test("nothing packed is asked for, and what a server packs all the same is read", async () => {
  for (const [encoding, pack] of [
    ["gzip", gzipSync],
    ["deflate", deflateSync],
  ] as const)
    await withServer(
      (request, response) => {
        assert.equal(request.headers["accept-encoding"], undefined);
        response.writeHead(200, { "content-encoding": encoding }).end(pack("data: {}\n\n"));
      },
      async (url) => {
        assert.equal(await (await createPatientFetch()(url, post("{}"))).text(), "data: {}\n\n");
      },
    );
});

test("a refusal is thrown with status, headers and the whole body, whatever its status", async () => {
  for (const status of [302, 400, 429, 529])
    await withServer(
      (_, response) => response.writeHead(status, { "retry-after": "7" }).end('{"detail":"no"}'),
      async (url) => {
        const refused = await createPatientFetch()(url, post("{}")).catch((error: unknown) => error);
        assert.ok(refused instanceof HttpRefusal);
        assert.equal(refused.status, status);
        assert.equal(refused.headers.get("retry-after"), "7");
        assert.deepEqual(refused.body, { detail: "no" });
      },
    );
});

test("a moved address is followed with the same body", async () => {
  await withServer(
    (request, response) => {
      if (request.url === "/old") response.writeHead(308, { location: "/new" }).end();
      else request.pipe(response.writeHead(200));
    },
    async (url) => assert.equal(await (await createPatientFetch()(`${url}/old`, post("{}"))).text(), "{}"),
  );
});

test("a body that breaks is a failed read, and breaks nothing when nobody reads it", async () => {
  await withServer(
    (_, response) => {
      response.writeHead(200).write("start");
      setImmediate(() => response.destroy());
    },
    async (url) => {
      const fetch = createPatientFetch();
      const read = await fetch(url, post("{}"));
      await assert.rejects(read.text());
      const left = await fetch(url, post("{}"));
      await left.body?.cancel();
      const controller = new AbortController();
      const aborted = await fetch(url, { ...post("{}"), signal: controller.signal });
      controller.abort();
      await assert.rejects(aborted.text());
    },
  );
});

test("a server that is not there is an error that says so", async () => {
  let gone = "";
  await withServer(
    (_, response) => response.end(),
    async (url) => {
      gone = url;
    },
  );
  await assert.rejects(createPatientFetch()(gone, post("{}")), /ECONNREFUSED/);
});

test("the text of a body is that of JSON.stringify, also when its messages were in another body before", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(fc.array(object), fc.array(object), object, (messages, more, rest) => {
      const first = { ...rest, model: "m", messages, none: undefined, tools: more };
      assert.equal(bodyText(first), JSON.stringify(first));
      const next = { ...rest, messages: [...messages, ...more] };
      assert.equal(bodyText(next), JSON.stringify(next));
    }),
  );
});
