import assert from "node:assert/strict";
import { test } from "node:test";
import { callIdsIn } from "#src/model/call-ids.ts";
import type { Message } from "#src/model/model.ts";
import { initialQuirks } from "#src/model/quirks.ts";
import { requestBody } from "#src/model/wire.ts";
import { READ_FILE } from "#test/support/ask-model.ts";

const quirks = initialQuirks("http://127.0.0.1:1/v1");
const MESSAGES: readonly Message[] = [
  { role: "system", content: "s" },
  { role: "user", content: "half a pair: \ud83d" },
  { role: "assistant", content: "text", calls: [] },
  {
    role: "assistant",
    content: "",
    calls: [{ id: "c1", name: "read_file", arguments: "{}", malformed: "{" }],
  },
  { role: "tool", callId: "c1", name: "read_file", content: "" },
];

test("a transcript becomes the messages of a chat completion", () => {
  const body = requestBody(
    { messages: MESSAGES, tools: [READ_FILE], maxOutputTokens: 9 },
    { modelId: "m", quirks, parameters: {} },
  );
  assert.deepEqual(body, {
    model: "m",
    messages: [
      { role: "system", content: "s" },
      { role: "user", content: "half a pair: \ufffd" },
      { role: "assistant", content: "text" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "read_file", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "(no output)" },
    ],
    tools: [{ type: "function", function: READ_FILE }],
    stream: true,
    max_tokens: 9,
    stream_options: { include_usage: true },
  });
  assert.deepEqual([...callIdsIn(MESSAGES)], ["c1"]);
});

test("without tools the member is left out, and a growing transcript only grows at its end", () => {
  const options = { modelId: "m", quirks, parameters: {} };
  const text = (count: number) =>
    JSON.stringify(
      requestBody({ messages: MESSAGES.slice(0, count), tools: [], maxOutputTokens: 9 }, options).messages,
    ).slice(0, -1);
  assert.equal("tools" in requestBody({ messages: MESSAGES, tools: [], maxOutputTokens: 9 }, options), false);
  for (let count = 1; count < MESSAGES.length; count++) assert.ok(text(count + 1).startsWith(text(count)));
});

test("OpenAI's own servers are sent max_completion_tokens, the others max_tokens", () => {
  assert.equal(initialQuirks("https://api.openai.com/v1").outputCap, "max_completion_tokens");
  assert.equal(initialQuirks("https://eu.api.openai.com/v1").outputCap, "max_completion_tokens");
  assert.equal(initialQuirks("https://notopenai.com/v1").outputCap, "max_tokens");
  assert.equal(initialQuirks("not an address").outputCap, "max_tokens");
});
