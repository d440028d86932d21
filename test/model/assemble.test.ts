import assert from "node:assert/strict";
import { test } from "node:test";
import { type Assembler, createAssembler } from "#src/model/assemble.ts";
import type { Reply } from "#src/model/model.ts";
import { callDelta, delta } from "#test/support/wire-server.ts";
import { countingIds } from "./chat-adapter.ts";

const TOOLS = ["read_file", "edit_file", "git_status", "write"];

function assembler(usedCallIds: readonly string[] = []): Assembler {
  return createAssembler({
    ids: countingIds(),
    usedCallIds: new Set(usedCallIds),
    toolNames: new Set(TOOLS),
  });
}

function replyFrom(chunks: readonly unknown[], usedCallIds: readonly string[] = []): Reply {
  const folded = assembler(usedCallIds);
  for (const chunk of chunks) assert.equal(folded.add(chunk).error, null);
  const end = folded.end(true);
  assert.ok(end.ok, JSON.stringify(end));
  return end.value;
}

/** The calls of deltas, each in a chunk of its own, as [id, name, arguments]. */
function callsFrom(...deltas: readonly object[]): readonly (readonly string[])[] {
  const reply = replyFrom([...deltas.map((call) => callDelta(call)), delta({}, "tool_calls")]);
  return reply.calls.map((call) => [call.id, call.name, call.malformed ?? call.arguments]);
}

const A = '{"path":"a"}';
const B = '{"path":"b"}';
const fn = (name?: string | null, args?: unknown) => ({ function: { name, arguments: args } });

test("A01: deltas without index are told apart by id, and a bare piece continues the last call", () => {
  const two = [
    ["c1", "read_file", A],
    ["c2", "read_file", B],
  ];
  assert.deepEqual(callsFrom({ id: "c1", ...fn("read_file", A) }, { id: "c2", ...fn("read_file", B) }), two);
  const inPieces = callsFrom(
    { id: "c1", ...fn("read_file", "") },
    fn(null, '{"path"'),
    fn(undefined, ':"a"}'),
    { id: "c2", ...fn("read_file", '{"path":') },
    fn("", '"b"}'),
  );
  assert.deepEqual(inPieces, two);
});

test("A01: calls without index and without ids are told apart by their whole arguments", () => {
  const calls = callsFrom(fn("read_file", A), fn("read_file", B), fn("git_status", ""));
  assert.deepEqual(
    calls.map(([, name, args]) => [name, args]),
    [
      ["read_file", A],
      ["read_file", B],
      ["git_status", "{}"],
    ],
  );
  assert.equal(new Set(calls.map(([id]) => id)).size, 3);
});

test("A02: a new id at the same index opens a new call", () => {
  const calls = callsFrom(
    ...["c1", "c2", "c3"].map((id) => ({ index: 0, id, ...fn("write", `{"path":"${id}"}`) })),
  );
  assert.deepEqual(
    calls,
    ["c1", "c2", "c3"].map((id) => [id, "write", `{"path":"${id}"}`]),
  );
});

test("A02: several whole calls on one index without ids, and calls on one index whose pieces are interleaved by id", () => {
  assert.deepEqual(
    callsFrom({ index: 0, ...fn("write", A) }, { index: 0, ...fn("write", B) }).map((call) => call[2]),
    [A, B],
  );
  const interleaved = callsFrom(
    { index: 0, id: "c1", ...fn("write", "") },
    { index: 0, id: "c2", ...fn("read_file", "") },
    { index: 0, id: "c1", ...fn(null, '{"path"') },
    { index: 0, id: "c2", ...fn(null, '{"path":"b') },
    { index: 0, id: "c1", ...fn(null, ':"a"}') },
    { index: 0, id: "c2", ...fn(null, '"}') },
  );
  assert.deepEqual(interleaved, [
    ["c1", "write", A],
    ["c2", "read_file", B],
  ]);
});

test("pieces of calls with their own indices may be interleaved; the calls come in the order they were opened", () => {
  const calls = callsFrom(
    { index: 1, id: "c2", ...fn("write", '{"pa') },
    { index: 0, id: "c1", ...fn("read_file", '{"path":') },
    { index: 1, ...fn(null, 'th":"b"}') },
    { index: 0, ...fn(null, '"a"}') },
  );
  assert.deepEqual(calls, [
    ["c2", "write", B],
    ["c1", "read_file", A],
  ]);
});

test("A04: ids that are used twice, in one reply or in the transcript, are made unique", () => {
  const chunks = [
    callDelta({ index: 0, id: "call_x", ...fn("write", A) }, { index: 1, id: "call_x", ...fn("write", B) }),
    delta({}, "tool_calls"),
  ];
  const [first, second] = replyFrom(chunks).calls;
  assert.deepEqual([first?.id, first?.arguments, second?.arguments], ["call_x", A, B]);
  assert.match(second?.id ?? "", /^[a-zA-Z0-9]{9}$/);
  const used = replyFrom(chunks, ["call_x", "minted001"]).calls.map((call) => call.id);
  assert.deepEqual(used, ["minted002", "minted003"]);
});

test("A04: the same id at the same index for two whole calls gives two calls; the same call sent twice is one", () => {
  const one = { index: 0, id: "x", ...fn("write", A) };
  assert.equal(callsFrom(one, { index: 0, id: "x", ...fn("write", B) }).length, 2);
  assert.deepEqual(callsFrom(one, one), [["x", "write", A]]);
});

test("A06, A22: a missing, null or empty id becomes nine letters or digits; an id that comes late is kept", () => {
  const calls = callsFrom({ index: 0, id: "", ...fn("write", A) }, { index: 1, id: null, ...fn("write", B) });
  assert.deepEqual(
    calls.map(([id]) => id),
    ["minted001", "minted002"],
  );
  assert.deepEqual(
    callsFrom({ index: 0, ...fn("write", '{"path":') }, { index: 0, id: "late", ...fn(null, '"a"}') }),
    [["late", "write", A]],
  );
  assert.deepEqual(callsFrom(fn("write", A), { id: "late" }), [["late", "write", A]]);
});

test("ids and names in pieces, repeated whole, or growing", () => {
  const whole = [["call_1", "read_file", A]];
  const at = (id: string | null, name: string | null, args: string | null) => ({
    index: 0,
    id,
    ...fn(name, args),
  });
  assert.deepEqual(callsFrom(at("call_", "read", null), at("1", null, null), at(null, "_file", A)), whole);
  assert.deepEqual(
    callsFrom(at("call_1", "read_", ""), at("call_1", "file", ""), at("call_1", "", A)),
    whole,
  );
  assert.deepEqual(
    callsFrom(at("call_1", "read_file", '{"path"'), at("call_1", "read_file", ':"a"}')),
    whole,
  );
  assert.deepEqual(callsFrom(at("call_1", "read", null), at("call_1", "read_file", A)), whole);
  assert.deepEqual(callsFrom(at("call_1", "read", null), at("2", "_file", A))[0]?.slice(1), ["read_file", A]);
});

test("a server that makes up another id for each piece still makes one call", () => {
  const calls = callsFrom(
    { index: 0, id: "t1", ...fn("write", "") },
    { index: 0, id: "t2", ...fn(null, '{"path"') },
    { index: 0, id: "t3", ...fn(null, ':"a"}') },
    { index: 0, id: "t4", ...fn(null, "") },
  );
  assert.deepEqual(calls, [["t1", "write", A]]);
});

test("A07: no arguments at all are an empty object; so are blank ones and an object in advance is replaced", () => {
  for (const nothing of ["", "  \n", null, undefined, {}, "null", " null\n"]) {
    assert.deepEqual(callsFrom({ index: 0, id: "c", ...fn("git_status", nothing) }), [
      ["c", "git_status", "{}"],
    ]);
  }
  assert.deepEqual(
    callsFrom(
      { index: 0, id: "c", ...fn("write", "{}") },
      { index: 0, ...fn(null, '{"path"') },
      { index: 0, ...fn(null, ':"a"}') },
    ),
    [["c", "write", A]],
  );
});

test("arguments that come as an object are kept as its text", () => {
  assert.deepEqual(callsFrom({ index: 0, id: "c", ...fn("write", { path: "a" }) }), [["c", "write", A]]);
});

test("arguments that are no JSON object are malformed, kept raw, and stored as an empty object", () => {
  for (const raw of ['["a"]', '"a"', "7", "nil", '{"path":"a"', '{"a":1}{"b":2}', "path=a", '{"a":1,}']) {
    const call = replyFrom([callDelta({ index: 0, id: "c", ...fn("write", raw) }), delta({}, "stop")])
      .calls[0];
    assert.deepEqual([call?.arguments, call?.malformed], ["{}", raw]);
  }
});

test("A31: real line breaks inside strings are escaped; any other defect stays one", () => {
  const call = (raw: string) =>
    replyFrom([callDelta({ index: 0, id: "c", ...fn("write", raw) }), delta({}, "stop")]).calls[0];
  const repaired = call('{\n"path":"a","content":"x\ny\r\n\tz\\n"}');
  assert.equal(repaired?.malformed, undefined);
  assert.deepEqual(JSON.parse(repaired?.arguments ?? ""), { path: "a", content: "x\ny\r\n\tz\n" });
  assert.equal(call('{"content":"x\\\ny"}')?.malformed, '{"content":"x\\\ny"}');
  assert.equal(call('{"content":"x\ny}')?.malformed, '{"content":"x\ny}');
});

test("A09: chunks with empty, null or absent choices are skipped, but their usage counts", () => {
  const reply = replyFrom([
    { choices: [], prompt_filter_results: [{}] },
    { choices: null },
    {},
    null,
    "text",
    [],
    delta({ role: "assistant", content: "hi" }),
    delta({}, "stop"),
    {
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } },
    },
  ]);
  assert.equal(reply.content, "hi");
  assert.deepEqual(reply.usage, { inputTokens: 9, cachedTokens: 4, outputTokens: 2 });
});

test("usage is found where vendors put it, and is unknown where they put none", () => {
  const usageOf = (...chunks: readonly object[]) =>
    replyFrom([delta({ content: "x" }, "stop"), ...chunks]).usage;
  assert.deepEqual(usageOf(), { inputTokens: null, cachedTokens: null, outputTokens: null });
  assert.deepEqual(
    usageOf({ usage: { prompt_tokens: 5, completion_tokens: 1, prompt_cache_hit_tokens: 3 } }),
    {
      inputTokens: 5,
      cachedTokens: 3,
      outputTokens: 1,
    },
  );
  assert.equal(usageOf({ x_groq: { usage: { prompt_tokens: 7 } } }).inputTokens, 7);
  assert.equal(usageOf({ choices: [{ delta: {}, usage: { prompt_tokens: 8 } }] }).inputTokens, 8);
  assert.equal(usageOf({ usage: { prompt_tokens: 5 } }, { usage: null }).inputTokens, 5);
});

test("A10: calls count whatever the finish reason says", () => {
  const reply = replyFrom([
    delta({ content: "let me look" }),
    callDelta({ index: 0, id: "c", ...fn("read_file", A) }),
    delta({}, "stop"),
  ]);
  assert.deepEqual([reply.finish, reply.calls.length], ["complete", 1]);
});

test("A13: an error in a chunk is reported, wherever it stands and whatever its code", () => {
  const error = { code: null, message: "provider unavailable" };
  assert.equal(assembler().add({ choices: [], error }).error, error);
  assert.equal(assembler().add({ choices: [{ delta: {}, error }] }).error, error);
  assert.deepEqual(assembler().add({ object: "error", message: "no" }).error, {
    object: "error",
    message: "no",
  });
  assert.equal(assembler().add({ ...delta({ content: "x" }), error: null }).error, null);
});

test("A14: without finish reason and [DONE] a reply is broken, with a finish reason it needs no [DONE]", () => {
  const ending = (chunks: readonly object[], sawDone: boolean) => {
    const folded = assembler();
    for (const chunk of chunks) folded.add(chunk);
    return folded.end(sawDone).ok;
  };
  const text = delta({ content: "so" });
  const half = callDelta({ index: 0, id: "c", ...fn("write", '{"path":') });
  const whole = callDelta({ index: 0, id: "c", ...fn("write", A) });
  assert.equal(ending([text], false), false);
  assert.equal(ending([text, half], false), false);
  assert.equal(ending([text, whole], false), false);
  assert.equal(ending([text, half], true), false);
  assert.equal(ending([], true), false);
  assert.equal(ending([text, delta({}, "stop")], false), true);
  assert.equal(ending([text, whole], true), true);
  assert.equal(ending([text, delta({}, "error")], true), false);
});

test("A18: a reply cut by the output cap is truncated and its half call is malformed", () => {
  const reply = replyFrom([
    callDelta({ index: 0, id: "c", ...fn("write", '{"path":"a.txt","content":"line1\\nli') }),
    delta({}, "length"),
  ]);
  assert.equal(reply.finish, "truncated");
  assert.equal(reply.calls[0]?.malformed, '{"path":"a.txt","content":"line1\\nli');
});

test("a filtered reply and a refusal are refused", () => {
  assert.equal(replyFrom([delta({ content: "x" }), delta({}, "content_filter")]).finish, "refused");
  const refusal = replyFrom([
    delta({ refusal: "I can't " }),
    delta({ refusal: "do that" }),
    delta({}, "stop"),
  ]);
  assert.deepEqual([refusal.finish, refusal.content], ["refused", "I can't do that"]);
});

test("A20: reasoning is streamed apart from text and kept as the provider sent it, with every other unknown field", () => {
  const folded = assembler();
  const news = [
    folded.add(delta({ reasoning_content: "h" })),
    folded.add(delta({ reasoning_content: "m", content: null, reasoning_details: [{ n: 1 }] })),
    folded.add(delta({ content: "ok", reasoning_details: [{ n: 2 }], annotations: [], audio: null })),
    folded.add(
      callDelta({
        index: 0,
        id: "c",
        ...fn("write", A),
        extra_content: { google: { thought_signature: "s" } },
      }),
    ),
    folded.add(delta({}, "tool_calls")),
  ];
  assert.deepEqual(
    news.map((item) => [item.reasoning, item.text]),
    [
      ["h", ""],
      ["m", ""],
      ["", "ok"],
      ["", ""],
      ["", ""],
    ],
  );
  const end = folded.end(true);
  assert.ok(end.ok);
  assert.equal(end.value.content, "ok");
  assert.deepEqual(end.value.extra, { reasoning_content: "hm", reasoning_details: [{ n: 1 }, { n: 2 }] });
  assert.deepEqual(end.value.calls[0]?.extra, { extra_content: { google: { thought_signature: "s" } } });
});

test("a server that sends its reasoning under two names streams it once", () => {
  assert.equal(assembler().add(delta({ reasoning: "hm", reasoning_content: "hm" })).reasoning, "hm");
});

test("A26: a tool name is cut at a control token, and always has a form that can be sent back", () => {
  const nameOf = (raw: string) => callsFrom({ index: 0, id: "c", ...fn(raw, A) })[0]?.[1];
  assert.equal(nameOf("read_file<|channel|>commentary"), "read_file");
  assert.equal(nameOf("functions.read_file:0"), "read_file");
  assert.equal(nameOf("no such tool!"), "no_such_tool_");
  assert.equal(nameOf("<|channel|>analysis"), "unnamed_tool");
  assert.equal(nameOf("x".repeat(100)), "x".repeat(64));
});

test("a whole message instead of deltas is taken, and ignored when it only repeats the deltas", () => {
  const message = {
    role: "assistant",
    content: "hello",
    tool_calls: [{ id: "c", type: "function", ...fn("write", A) }],
  };
  const reply = replyFrom([{ choices: [{ message, finish_reason: "tool_calls" }] }]);
  assert.deepEqual([reply.content, reply.calls[0]?.arguments], ["hello", A]);
  const repeated = replyFrom([
    delta({ content: "hello" }),
    { choices: [{ message, finish_reason: "stop" }] },
  ]);
  assert.deepEqual([repeated.content, repeated.calls.length], ["hello", 0]);
});

test("content in parts and the old function_call form", () => {
  const parts = [
    { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
    { type: "text", text: "yes" },
  ];
  assert.deepEqual(assembler().add(delta({ content: parts })), {
    text: "yes",
    reasoning: "hm",
    error: null,
    progress: true,
  });
  const reply = replyFrom([
    delta({ function_call: { name: "write", arguments: '{"path"' } }),
    delta({ function_call: { arguments: ':"a"}' } }, "function_call"),
  ]);
  assert.equal(reply.calls[0]?.arguments, A);
});

test("nothing that a provider sends makes the assembler throw", () => {
  const odd = [
    0,
    "x",
    null,
    [],
    {},
    [null],
    [[]],
    { function: 3 },
    { index: "0", function: { name: {}, arguments: [] } },
  ];
  for (const value of odd) {
    const folded = assembler();
    folded.add({ choices: value });
    folded.add({ choices: [value] });
    folded.add(delta({ tool_calls: value, content: value, refusal: value, usage: value }));
    folded.add({ choices: [{ delta: { tool_calls: [value] }, finish_reason: value }], usage: value });
    folded.end(true);
  }
});
