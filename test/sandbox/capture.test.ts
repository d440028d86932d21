/** The bounded capture keeps true ends, counts exactly, and never breaks a character. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createCapture } from "#src/sandbox/command/capture.ts";
import { FULL } from "#test/support/tier.ts";

function capture(chunks: readonly Uint8Array[], maxBytes: number) {
  const sink = createCapture(maxBytes);
  for (const chunk of chunks) sink.push(chunk);
  return sink.finish();
}

/** Without U+FFFD, by which a broken character is recognised. */
const chunks = fc.array(
  fc.string({ unit: "grapheme", maxLength: 40 }).map((text) => Buffer.from(text.replaceAll("\uFFFD", "?"))),
);

test("whatever fits is kept whole, in however many pieces it came", () => {
  fc.assert(
    fc.property(chunks, fc.integer({ min: 1, max: 7 }), (parts, size) => {
      const all = Buffer.concat(parts);
      const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
        all.subarray(index * size, (index + 1) * size),
      );
      const kept = capture(pieces, all.length);
      assert.equal(kept.head + kept.tail, all.toString("utf8"));
      assert.equal(kept.droppedBytes, 0);
      assert.equal(kept.totalBytes, all.length);
    }),
    { numRuns: FULL ? 10_000 : 500 },
  );
});

test("what does not fit keeps its true head and tail, the count of the rest, and whole characters", () => {
  fc.assert(
    fc.property(chunks, fc.integer({ min: 0, max: 60 }), (parts, maxBytes) => {
      const all = Buffer.concat(parts);
      const kept = capture(parts, maxBytes);
      const [head, tail] = [Buffer.from(kept.head), Buffer.from(kept.tail)];
      assert.equal(kept.totalBytes, all.length);
      assert.ok(head.length + tail.length <= Math.max(maxBytes, 0));
      assert.equal(kept.droppedBytes, all.length - head.length - tail.length);
      assert.ok(all.subarray(0, head.length).equals(head));
      assert.ok(all.subarray(all.length - tail.length).equals(tail));
      assert.ok(!kept.head.includes("\uFFFD") && !kept.tail.includes("\uFFFD"));
    }),
    { numRuns: FULL ? 10_000 : 1_000 },
  );
});

test("a flood takes no more memory than the limit", () => {
  const sink = createCapture(1_000);
  const chunk = Buffer.alloc(65_536, "x");
  for (let count = 0; count < 2_000; count++) sink.push(chunk);
  const kept = sink.finish();
  assert.equal(kept.totalBytes, 2_000 * 65_536);
  assert.equal(kept.head.length + kept.tail.length, 1_000);
});
