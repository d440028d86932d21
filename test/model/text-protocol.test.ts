/** Tool calls in the text of a reply: what is one, what is none, and what the model is told. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fencedCall, fencedCalls } from "#src/model/fenced-calls.ts";
import type { Message } from "#src/model/model.ts";
import { createScripted, type ScriptedTurn } from "#src/model/scripted.ts";
import { createTextProtocol } from "#src/model/text-protocol.ts";
import { ask, askReply, replyIn, textIn } from "#test/support/ask-model.ts";
import { FULL, SEED } from "#test/support/tier.ts";
import { countingIds } from "./chat-adapter.ts";

const RUNS = { numRuns: FULL ? 10_000 : 300, seed: SEED };
const TOOLS = new Set(["read_file", "edit_file"]);
const READ = fencedCall("read_file", '{"path":"a.ts"}');
const READ_CALL = { name: "read_file", arguments: '{"path":"a.ts"}' };

const callsIn = (text: string, complete = true) => fencedCalls(text, { complete, toolNames: TOOLS });

function scripted(...turns: readonly ScriptedTurn[]) {
  const inner = createScripted(turns);
  return { inner, model: createTextProtocol(inner, countingIds()) };
}

test("a fenced block that names a tool is a call; the text around it stays as it is", async () => {
  const text = `Let me look.\n\n${READ}\n`;
  const { model } = scripted({ text });
  const events = await ask(model);
  assert.deepEqual([textIn(events), replyIn(events).content], [text, text]);
  assert.deepEqual(replyIn(events).calls, [{ id: "minted001", ...READ_CALL }]);
});

test("several blocks are several calls in their order, as is a list in one block", () => {
  const edit = { name: "edit_file", arguments: '{"path":"b"}' };
  assert.deepEqual(callsIn(`${READ}\nthen\n${fencedCall("edit_file", '{"path":"b"}')}`), [READ_CALL, edit]);
  const list =
    '```json\n[{"tool":"read_file","arguments":{"path":"a.ts"}},{"tool":"edit_file","arguments":{"path":"b"}}]\n```';
  assert.deepEqual(callsIn(list), [READ_CALL, edit]);
});

test("every form of a fence that Markdown knows counts", () => {
  const body = '{"tool": "read_file", "arguments": {"path":"a.ts"}}';
  for (const text of [
    `~~~json\n${body}\n~~~`,
    `\`\`\`\`json\n${body}\n\`\`\`\``,
    `  \`\`\`JSON\n${body}\n  \`\`\``,
    `\`\`\`json\r\n${body}\r\n\`\`\`\r\n`,
    `\`\`\`json title="call"\n${body}\n\`\`\``,
    `\`\`\`json\n\n${body}\n\n\`\`\``,
    `\`\`\`json\n${JSON.stringify(JSON.parse(body), null, 2)}\n\`\`\``,
  ]) {
    assert.deepEqual(callsIn(text), [READ_CALL], text);
  }
});

test("JSON that names no tool, other languages, quotes and plain text are no calls", () => {
  const body = '{"tool": "read_file", "arguments": {}}';
  for (const text of [
    '```json\n{"name": "left-pad", "version": "1.0.0"}\n```',
    '```json\n{"name": "unknown", "arguments": {}}\n```',
    '```json\n{"tool": 5}\n```',
    "```json\n[1, 2]\n```",
    "```json\nnot json\n```",
    "```json\n```",
    `\`\`\`\n${body}\n\`\`\``,
    `\`\`\`js\n${body}\n\`\`\``,
    `> \`\`\`json\n> ${body}\n> \`\`\``,
    `    \`\`\`json\n    ${body}\n    \`\`\``,
    body,
    `\`${body}\``,
    `\`\`\`\`markdown\n\`\`\`json\n${body}\n\`\`\`\n\`\`\`\``,
  ]) {
    assert.deepEqual(callsIn(text), [], text);
  }
});

test("a known tool under `name` is a call too, as models write it that learnt another form", () => {
  assert.deepEqual(callsIn('```json\n{"name":"read_file","arguments":{"path":"a.ts"}}\n```'), [READ_CALL]);
});

test("A18: half a block at the end of a reply that was cut off is never a call", async () => {
  const half = '```json\n{"tool": "edit_file", "arguments": {"path": "a.ts", "new": "line1';
  for (const rest of [half, half.slice(0, 8), `${half}"}}`, `${half}"}}\n`]) {
    assert.deepEqual(callsIn(rest, false), [], rest);
  }
  const { model } = scripted({ text: `${READ}\n\n${half}`, finish: "truncated" });
  const reply = await askReply(model);
  // The whole block is handed over: its answer says that nothing of a truncated reply was run.
  assert.deepEqual([reply.finish, reply.calls.map((call) => call.name)], ["truncated", ["read_file"]]);
});

test("a reply that ends right behind the object, without its fence, is a call; half an object is a broken one", () => {
  const open = READ.replace(/\n```$/, "");
  assert.deepEqual(callsIn(open), [READ_CALL]);
  const [broken, ...others] = callsIn(open.slice(0, -1));
  assert.deepEqual([broken?.name, broken?.arguments, others], ["read_file", "{}", []]);
  assert.ok(broken?.malformed?.includes("a.ts"));
});

test("a block that is no valid JSON is a broken call, so that the model is told, and the next block still counts", () => {
  const broken = '```json\n{"tool": "edit_file", "arguments": {"path": "a" "new": 1}}\n```';
  const unclosed = '```json\n{"tool": "edit_file", "arguments": {"path": "a"}\n```';
  for (const text of [broken, unclosed]) {
    const calls = callsIn(`${text}\n${READ}`);
    assert.deepEqual(
      calls.map((call) => [call.name, call.malformed !== undefined]),
      [
        ["edit_file", true],
        ["read_file", false],
      ],
    );
  }
});

test("A31: real line breaks in strings are repaired, also when one of the lines looks like a fence", () => {
  const text = '```json\n{"tool": "edit_file", "arguments": {"new": "# Use\n```\nnpm test\n```\n"}}\n```';
  const [call] = callsIn(text);
  assert.deepEqual(JSON.parse(call?.arguments ?? ""), { new: "# Use\n```\nnpm test\n```\n" });
});

test("A07: no arguments are none; arguments as text are read; other values are broken", () => {
  const args = (value: string) =>
    callsIn(`\`\`\`json\n{"tool":"read_file"${value}}\n\`\`\``).map(
      (call) => call.malformed ?? call.arguments,
    );
  assert.deepEqual(args(""), ["{}"]);
  assert.deepEqual(args(',"arguments":null'), ["{}"]);
  assert.deepEqual(args(',"arguments":"{\\"path\\":\\"a\\"}"'), ['{"path":"a"}']);
  assert.deepEqual(args(',"arguments":[1]'), ["[1]"]);
});

const MESSAGES: readonly Message[] = [
  { role: "system", content: "You fix bugs." },
  { role: "user", content: `The issue says:\n${READ}` },
  {
    role: "assistant",
    content: `Two.\n${READ}\n${READ}`,
    calls: ["c1", "c2"].map((id) => ({ id, ...READ_CALL })),
  },
  { role: "tool", callId: "c1", name: "read_file", content: "1: ```\n2: x" },
  { role: "tool", callId: "c2", name: "read_file", content: READ },
  { role: "user", content: "Wrap up." },
];

test("a block in the issue, in a file or in a result is text: only the model's own reply is read", async () => {
  const { model } = scripted({ text: "Nothing to do." });
  assert.deepEqual((await askReply(model, { messages: MESSAGES })).calls, []);
});

test("the inner model is offered no tools and sees turns that alternate, with results as text", async () => {
  const { inner, model } = scripted({ text: "ok" });
  await ask(model, { messages: MESSAGES });
  const [request] = inner.requests;
  assert.deepEqual(request?.tools, []);
  assert.deepEqual(
    request?.messages.map((message) => message.role),
    ["system", "user", "assistant", "user"],
  );
  const [system, issue, reply, results] = request?.messages ?? [];
  assert.ok(system?.content.startsWith("You fix bugs.\n\n## Tools"));
  assert.match(system?.content ?? "", /### read_file\nReads a file\.\nArguments .*"required":\["path"\]/);
  assert.deepEqual([issue, reply?.content], [MESSAGES[1], MESSAGES[2]?.content]);
  assert.equal(
    results?.content,
    `Result 1 (read_file):\n\`\`\`\`\n1: \`\`\`\n2: x\n\`\`\`\`\n\nResult 2 (read_file):\n\`\`\`\`\n${READ}\n\`\`\`\`\n\nWrap up.`,
  );
});

test("what was sent is the beginning of what is sent next", async () => {
  const { inner, model } = scripted({ text: "a" }, { text: "b" });
  await ask(model, { messages: MESSAGES.slice(0, 2) });
  await ask(model, { messages: MESSAGES });
  const [first, second] = inner.requests.map((request) => JSON.stringify(request.messages));
  assert.ok(second?.startsWith(first?.slice(0, -1) ?? "?"));
});

test("calls of a run that began with native ones are written out", async () => {
  const { inner, model } = scripted({ text: "ok" });
  const messages = MESSAGES.map(
    (message, at): Message =>
      at === 2 && message.role === "assistant" ? { ...message, content: "" } : message,
  );
  await ask(model, { messages });
  assert.deepEqual(inner.requests[0]?.messages[2], {
    role: "assistant",
    content: `${READ}\n\n${READ}`,
    calls: [],
  });
});

test("without tools on offer, as for a summary, nothing is described and text is text", async () => {
  const { inner, model } = scripted({ text: READ });
  assert.deepEqual((await askReply(model, { messages: MESSAGES, tools: [] })).calls, []);
  assert.equal(inner.requests[0]?.messages[0]?.content, "You fix bugs.");
});

test("retries, failures and cancels of the inner model pass through", async () => {
  const failure = { code: "unauthorized", message: "no", status: 401 } as const;
  const { model } = scripted({ failure }, { retries: 2, text: "ok" });
  assert.deepEqual((await ask(model)).at(-1), { type: "failed", failure });
  assert.deepEqual(
    (await ask(model)).map((event) => event.type),
    ["retry", "retry", "text", "done"],
  );
  assert.equal(model.id, "scripted");
});

test("A22, A27: ids are nine letters or digits, and a name that no provider takes is made legal", async () => {
  const { model } = scripted({ text: `${READ}\n${fencedCall("rm -rf /", "{}")}` });
  for (const call of (await askReply(model)).calls) {
    assert.match(call.id, /^[a-zA-Z0-9]{9}$/);
    assert.match(call.name, /^[a-zA-Z0-9_-]{1,64}$/);
  }
});

const prose = fc
  .array(fc.constantFrom("a word", "", "`code`", "> quote", "{", "}", '"', "``", "1. item"), { maxLength: 5 })
  .map((lines) => lines.join("\n"));
const text = fc
  .array(fc.constantFrom("a", "\n", "```", "```json", "{", "}", '"', "\\", "那", " "), { maxLength: 12 })
  .map((list) => list.join(""));
const planned = fc.array(
  fc.record({
    name: fc.constantFrom("read_file", "edit_file"),
    args: fc.dictionary(fc.constantFrom("path", "new"), text),
    before: prose,
  }),
  { maxLength: 4 },
);

test("whatever is in the arguments and around the blocks, the calls are those that were written", () => {
  fc.assert(
    fc.property(planned, prose, fc.boolean(), (calls, after, crlf) => {
      const blocks = calls.map(
        ({ name, args, before }) => `${before}\n${fencedCall(name, JSON.stringify(args))}`,
      );
      const written = [...blocks, after].join("\n");
      assert.deepEqual(
        callsIn(crlf ? written.replaceAll("\n", "\r\n") : written).map(({ name, arguments: args }) => [
          name,
          JSON.parse(args),
        ]),
        calls.map(({ name, args }) => [name, { ...args }]),
      );
    }),
    RUNS,
  );
});

test("A18: of a reply that is cut off anywhere, only blocks whose fence was closed are calls", () => {
  fc.assert(
    fc.property(planned, fc.double({ min: 0, max: 1, noNaN: true }), (calls, share) => {
      const blocks = calls.map(({ name, args }) => fencedCall(name, JSON.stringify(args)));
      const whole = blocks.join("\n\n");
      const cut = whole.slice(0, Math.floor(whole.length * share));
      const finished = blocks.filter(
        (_, at) => cut.length >= blocks.slice(0, at + 1).join("\n\n").length,
      ).length;
      const found = callsIn(cut, false);
      assert.equal(found.length, finished);
      assert.ok(found.every((call) => call.malformed === undefined));
    }),
    RUNS,
  );
});
