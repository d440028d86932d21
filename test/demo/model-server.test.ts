import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type ModelServer, type ModelServerOptions, startModelServer } from "#src/demo/model-server.ts";
import { chatAdapter } from "#test/model/chat-adapter.ts";
import { askFailure, askReply, READ_FILE } from "#test/support/ask-model.ts";

const servers: ModelServer[] = [];
after(() => Promise.all(servers.map((server) => server.close())));

async function start(options: Partial<ModelServerOptions> = {}): Promise<ModelServer> {
  const server = await startModelServer({ script: () => ({ text: "hello" }), ...options });
  servers.push(server);
  return server;
}

async function post(server: ModelServer, body: unknown, key?: string) {
  const response = await fetch(`${server.url}/chat/completions`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });
  const text = await response.text();
  return { status: response.status, text, json: () => JSON.parse(text) };
}

const user = { role: "user", content: "x" };
const call = (id: string, args = "{}") => ({
  id,
  type: "function",
  function: { name: "read_file", arguments: args },
});
const asks = (...calls: object[]) => ({ role: "assistant", content: null, tool_calls: calls });
const answer = (id: string) => ({ role: "tool", tool_call_id: id, content: "x" });

test("the script sees messages and tools, and its calls arrive as a stream in pieces, usage last", async () => {
  const server = await start({
    script: (messages, tools) => ({
      text: `${messages.length} messages, a text long enough for pieces`,
      calls: [{ name: tools[0]?.function.name ?? "", args: { path: "src/some/long/path.ts" } }],
    }),
  });
  const { text } = await post(server, {
    model: "m",
    stream: true,
    stream_options: { include_usage: true },
    messages: [user],
    tools: [{ type: "function", function: READ_FILE }],
  });
  const chunks = text.split("\n\n").filter((line) => line !== "");
  assert.equal(chunks.at(-1), "data: [DONE]");
  const last = JSON.parse(chunks.at(-2)?.slice(6) ?? "");
  assert.deepEqual(last.choices, []);
  assert.ok(last.usage.prompt_tokens > 0);
  assert.ok(chunks.filter((chunk) => chunk.includes('"content"')).length > 2);
  assert.ok(chunks.filter((chunk) => chunk.includes('"arguments"')).length > 2);
});

test("without stream the reply is one document, and without include_usage no usage is streamed", async () => {
  const server = await start();
  const reply = (await post(server, { model: "m", messages: [user] })).json();
  assert.equal(reply.choices[0].message.content, "hello");
  assert.equal(reply.choices[0].finish_reason, "stop");
  assert.equal(
    (await post(server, { model: "m", stream: true, messages: [user] })).text.includes("usage"),
    false,
  );
});

const REFUSED: readonly (readonly [string, unknown, RegExp])[] = [
  ["no JSON", "{", /JSON object/],
  ["no model", { messages: [user] }, /model/],
  ["no messages", { model: "m", messages: [] }, /non-empty/],
  ["an empty list of tools", { model: "m", messages: [user], tools: [] }, /tools/],
  [
    "a system message that is not the first",
    { model: "m", messages: [user, { role: "system", content: "s" }] },
    /first/,
  ],
  ["an unknown role", { model: "m", messages: [{ role: "robot", content: "x" }] }, /unknown role/],
  ["user content that is no text", { model: "m", messages: [{ role: "user", content: null }] }, /content/],
  ["a result without its call", { model: "m", messages: [user, answer("c1")] }, /preceding message/],
  ["a call without its result", { model: "m", messages: [user, asks(call("c1"))] }, /missing: c1/],
  [
    "a call answered too late",
    { model: "m", messages: [user, asks(call("c1")), user, answer("c1")] },
    /missing: c1/,
  ],
  [
    "a call answered twice",
    { model: "m", messages: [user, asks(call("c1")), answer("c1"), answer("c1")] },
    /preceding/,
  ],
  [
    "two calls with one id",
    { model: "m", messages: [user, asks(call("c1"), call("c1"))] },
    /duplicate id c1/,
  ],
  [
    "an id used in an earlier turn",
    { model: "m", messages: [user, asks(call("c")), answer("c"), asks(call("c")), answer("c")] },
    /duplicate/,
  ],
  [
    "arguments that are no JSON",
    { model: "m", messages: [user, asks(call("c1", "{")), answer("c1")] },
    /not a JSON object/,
  ],
  ["a call without id", { model: "m", messages: [user, asks(call("")), answer("")] }, /no id/],
  [
    "an assistant turn without text or calls",
    { model: "m", messages: [user, { role: "assistant", content: null }] },
    /content/,
  ],
];

for (const [name, body, words] of REFUSED) {
  test(`refused with 400: ${name}`, async () => {
    const server = await start();
    const { status, json } = await post(server, body);
    assert.equal(status, 400);
    assert.match(json().error.message, words);
    assert.equal(server.requests().at(-1)?.status, 400);
  });
}

test("a valid transcript with several calls, answered in another order, is taken", async () => {
  const messages = [
    user,
    asks(call("c1"), call("c2")),
    answer("c2"),
    answer("c1"),
    asks(call("c3")),
    answer("c3"),
  ];
  assert.equal((await post(await start(), { model: "m", messages })).status, 200);
});

test("a wrong key and an unknown model are refused; the models are listed", async () => {
  const server = await start({ key: "right-key", models: ["good-model"] });
  assert.equal((await post(server, { model: "good-model", messages: [user] })).status, 401);
  assert.equal((await post(server, { model: "good-model", messages: [user] }, "wrong")).status, 401);
  assert.equal((await post(server, { model: "bad-model", messages: [user] }, "right-key")).status, 404);
  assert.equal((await post(server, { model: "good-model", messages: [user] }, "right-key")).status, 200);
  const models = await fetch(`${server.url}/models`, { headers: { authorization: "Bearer right-key" } });
  assert.equal(((await models.json()) as { data: { id: string }[] }).data[0]?.id, "good-model");
});

test("scripted errors, throwing scripts and unknown paths answer as providers do", async () => {
  const limited = await start({
    script: () => ({ status: 429, error: { message: "slow" }, headers: { "Retry-After": "3" } }),
  });
  assert.equal((await post(limited, { model: "m", messages: [user] })).status, 429);
  const throwing = await start({
    script: () => {
      throw new Error("no such scene");
    },
  });
  assert.match(
    (await post(throwing, { model: "m", messages: [user] })).json().error.message,
    /no such scene/,
  );
  assert.equal((await fetch(`${limited.url}/embeddings`)).status, 404);
});

test("the adapter talks to it; a hanging turn ends with the client's cancel, and close ends open streams", async () => {
  const server = await start({ script: () => ({ text: "thinking" }) });
  assert.equal((await askReply(chatAdapter(server.url))).content, "thinking");
  const hanging = await start({ script: () => ({ text: "thinking", hang: true }) });
  const failing = askFailure(
    chatAdapter(hanging.url, { retry: { tries: 1, firstDelayMs: 1, maxDelayMs: 1 } }),
  );
  while (hanging.requests().length === 0) await new Promise((resolve) => setImmediate(resolve));
  await hanging.close();
  assert.equal((await failing).code, "broken_stream");
});
