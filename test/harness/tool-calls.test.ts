import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { normaliseCall } from "#src/harness/arguments.ts";
import type { Tool } from "#src/harness/tool.ts";
import { MOST_CALLS, parseCalls, toolSpec } from "#src/harness/tool-calls.ts";
import { call } from "#test/support/canned-model.ts";
import { recordingTools } from "./fixture.ts";

const TOOLS = recordingTools({ lines: [] });
const NAMES = TOOLS.map((tool) => tool.name);

function parse(name: string, args: unknown) {
  const entry = parseCalls("complete", [normaliseCall(call(name, args), NAMES)], TOOLS)[0];
  assert.ok(entry);
  return entry;
}

test("a good call carries its checked arguments; numbers as text and nulls are taken, strangers ignored", () => {
  const entry = parse("read", { value: "a", count: "3", other: 1 });
  assert.ok(entry.kind === "call");
  assert.deepEqual(entry.args, { value: "a", count: 3 });
  const nulled = parse("read", { value: "a", count: null });
  assert.ok(nulled.kind === "call");
});

const wrong: readonly (readonly [string, unknown, RegExp])[] = [
  [
    "A31: broken JSON",
    '{"value":"x\ny"}',
    /not a JSON object \(.*control character.*write line breaks as \\n/,
  ],
  ["half of an object", '{"value":"x', /not a JSON object/],
  ["a list", "[1]", /it is a list, not an object/],
  ["null", "null", /it is null, not an object/],
  ["a missing field", { valeu: "x" }, /`value`: is missing.*It takes: `value`, `count`.*It has no `valeu`/],
  ["a wrong type", { value: 7 }, /`value`: .*expected string/],
  ["a bad number", { value: "x", count: "many" }, /`count`/],
];
for (const [what, args, expected] of wrong)
  test(`${what} is answered with what is wrong and how to do it right`, () => {
    const entry = parse("read", args);
    assert.ok(entry.kind === "error");
    assert.match(entry.text, expected);
  });

test("arguments inside a JSON string are unpacked", () => {
  const entry = parse("read", JSON.stringify(JSON.stringify({ value: "a" })));
  assert.ok(entry.kind === "call");
  assert.equal(entry.call.arguments, '{"value":"a"}');
});

test("A26: a control token in the name is cut off when a known tool remains, and stored names are legal", () => {
  assert.equal(parse("read<|channel|>commentary", { value: "a" }).kind, "call");
  const entry = parse("do it<|x|>", {});
  assert.ok(entry.kind === "error" && entry.code === "unknown_tool");
  assert.match(entry.call.name, /^[a-zA-Z0-9_-]{1,64}$/);
  assert.match(parse("", {}).call.name, /^[a-zA-Z0-9_-]{1,64}$/);
});

test("calls beyond the most one reply may hold are answered, not run", () => {
  const many = Array.from({ length: MOST_CALLS + 2 }, () => call("read", { value: "a" }));
  const entries = parseCalls("complete", many, TOOLS);
  assert.equal(entries.filter((entry) => entry.kind === "error").length, 2);
});

test("a spec is plain JSON Schema that asks for what the tool takes", () => {
  const tool: Tool<{ n?: number | undefined }> = {
    name: "t",
    description: "d",
    readOnly: true,
    schema: z.object({ n: z.coerce.number().int().optional() }),
    run: async () => ({ status: "ok", text: "" }),
  };
  const { parameters } = toolSpec(tool);
  assert.equal(parameters.type, "object");
  assert.equal(parameters.$schema, undefined);
  assert.equal(JSON.stringify(toolSpec(tool)), JSON.stringify(toolSpec(tool)));
});
