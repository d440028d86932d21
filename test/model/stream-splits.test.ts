import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createAssembler } from "#src/model/assemble.ts";
import type { Reply } from "#src/model/model.ts";
import { createSseDecoder, type SseData } from "#src/model/sse.ts";
import { FULL, SEED } from "#test/support/tier.ts";
import { callDelta, delta } from "#test/support/wire-server.ts";
import { countingIds } from "./chat-adapter.ts";

const RUNS = { numRuns: FULL ? 10_000 : 200, seed: SEED };

function decode(pieces: readonly Uint8Array[]): readonly SseData[] {
  const decoder = createSseDecoder();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

/** The bytes cut at these offsets (taken modulo the length). */
function cut(bytes: Uint8Array, offsets: readonly number[]): readonly Uint8Array[] {
  const places = [...new Set(offsets.map((offset) => offset % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, at) => bytes.subarray(from, places[at] ?? bytes.length));
}

function replyFrom(events: readonly SseData[]): Reply | string {
  const folded = createAssembler({
    ids: countingIds(),
    usedCallIds: new Set(),
    toolNames: new Set(["write", "read_file"]),
  });
  for (const { data } of events) if (data !== "[DONE]") folded.add(JSON.parse(data));
  const end = folded.end(events.at(-1)?.data === "[DONE]");
  return end.ok ? end.value : end.error;
}

/** Text with everything that breaks naive readers: line ends, characters of two to four bytes, quotes, colons. */
const text = fc
  .array(
    fc.constantFrom("a", "data: ", ":", "\n", "\r", "\\", '"', "{", "}", "é", "那", "🌍", " ", "[DONE]"),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(""));
const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
const offsets = fc.array(fc.nat({ max: 100_000 }), { maxLength: 40 });

interface Planned {
  readonly content: string;
  readonly calls: readonly { readonly name: string; readonly args: Readonly<Record<string, string>> }[];
}

const planned: fc.Arbitrary<Planned> = fc.record({
  content: text,
  calls: fc.array(
    fc.record({
      name: fc.constantFrom("write", "read_file"),
      args: fc.dictionary(fc.constantFrom("path", "content"), text),
    }),
    { maxLength: 4 },
  ),
});

/** The habits of servers: what of index and id they send, and how small they cut. */
const habit = fc.record({
  piece: fc.integer({ min: 1, max: 9 }),
  withIndex: fc.constantFrom("own", "zero", "none"),
  repeatsIds: fc.boolean(),
  ends: lineEnd,
  comments: fc.boolean(),
});
type Habit = typeof habit extends fc.Arbitrary<infer T> ? T : never;

function inPieces(whole: string, size: number): readonly string[] {
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
    whole.slice(at * size, (at + 1) * size),
  );
}

function streamOf({ content, calls }: Planned, server: Habit): Uint8Array {
  const chunks = [
    ...inPieces(content, server.piece).map((piece) => delta({ content: piece })),
    ...calls.flatMap(({ name, args }, at) => {
      const index = { own: { index: at }, zero: { index: 0 }, none: {} }[server.withIndex];
      const [first = "", ...rest] = inPieces(JSON.stringify(args), server.piece);
      const again = server.repeatsIds ? { id: `c${at}` } : {};
      return [
        callDelta({ ...index, id: `c${at}`, type: "function", function: { name, arguments: first } }),
        ...rest.map((piece) => callDelta({ ...index, ...again, function: { arguments: piece } })),
      ];
    }),
    delta({}, "stop"),
    "[DONE]",
  ];
  const { ends } = server;
  const lines = chunks.map(
    (chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}${ends}${ends}`,
  );
  const keepAlive = server.comments
    ? [`: PROCESSING${ends}${ends}`, `:${ends}${ends}`, `data: : ping${ends}${ends}`]
    : [];
  return new TextEncoder().encode(lines.map((line, at) => (keepAlive[at % 4] ?? "") + line).join(""));
}

test("A29, A30: any cut of any stream gives the events of the uncut stream", () => {
  const line = fc.oneof(
    text.map((value) => `data: ${value}`),
    text.map((value) => `: ${value}`),
    fc.constantFrom("", "", "event: x", "data", "data:", "id: 1", "retry: 5"),
  );
  const stream = fc.array(fc.tuple(line, lineEnd), { maxLength: 20 }).map((lines) => lines.flat().join(""));
  fc.assert(
    fc.property(stream, offsets, (written, places) => {
      const bytes = new TextEncoder().encode(written);
      assert.deepEqual(decode(cut(bytes, places)), decode([bytes]));
    }),
    RUNS,
  );
});

test("whatever the server's habits and wherever its bytes are cut, the reply is the one it meant", () => {
  fc.assert(
    fc.property(planned, habit, offsets, (meant, server, places) => {
      const reply = replyFrom(decode(cut(streamOf(meant, server), places)));
      assert.ok(typeof reply !== "string", String(reply));
      assert.equal(reply.content, meant.content.toWellFormed());
      assert.deepEqual(
        reply.calls.map(({ name, arguments: args, id }) => ({ name, args: JSON.parse(args), id })),
        meant.calls.map(({ name, args }, at) => ({ name, args: { ...args }, id: `c${at}` })),
      );
    }),
    RUNS,
  );
});

test("a stream that is cut off at any byte before its finish reason is never a reply", () => {
  fc.assert(
    fc.property(planned, habit, fc.double({ min: 0, max: 0.999, noNaN: true }), (meant, server, share) => {
      const bytes = streamOf(meant, server);
      const finish = Buffer.from(bytes).lastIndexOf('"finish_reason":"stop"');
      const events = decode([bytes.subarray(0, Math.floor(finish * share))]).filter(({ data }) =>
        isJson(data),
      );
      assert.equal(typeof replyFrom(events), "string");
    }),
    RUNS,
  );
});

test("A29: the same stream with LF, CRLF, bare CR, mixed ends and in single bytes", () => {
  const stream = 'data: {"a":1}\n\ndata: {"b":\ndata: 2}\n\n: ping\n\ndata: [DONE]\n\n';
  const want = [
    { event: null, data: '{"a":1}' },
    { event: null, data: '{"b":\n2}' },
    { event: null, data: "[DONE]" },
  ];
  const mixed = stream.replace(/\n\n/g, "\n\r\n");
  for (const form of [stream, stream.replaceAll("\n", "\r\n"), stream.replaceAll("\n", "\r"), mixed]) {
    const bytes = new TextEncoder().encode(form);
    assert.deepEqual(decode([bytes]), want, JSON.stringify(form));
    assert.deepEqual(decode([...bytes].map((byte) => Uint8Array.of(byte))), want, JSON.stringify(form));
  }
});

test("A29: an event that ends in bare CR is there at once, not only when the next one comes", () => {
  assert.equal(createSseDecoder().push(new TextEncoder().encode("data: {}\r\r")).length, 1);
});

test("A16: comments, bare colons, empty data and wrapped comments are no events; a byte order mark is skipped", () => {
  const stream = "\ufeff: OPENROUTER PROCESSING\n\n:\n\ndata: : PROCESSING\n\ndata:\n\ndata: {}\n\n";
  assert.deepEqual(decode([new TextEncoder().encode(stream)]), [{ event: null, data: "{}" }]);
});

test("an event without its last blank line or line end counts at the end of the stream", () => {
  for (const end of ["", "\n", "\r"])
    assert.equal(decode([new TextEncoder().encode(`data: [DONE]${end}`)]).length, 1);
});

function isJson(data: string): boolean {
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}
